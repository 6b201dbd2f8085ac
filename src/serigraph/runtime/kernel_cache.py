"""Compiled kernels on disk, which are loaded only if they are as they were written.

Numba unpickles whatever it finds in its cache, and runs the machine code in it: a file that a power
cut has left half written ends the program, or worse, gives other results.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache

_DIGESTS = ".digests"


class CheckedCache(FunctionCache):
    """Numba's cache of one kernel, with digests of its files beside them. What does not have its
    digest is as good as none; nor does a full disk matter, since the kernel is in memory then."""

    @property
    def _index(self) -> Path:
        return Path(self.cache_path, f"{self._impl.filename_base}.nbi")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not is_whole(self._index.with_suffix(_DIGESTS)):
            return None
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except MemoryError:
            raise
        except Exception:  # whatever pickles of another installation bring about
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            if not is_whole(self._index.with_suffix(_DIGESTS)):
                for path in _files(self._index):
                    path.unlink(missing_ok=True)
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
            _note(self._index)


def notes_of(folder: Path) -> list[Path]:
    """The files with the digests of all kernels below a folder."""
    return sorted(folder.rglob(f"*{_DIGESTS}"))


def is_whole(digests: Path) -> bool:
    """Whether a kernel's files are those whose digests were noted."""
    try:
        noted = json.loads(digests.read_bytes())
        found = {path.name: _digest(path) for path in _files(digests)}
    except (OSError, ValueError):
        return False
    return bool(found) and noted == found


def _note(index: Path) -> None:
    noted = json.dumps({path.name: _digest(path) for path in _files(index)})
    with tempfile.NamedTemporaryFile("w", dir=index.parent, delete=False) as file:
        file.write(noted)
    os.replace(file.name, index.with_suffix(_DIGESTS))


def _files(beside: Path) -> Iterator[Path]:
    """The files that Numba keeps of a kernel: an index, and code for each of its signatures."""
    stem = beside.name.removesuffix(beside.suffix)
    return (
        path
        for path in beside.parent.iterdir()
        if path.name.startswith(f"{stem}.") and path.suffix in (".nbi", ".nbc")
    )


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
