"""Tables that were handed to the server: files in a folder that only its owner can read, emptied
at the end."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from serigraph.errors import InputRefused, StorageError

_NAME = re.compile(r"[^\w .()+-]+")
_LONGEST = 80
_FOLDER = "serigraph-serve"


@dataclass(frozen=True)
class Upload:
    """One file: ``key`` names it in forms, ``name`` is what its owner calls it, and ``title`` tells
    files of one name apart."""

    key: str
    name: str
    title: str
    path: Path
    size: int
    sha256: str


class Uploads:
    """All files handed in, in their order. ``close`` deletes them."""

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        self.folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDER}-{os.getpid()}-"))  # mode 0700
        self._known: dict[str, Upload] = {}
        self._alike: dict[str, int] = {}  # files of each name, so far

    def all(self) -> tuple[Upload, ...]:
        return tuple(self._known.values())

    def tables(self) -> tuple[Upload, ...]:
        """Those that may be the next table, the likeliest first: no policy, and rather no release
        or registry; then the latest."""
        found = [each for each in reversed(self._known.values()) if seems(each.name) != "policy"]
        return tuple(sorted(found, key=lambda each: seems(each.name) != "table"))

    def get(self, key: str) -> Upload:
        """The file of this key; ``InputRefused`` if there is none."""
        if key not in self._known:
            raise InputRefused(
                "this table is not here any more", remedy="choose a table, or drop it again"
            )
        return self._known[key]

    async def take(self, name: str, chunks: AsyncIterator[bytes]) -> Upload:
        """Write what comes in; nothing is kept if it does not come whole, or is here already."""
        key, shown = secrets.token_hex(8), plain_name(name)
        place = self.folder / key
        size, digest = 0, hashlib.sha256()
        try:
            place.mkdir(mode=0o700)
            path = place / shown
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(opened, "wb") as file:
                async for chunk in chunks:
                    size += file.write(chunk)
                    digest.update(chunk)
        except BaseException as error:
            shutil.rmtree(place, ignore_errors=True)
            if isinstance(error, OSError):
                raise StorageError(
                    f"the table cannot be kept ({error.strerror})",
                    remedy="make room in the folder for temporary files (TMPDIR)",
                ) from None
            raise
        for known in self._known.values():
            if (known.name, known.sha256) == (shown, digest.hexdigest()):
                shutil.rmtree(place, ignore_errors=True)  # it was dropped again
                return known
        self._alike[shown] = alike = self._alike.get(shown, 0) + 1
        title = shown if alike == 1 else f"{shown} ({alike})"
        self._known[key] = Upload(key, shown, title, path, size, digest.hexdigest())
        return self._known[key]

    def forget(self, key: str) -> None:
        """Delete one file."""
        shutil.rmtree(self.get(key).path.parent, ignore_errors=True)
        del self._known[key]

    def without_paths(self, words: str) -> str:
        """A message with the name of a file in place of where it lies."""
        for each in self._known.values():
            words = words.replace(str(each.path), each.name)
        return words.replace(f"{self.folder}{os.sep}", "")

    def close(self) -> None:
        """Delete everything."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._known.clear()


def seems(name: str) -> str:
    """What a file seems to be, by its name.

    >>> [seems(name) for name in ("policy.toml", "release-2.csv", "registry.csv", "2024H1.csv")]
    ['policy', 'release', 'registry', 'table']
    """
    words = name.lower()
    if words.endswith(".toml"):
        return "policy"
    if "registry" in words or "population" in words:
        return "registry"
    return "release" if "release" in words or "anonym" in words else "table"


def _sweep(folder: Path) -> None:
    """Delete what servers left that were killed."""
    for each in folder.glob(f"{_FOLDER}-*-*"):
        process = each.name.split("-")[2]
        with suppress(OSError):
            if each.is_symlink() or each.stat().st_uid != os.getuid() or not process.isdecimal():
                continue
            try:
                os.kill(int(process), 0)
            except ProcessLookupError:
                shutil.rmtree(each, ignore_errors=True)


def plain_name(name: str) -> str:
    """A name for a file, whatever its owner called it; its ending stays.

    >>> plain_name("../../etc/pass<wd>.csv"), plain_name("C:\\\\data\\\\2024H1.csv"), plain_name("")
    ('pass_wd_.csv', '2024H1.csv', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = _NAME.sub("_", last).strip(" .")
    stem, dot, ending = plain.rpartition(".")
    if len(plain.encode()) > _LONGEST:
        plain = (stem[: _LONGEST // 4] + dot + ending[:10]) if dot else plain[: _LONGEST // 4]
    return plain or "table"
