"""Putting a series in order after a crash, and detecting what no crash can explain."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from serigraph.errors import LedgerDamaged, SeriesBusy, SeriesError, StorageError
from serigraph.ledger.catalog import Catalog
from serigraph.ledger.drafts import draft_folders
from serigraph.ledger.layout import UNCOMMITTED, Layout
from serigraph.ledger.release import ReleaseRecord
from serigraph.ledger.storage import (
    Recorded,
    check_digests,
    compare_here,
    ensure_folder,
    move_durably,
    storage_errors,
    sync,
)

_NAMED = 8  # unknown files to list


@dataclass(frozen=True, slots=True)
class Traces:
    """The folders whose state says that they belong to a committed release, and all files in the
    ledger, among the public ones or beside drafts, except what a publisher is writing now."""

    parts: frozenset[str]
    labels: frozenset[str]
    files: frozenset[str]  # relative to the series


def traces(layout: Layout) -> Traces:
    """What lies in the series. Take it before reading the catalog: whatever was committed by then
    is in the catalog, even if another process is publishing meanwhile."""
    with storage_errors(layout.root):
        folders = _folders(layout.ledger)
        unfinished = frozenset(path.name for path in folders if _is_unfinished(path))
        return Traces(
            parts=frozenset(path.name for path in folders) - unfinished,
            labels=frozenset(
                path.name for path in _folders(layout.releases) if not path.name.startswith(".")
            ),
            files=frozenset(
                (
                    *_files(layout.ledger, "ledger", unfinished),
                    *_files(layout.releases, "releases", frozenset()),
                    *_files(
                        layout.drafts,
                        "drafts",
                        frozenset(path.name for path in draft_folders(layout)),
                    ),
                )
            ),
        )


def unknown_files(found: Traces, releases: tuple[ReleaseRecord, ...]) -> tuple[str, ...]:
    """Files in the ledger, among the public ones or beside drafts that belong to nothing; they are
    never removed."""
    known = {
        *(f"ledger/{each.number:04d}/{part.name}" for each in releases for part in each.parts),
        *(f"releases/{each.label}/{file.name}" for each in releases for file in each.files),
    }
    return tuple(sorted(found.files - known))


def notes_on_unknown(files: tuple[str, ...]) -> tuple[str, ...]:
    """Notes about unknown files for publishers and auditors."""
    notes = [
        f"no release has the file {name!r}: it is left alone, and should be moved out of the series"
        for name in files[:_NAMED]
    ]
    if len(files) > _NAMED:
        notes.append(f"no release has {len(files) - _NAMED:,} further files either")
    return tuple(notes)


def refuse_strangers(layout: Layout, found: Traces, releases: tuple[ReleaseRecord, ...]) -> None:
    """Refuse if something was committed that the catalog does not know: the catalog is old."""
    strangers = [
        *(f"ledger/{name}" for name in found.parts - {f"{r.number:04d}" for r in releases}),
        *(f"releases/{name}" for name in found.labels - {r.label for r in releases}),
    ]
    if strangers:
        raise LedgerDamaged(
            "the catalog does not know this folder: the catalog is an old copy, or the folder "
            "comes from elsewhere",
            where=min(strangers),
            remedy="restore the newest catalog.sqlite, or move the folder out of the series",
        )


Comparing = Callable[[list[Recorded]], None]


def check_parts(
    layout: Layout, releases: tuple[ReleaseRecord, ...], compare: Comparing = compare_here
) -> None:
    """Compare all parts of the ledger with their digests."""
    folders = [(layout.parts(release.number), release.parts) for release in releases]
    compare([(folder, parts, layout.name_of(folder)) for folder, parts in folders])


def check_files(
    layout: Layout, releases: tuple[ReleaseRecord, ...], compare: Comparing = compare_here
) -> None:
    """Compare all public files of published releases with their digests."""
    folders = [
        (layout.published(release.label), release.files)
        for release in releases
        if release.is_published
    ]
    compare([(folder, files, layout.name_of(folder)) for folder, files in folders])


def finish_publication(
    layout: Layout, catalog: Catalog, releases: tuple[ReleaseRecord, ...]
) -> bool:
    """Move the public files of committed releases into place, while holding the catalog's lock.

    A process that was killed may have done any of these steps already. Returns whether the catalog
    was changed, so that its transaction has to be committed.
    """
    pending = [release for release in releases if not release.is_published]
    for release in pending:
        staged, published = layout.staged(release.number), layout.published(release.label)
        with storage_errors(published):
            source = published if published.is_dir() else staged
            check_digests(source, release.files, shown_as=layout.name_of(source))
            if source == staged:
                move_durably([(staged, published)])
            else:  # another process moved them, and may have died before that was on disk
                sync(layout.releases)
                sync(layout.staging)
            layout.marker(release.number).unlink(missing_ok=True)
            sync(layout.parts(release.number))
        catalog.mark_published(release.number)
    return bool(pending)


def sweep(layout: Layout, releases: tuple[ReleaseRecord, ...]) -> None:
    """Remove what was never committed. Needs the lock, and no publication may be pending."""
    committed = {layout.parts(release.number) for release in releases}
    with storage_errors(layout.staging):
        for folder in _folders(layout.ledger):
            if _is_unfinished(folder) and folder not in committed:
                # Moved as a whole first, and durably: a half-removed folder could lose its marker
                # and look committed. A power cut may undo a move that was not synced, and yet keep
                # the removals after it.
                move_durably([(folder, layout.staging / f"swept-{folder.name}")])
        for leftover in sorted(layout.staging.iterdir()):
            if leftover.is_dir() and not leftover.is_symlink():
                # Tasks that outlive a killed driver find their folder gone, and cannot refill it
                # while it is being removed.
                gone = layout.staging / f"swept-{secrets.token_hex(8)}"
                os.replace(leftover, gone)
                shutil.rmtree(gone)
            else:
                leftover.unlink()


def recover(layout: Layout) -> None:
    """Finish or discard what a killed process left; ``SeriesBusy`` if another is at work."""
    with Catalog.opened(layout.catalog) as catalog:
        if not (catalog.unpublished() or _has_leftovers(layout)):
            return
        catalog.lock(wait=0.0)
        make_folders(layout)
        releases = catalog.releases()
        refuse_strangers(layout, traces(layout), releases)
        finish_publication(layout, catalog, releases)
        sweep(layout, releases)
        catalog.commit()


def recover_quietly(layout: Layout) -> None:
    """Recover if possible now. What is wrong is reported by the operation that it stops."""
    with suppress(SeriesError, StorageError):
        recover(layout)


def settle(layout: Layout, record: ReleaseRecord, patience: float = 60.0) -> None:
    """Move a release that was just committed into place, or wait until another process does.

    The commit released the lock, so the next publisher may have it already; it does the same thing
    first.
    """
    deadline = time.monotonic() + patience
    while True:
        with Catalog.opened(layout.catalog) as catalog:
            if record.number not in catalog.unpublished():
                return
            try:
                catalog.lock(wait=0.1)
            except SeriesBusy:
                if time.monotonic() >= deadline:
                    raise
                continue
            if record.number in catalog.unpublished():
                finish_publication(layout, catalog, (record,))
            catalog.commit()


def make_folders(layout: Layout) -> None:
    """Make folders that a backup may have left out because they were empty; refuse links, and
    mounts, because files cannot be moved across them."""
    refuse_links(layout)
    with storage_errors(layout.root):
        for folder in layout.folders:
            ensure_folder(folder)
            if not _can_move(layout.root, folder):
                raise _misplaced(
                    layout, folder, "a folder of the series is a mount, perhaps of another disk"
                )


def refuse_links(layout: Layout) -> None:
    """Refuse folders that are links: what lies behind them may belong to somebody else."""
    for folder in layout.folders:
        if folder.is_symlink():
            raise _misplaced(layout, folder, "a folder of the series is a symbolic link")


def _misplaced(layout: Layout, folder: Path, what: str) -> SeriesError:
    return SeriesError(
        what,
        where=layout.name_of(folder),
        remedy="make it a folder of the series itself, with the files that it holds now; to use "
        "another disk, move the whole series",
    )


def _can_move(source: Path, target: Path) -> bool:
    """Whether files can be moved from one folder to another. Mounts prevent that, even two of the
    same file system. Tried with a file that does not exist, so nothing changes."""
    name = f"nothing-{secrets.token_hex(8)}"
    try:
        os.rename(source / name, target / name)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno == errno.EXDEV:
            return False
        raise
    return os.stat(source).st_dev == os.stat(target).st_dev


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return sorted(path for path in parent.iterdir() if path.is_dir())


def _files(parent: Path, shown_as: str, without: frozenset[str]) -> Iterator[str]:
    """All files and links below a folder, except in some of its folders."""
    if not parent.is_dir():
        return
    with os.scandir(parent) as entries:
        for entry in entries:
            name = f"{shown_as}/{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                yield name
            elif entry.name not in without:
                yield from _files(Path(entry), name, frozenset())


def _is_unfinished(parts: Path) -> bool:
    """Whether a folder of parts was begun and never committed; its marker is made first."""
    names = set(os.listdir(parts))
    return UNCOMMITTED in names or not names


def _has_leftovers(layout: Layout) -> bool:
    with storage_errors(layout.root):
        return (layout.staging.is_dir() and any(layout.staging.iterdir())) or any(
            _is_unfinished(path) for path in _folders(layout.ledger)
        )
