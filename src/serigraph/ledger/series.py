"""A series on disk: created once, opened by every command, written to by one process at a time."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

import polars as pl

from serigraph.arguments import real
from serigraph.errors import (
    ImpossibleState,
    LedgerDamaged,
    SeriesBusy,
    SeriesExists,
    SeriesNotFound,
    StorageError,
)
from serigraph.ledger.catalog import Catalog
from serigraph.ledger.drafts import draft_folders
from serigraph.ledger.layout import RESERVED, Layout
from serigraph.ledger.reader import Reader
from serigraph.ledger.recovery import (
    Comparing,
    check_files,
    check_parts,
    make_folders,
    recover,
    recover_quietly,
    refuse_links,
    refuse_strangers,
    traces,
    unknown_files,
)
from serigraph.ledger.release import PastExposure, ReleaseRecord
from serigraph.ledger.storage import (
    compare_here,
    digest_of,
    ensure_folder,
    make_private,
    move_durably,
    storage_errors,
    sync,
    sync_tree,
    write_durably,
)
from serigraph.ledger.writer import Writer, writer_of
from serigraph.model import Past
from serigraph.privacy.link_chances import LinkGaps
from serigraph.texts import check_path


class Series:
    """The folder of a series. Made by ``create`` or ``open``; keeps no file open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._layout = Layout(path)

    def __repr__(self) -> str:
        return f"Series({str(self.path)!r})"

    @staticmethod
    def create(path: str | Path, files: Mapping[str, bytes]) -> Series:
        """Make a new series with the files given, ``policy.toml`` among them; all or nothing.

        ``SeriesExists`` if there is anything at the path except an empty folder. Only the owner
        can read the folder.
        """
        folder = Path(path).absolute()
        check_path(folder)
        _check_names(files)
        with storage_errors(folder):
            if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
                raise _exists(folder)
            folder.parent.mkdir(parents=True, exist_ok=True)
            unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            try:
                make_private(unfinished)
                layout = Layout(unfinished)
                make_folders(layout)
                for name, content in files.items():
                    ensure_folder((unfinished / name).parent)
                    write_durably(unfinished / name, content)
                Catalog.create(layout.catalog, identity=secrets.token_hex(16))
                sync_tree(unfinished)
                _move_into_place(unfinished, folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        return Series(folder)

    @staticmethod
    def open(path: str | Path) -> Series:
        """Open a series, finishing or discarding what a killed process left there.

        ``SeriesNotFound`` if there is none. What cannot be put in order now does not prevent
        reading: ``check`` and ``writing`` report it.
        """
        series = Series(Path(path).absolute())
        check_path(series.path)
        layout = series._layout
        if not layout.catalog.is_file():
            if layout.ledger.is_dir() and any(layout.ledger.iterdir()):
                raise LedgerDamaged(
                    "the catalog of the series is missing",
                    where=str(layout.catalog),
                    remedy="restore it from a backup",
                )
            raise SeriesNotFound(
                "there is no series at this path",
                where=str(series.path),
                remedy="make one with 'serigraph init', or give the path of one",
            )
        recover_quietly(layout)
        return series

    def reader(self) -> Reader:
        """Reads the ledger as it is now, after checking the catalog's chain. For several questions
        use one reader: it reads the catalog once."""
        with Catalog.opened(self._layout.catalog) as catalog:
            return Reader(self._layout, catalog.releases())

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """All releases, oldest first."""
        return self.reader().releases

    def history(self, ids: pl.Series, protected: Sequence[str]) -> Past:
        """What the ledger knows about these people, in their order, for the values named."""
        return self.reader().history(ids, protected)

    def people(self) -> pl.DataFrame:
        """Everybody who was ever a member: ``person``, the number given once, and ``id``."""
        return self.reader().people()

    def protected_names(self) -> tuple[str, ...]:
        """Every protected value that was ever in a group, ascending."""
        return self.reader().protected_names()

    def link_gaps(self) -> LinkGaps:
        """How many releases lay between everybody's links, and since the last ones, in the latest
        releases."""
        return self.reader().link_gaps()

    def exposures(self, person: str | int, value: str) -> tuple[PastExposure, ...]:
        """Every past group that held the person and the value, oldest first."""
        return self.reader().exposures(person, value)

    def check(self, compare: Comparing = compare_here) -> None:
        """Compare everything with its digest: the catalog's chain, all parts, all public files.

        ``LedgerDamaged`` says which file is missing or changed. ``compare`` reads the files.
        """
        refuse_links(self._layout)
        # Checking needs read access only.
        with suppress(SeriesBusy, StorageError):
            recover(self._layout)
        found = traces(self._layout)
        releases = self.releases()
        refuse_strangers(self._layout, found, releases)
        check_parts(self._layout, releases, compare)
        check_files(self._layout, releases, compare)

    def unknown_files(self) -> tuple[str, ...]:
        """Files in the ledger or among the public files that no release has, ascending."""
        found = traces(self._layout)
        return unknown_files(found, self.releases())

    def drafts(self) -> tuple[str, ...]:
        """The names of the drafts that are neither published nor discarded, ascending."""
        with storage_errors(self._layout.drafts):
            return tuple(folder.name for folder in draft_folders(self._layout))

    def issue(self, certificate: bytes) -> None:
        """Keep a certificate of the series, so that later changes to it are detected."""
        folder = self._layout.certificates
        with storage_errors(folder):
            ensure_folder(folder)
            sync(self._layout.root)
            with suppress(FileExistsError):
                write_durably(self._issued(certificate), certificate)
            sync(folder)

    def has_issued(self, certificate: bytes) -> bool:
        """Whether the series issued exactly this certificate."""
        return self._issued(certificate).is_file()

    def _issued(self, certificate: bytes) -> Path:
        return self._layout.certificates / f"{digest_of(certificate)}.json"

    def export(self, folder: str | Path, *, confidential: bool = False) -> None:
        """Write the ledger as Parquet, by the published contract, into a new or empty folder.

        Who was published as a holder of what, and cohorts, are left out unless ``confidential``.
        """
        self.reader().export(Path(folder).absolute(), confidential=confidential)

    @contextmanager
    def writing(self, wait: float = 0.0, compare: Comparing | None = None) -> Iterator[Writer]:
        """Be the one writer; ``SeriesBusy`` if another is at work for longer than ``wait`` seconds.

        The parts of the ledger are checked at once by ``compare`` if given; otherwise when the past
        is read, or before the commit. Without a ``commit`` in the block nothing changes, and staged
        files are discarded. Errors raised in the block pass through.
        """
        with writer_of(self._layout, real(wait, "wait", least=0), compare) as writer:
            yield writer


def _check_names(files: Mapping[str, bytes]) -> None:
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or path.parts[0] in RESERVED:
            raise ImpossibleState("a series was to begin with a file at a place that is not free")
    if "policy.toml" not in files:
        raise ImpossibleState("a series was to begin without a policy")


def _move_into_place(unfinished: Path, folder: Path) -> None:
    try:
        move_durably([(unfinished, folder)])
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise _exists(folder) from error
        raise


def _exists(folder: Path) -> SeriesExists:
    return SeriesExists(
        "there is a series or something else at this path already",
        where=str(folder),
        remedy="give another path, or an empty folder",
    )
