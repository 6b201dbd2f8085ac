"""Files that survive a power cut, that only the owner can read, and whose changes are detected."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from serigraph.errors import LedgerDamaged, StorageError
from serigraph.runtime.threads import parallel_map, slices

_REMEDIES = {
    errno.ENOSPC: "free some space and run the command again",
    errno.EDQUOT: "free some space or raise the quota, and run the command again",
    errno.EFBIG: "raise the limit on file sizes and run the command again",
    errno.EROFS: "the file system is read-only: make it writable and run the command again",
    errno.EACCES: "give yourself permission to write there and run the command again",
    errno.EPERM: "give yourself permission to write there and run the command again",
}

_FILES = 8  # per thread at a time
_FOLDER, _FILE = 0o700, 0o600  # only for the owner

RESTORE = "restore the file from a backup; nothing is published until then"


@dataclass(frozen=True, slots=True)
class FileDigest:
    """A file's name, relative to its folder with ``/`` between parts, and its SHA-256."""

    name: str
    sha256: str


@contextmanager
def storage_errors(where: Path) -> Iterator[None]:
    """Turn every error of the operating system into a ``StorageError`` about ``where``."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the operating system refused"
        remedy = _REMEDIES.get(error.errno or 0, "see to the disk and run the command again")
        raise StorageError(
            f"cannot read or write: {reason.lower()}", where=str(where), remedy=remedy
        ) from error


def make_folder(path: Path) -> None:
    """Make a new folder that only its owner can enter, whatever the umask."""
    os.mkdir(path, _FOLDER)
    os.chmod(path, _FOLDER)  # a umask may have taken rights from the owner too


def ensure_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, as ``make_folder`` does."""
    if not path.is_dir():
        ensure_folder(path.parent)
        make_folder(path)


def new_file(path: Path) -> BinaryIO:
    """A new file that only its owner can read, whatever the umask, open for writing."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE)
    os.fchmod(descriptor, _FILE)
    return os.fdopen(descriptor, "wb")


def make_private(folder: Path) -> None:
    """Let only the owner into a folder that others wrote, and everything below it."""
    os.chmod(folder, _FOLDER)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            os.chmod(path, _FOLDER if path.is_dir() else _FILE)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, in the place of one that is there."""
    path.unlink(missing_ok=True)
    with new_file(path) as file:
        file.write(content)


def write_durably(path: Path, content: bytes) -> None:
    """Write a new file and wait until it is on disk; the folder has to be synced afterwards."""
    with new_file(path) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Wait until a folder and everything below it is on disk."""
    for path in sorted(folder.rglob("*")):
        sync(path)
    sync(folder)


def move_durably(moves: Iterable[tuple[Path, Path]]) -> None:
    """Move files or folders, each from its path to another, and wait until that is on disk.

    The folders that they came to go first, so that a power cut leaves none without a name. Those
    that they came from count as well: a name may come back there, and what is removed under it
    would be the file that was moved. If one of this fails, all is moved back, so that nothing is
    where nobody was told of it.
    """
    moved: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            os.replace(source, target)
            moved.append((source, target))
        targets = dict.fromkeys(target.parent for _, target in moved)
        for folder in targets | dict.fromkeys(source.parent for source, _ in moved):
            sync(folder)
    except OSError:
        for source, target in reversed(moved):
            with suppress(OSError):
                os.replace(target, source)
        raise


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digest_file(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_tree(folder: Path) -> tuple[FileDigest, ...]:
    """The digests of all files below a folder, ascending by name."""
    return tuple(
        FileDigest(path.relative_to(folder).as_posix(), digest_file(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    )


def check_digests(folder: Path, digests: tuple[FileDigest, ...], *, shown_as: str) -> None:
    """Raise ``LedgerDamaged`` if a file is missing or does not match its digest."""
    for expected in digests:
        where = f"{shown_as}/{expected.name}"
        path = folder / expected.name
        with storage_errors(path):
            if not path.is_file():
                raise LedgerDamaged("a file of the series is missing", where=where, remedy=RESTORE)
            if digest_file(path) != expected.sha256:
                raise LedgerDamaged("a file of the series was changed", where=where, remedy=RESTORE)


Recorded = tuple[Path, tuple[FileDigest, ...], str]  # a folder, its files, and its name in messages


def compare_here(folders: list[Recorded]) -> None:
    """Compare folders with their digests, some files at a time."""
    files = [
        (folder, digest, shown_as) for folder, digests, shown_as in folders for digest in digests
    ]

    def compare(part: slice) -> None:
        for folder, digest, shown_as in files[part]:
            check_digests(folder, (digest,), shown_as=shown_as)

    parallel_map(compare, slices(len(files), longest=_FILES))
