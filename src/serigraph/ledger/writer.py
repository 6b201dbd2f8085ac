"""The only writer of a series: from the lock to the published release."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import (
    AlreadyPublished,
    ImpossibleState,
    NotInPlace,
    SeriesDiverged,
    SerigraphError,
    StorageError,
)
from serigraph.ledger.catalog import Catalog
from serigraph.ledger.cohorts import recall_attendance
from serigraph.ledger.drafts import remove_published
from serigraph.ledger.encoding import EncodedParts, encode_parts
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import check_id_type, id_type_of
from serigraph.ledger.past import recall_past
from serigraph.ledger.person_numbers import Numbered
from serigraph.ledger.reader import Reader
from serigraph.ledger.recovery import (
    Comparing,
    check_parts,
    finish_publication,
    make_folders,
    recover_quietly,
    refuse_strangers,
    settle,
    sweep,
    traces,
    unknown_files,
)
from serigraph.ledger.release import (
    IdType,
    ReleaseDraft,
    ReleaseRecord,
    WrittenParts,
    check_label,
    unsealed,
)
from serigraph.ledger.storage import (
    FileDigest,
    digest_tree,
    make_folder,
    make_private,
    move_durably,
    storage_errors,
    sync,
    sync_tree,
    write_durably,
)
from serigraph.model import Past, Proof
from serigraph.runtime.progress import Progress, no_progress

Check = Callable[[ReleaseRecord], None]


class Writer:
    """Commits one release; only ``Series.writing`` makes one. Before it commits, all parts of the
    ledger have been compared with their digests, here or by reading the past."""

    def __init__(
        self,
        ledger: Reader,
        catalog: Catalog,
        *,
        unknown_files: tuple[str, ...],
        is_checked: bool,
    ):
        self.ledger = ledger
        self.unknown_files = unknown_files  # see ``Series.unknown_files``
        self._is_checked = is_checked
        self.staging: Path = ledger.layout.staged(len(ledger.releases) + 1)
        self.attempts: Path = ledger.layout.attempts(len(ledger.releases) + 1)
        self._layout = ledger.layout
        self._catalog = catalog
        self._is_done = False
        self._asked: Numbered | None = None

    @property
    def releases(self) -> tuple[ReleaseRecord, ...]:
        """All releases before this one, oldest first."""
        return self.ledger.releases

    @property
    def head(self) -> str:
        """The end of the chain, which the release will continue; a series has its own from its
        beginning on."""
        return self.releases[-1].chain if self.releases else self._catalog.start()

    def ensure_follows(self, chain: str | None) -> None:
        """Refuse, with ``SeriesDiverged``, if the series does not end in the release with this
        chain digest or, if that is empty, has any release; None allows anything."""
        numbers = {"": 0} | {release.chain: release.number for release in self.releases}
        if chain is None or numbers.get(chain) == len(self.releases):
            return
        if chain in numbers:
            later = len(self.releases) - numbers[chain]
            raise SeriesDiverged(
                f"{later} {'release' if later == 1 else 'releases'} came after the one that you "
                "have seen last",
                where=f"release {self.releases[-1].number}, {self.releases[-1].label}",
                remedy="find out who published since; then give the chain that 'serigraph status "
                "--json' shows",
            )
        raise SeriesDiverged(
            "the series does not have the release that you have seen last: it was restored from "
            "an old backup, or is a copy that diverged",
            where=str(self._layout.root),
            remedy="publish to the series that has that release; one that lacks it has forgotten "
            "what it showed of people",
        )

    def ensure_new(self, label: str, table_digest: str, ids: pl.Series) -> None:
        """Refuse early what ``commit`` would refuse.

        ``InputRefused`` for a label that is no folder name, ``AlreadyPublished`` for a label that
        is used already, ``TableError`` for ids that are not of the series' type.
        """
        check_label(label)
        for release in self.releases:
            if release.label.casefold() != label.casefold():
                continue
            is_same = release.is_of(table_digest)
            raise AlreadyPublished(
                "this table is out already"
                if is_same
                else "this label is used already, for another table",
                where=f"release {release.number}, {release.label}",
                remedy="nothing is left to do" if is_same else "give the release another label",
            )
        if os.path.lexists(self._layout.published(label)):
            raise AlreadyPublished(
                "something already exists at the path of this release",
                where=f"releases/{label}",
                remedy="move it out of the series, or use another label",
            )
        check_id_type(ids, self.releases)

    def history(
        self,
        ids: pl.Series,
        protected: Sequence[str],
        progress: Progress = no_progress,
    ) -> Past:
        """What the ledger knows of everybody who may be in the release; see ``Series.history``.

        Later steps do not look these people up again.
        """
        check_id_type(ids, self.releases)
        self._asked, past = recall_past(self._layout, self.releases, ids, protected, progress)
        self._is_checked = True
        return past

    def are_known(self) -> NDArray[np.bool_]:
        """Which of the people passed to ``history`` are in the ledger, in their order."""
        if self._asked is None:
            raise ImpossibleState("nobody was asked for")
        return np.asarray(self._asked.number >= 0)

    def attendance(self) -> NDArray[np.int64]:
        """Which releases the people passed to ``history`` were members of, as a figure that is the
        same for the same releases."""
        if self._asked is None:
            raise ImpossibleState("nobody was asked for")
        return recall_attendance(self._layout, self.releases, self._asked.number)

    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the people passed to ``history``; people who are new get the next ones."""
        if self._asked is None:
            raise ImpossibleState("nobody was asked for")
        return self._asked.with_new()

    def encode(self, proof: Proof) -> EncodedParts:
        """What ``commit`` will write for a proof; can run while public files are written."""
        asked = self._asked or Numbered.asked(self._layout, self.releases, proof.ids)
        return encode_parts(
            proof, asked.numbers(proof.ids), asked.people, self._numbers_of_retired(proof)
        )

    def _numbers_of_retired(self, proof: Proof) -> NDArray[np.int64]:
        """They may be people whom nobody asked the ledger for."""
        if proof.cohorts is None or proof.cohorts.retired.is_empty():
            return np.empty(0, dtype=np.int64)
        return Numbered.asked(self._layout, self.releases, proof.cohorts.retired).number

    def commit(self, proof: Proof | EncodedParts, draft: ReleaseDraft) -> ReleaseRecord:
        """Make the release exist, then public: its parts, its row, its files in ``staging``.

        If this fails before the commit, nothing has changed. After it the release stays: a file
        that cannot be moved into place now is moved by the next command.
        """
        self.ensure_new(draft.label, draft.table_digest, proof.ids)
        encoded = proof if isinstance(proof, EncodedParts) else self.encode(proof)

        def write(folder: Path) -> None:
            for name, content in encoded.contents.items():
                write_durably(folder / name, content)

        return self._commit(
            draft,
            write,
            parts=encoded.digests,
            id_type=id_type_of(encoded.ids),
            newcomers=encoded.newcomers,
            members=encoded.members,
            groups=encoded.groups,
        )

    def commit_written(
        self, written: WrittenParts, draft: ReleaseDraft, check: Check = lambda _record: None
    ) -> ReleaseRecord:
        """The same for a release whose parts were verified and written piece by piece, elsewhere.

        The files are moved from where they are; they must already be on disk, on the file system of
        the series. ``check`` sees the record when all files are in the ledger and in ``staging``,
        and may still refuse it.
        """
        self.ensure_new(draft.label, draft.table_digest, written.ids)

        def move(folder: Path) -> None:
            move_durably((file.path, folder / file.name) for file in written.files)

        return self._commit(
            draft,
            move,
            parts=tuple(FileDigest(file.name, file.sha256) for file in written.files),
            id_type=id_type_of(written.ids),
            newcomers=written.newcomers,
            members=written.members,
            groups=written.groups,
            check=check,
        )

    def _commit(
        self,
        draft: ReleaseDraft,
        write: Callable[[Path], None],
        *,
        parts: tuple[FileDigest, ...],
        id_type: IdType,
        newcomers: int,
        members: int,
        groups: int,
        check: Check = lambda _record: None,
    ) -> ReleaseRecord:
        if self._is_done:
            raise ImpossibleState("a writer commits one release only")
        if not self._is_checked:
            check_parts(self._layout, self.releases)
        number = len(self.releases) + 1
        with storage_errors(self._layout.root):
            self._write_parts(number, write)
            make_private(self.staging)  # the caller's documents may have any mode
            sync_tree(self.staging)
            sync(self._layout.staging)
            files = digest_tree(self.staging)
        record = unsealed(
            draft,
            number,
            parts=parts,
            files=files,
            id_type=id_type,
            newcomers=newcomers,
            members=members,
            groups=groups,
        )
        check(record)
        record = self._catalog.append(record, self.releases)
        try:
            self._catalog.commit()
        except StorageError as error:
            if not self._catalog.has_kept(record):
                raise
            self._is_done = True
            raise NotInPlace(
                "the disk failed at the end of the commit: the release is committed, but its files "
                "are not in their place yet",
                where=f"releases/{record.label}",
                remedy="see to the disk, and run any command on the series",
            ) from error
        self._is_done = True
        return self._publish(record)

    def _write_parts(self, number: int, write: Callable[[Path], None]) -> None:
        folder = self._layout.parts(number)
        make_folder(folder)
        write_durably(self._layout.marker(number), b"")
        sync(folder)
        write(folder)
        sync(folder)
        sync(self._layout.ledger)

    def _publish(self, record: ReleaseRecord) -> ReleaseRecord:
        try:
            settle(self._layout, record)
        except Exception as error:  # whatever it is, the release is committed
            cause = error if isinstance(error, SerigraphError) else type(error).__name__
            raise NotInPlace(
                "the release is committed, but its files could not be moved to their place yet",
                where=f"releases/{record.label}",
                remedy=f"see to this and run any command on the series: {cause}",
            ) from error
        return replace(record, state="published")


@contextmanager
def writer_of(layout: Layout, wait: float, compare: Comparing | None) -> Iterator[Writer]:
    """Hold the lock of a series that is in order for the length of the block; ``compare`` checks
    its parts at once."""
    try:
        with Catalog.opened(layout.catalog) as catalog:
            catalog.lock(wait)
            make_folders(layout)
            releases = catalog.releases()
            while finish_publication(layout, catalog, releases):
                # What was repaired is committed at once, not only with this release.
                catalog.commit()
                catalog.lock(wait)
                releases = catalog.releases()
            found = traces(layout)
            refuse_strangers(layout, found, releases)
            if compare is not None:
                check_parts(layout, releases, compare)
            sweep(layout, releases)
            remove_published(layout, releases)
            writer = Writer(
                Reader(layout, releases),
                catalog,
                unknown_files=unknown_files(found, releases),
                is_checked=compare is not None,
            )
            with storage_errors(writer.staging):
                make_folder(writer.staging)
            yield writer
    finally:
        with suppress(Exception):  # the block's outcome matters; a release may be published
            recover_quietly(layout)
