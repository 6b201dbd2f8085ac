"""Compiled kernels on disk, loaded only if they are as they were written.

Numba unpickles whatever it finds in its cache, and runs the machine code in it: a file left half
written by a power cut ends the program or, worse, gives wrong results. So each kernel has its own
folder, with a note of its content: the digest of every file. Before Numba first looks there, a
folder that does not match its note is emptied.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np

from serigraph.runtime.cache_folder import cache_folder, kept_private, temporary_folder

_PACKAGE = Path(__file__).parents[1]
_NOTE = "digests.json"


@cache
def kernel_folder() -> Path:
    """Where the kernels of this installation are: in the folder that the user has chosen for Numba,
    if nobody else can write there, or in the user's cache. Its name depends on everything that a
    kernel is made of, since Numba does not notice an edit in a module that a kernel draws on."""
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    base = (kept_private(Path(wanted)) or temporary_folder()) if wanted else cache_folder()
    os.environ["NUMBA_CACHE_DIR"] = str(base)  # for child processes
    return base / f"kernels-{_digest_of_sources()}"


def _digest_of_sources() -> str:
    """A digest of the modules with kernels, their location, and everything that compiles them."""
    found = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        content = path.read_bytes()
        if b"serigraph.runtime.compiled import" in content:
            found.update(os.fsencode(path) + b"\0" + hashlib.sha256(content).digest())
    processor = llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features()
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version
    found.update(repr((versions, platform.machine(), processor[0])).encode())
    found.update(processor[1].flatten().encode())
    return found.hexdigest()[:16]


class CachedKernel:
    """A function that Numba compiles for its argument types, and caches."""

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.__doc__ = function.__doc__
        self.__wrapped__ = self.py_func = function
        self._folder = kernel_folder() / self.name
        self._lock = Lock()
        self._is_checked = False
        self._noted = 0
        with suppress(OSError):  # Numba itself reports that it cannot cache
            for folder in (self._folder.parent, self._folder):
                folder.mkdir(mode=0o700, exist_ok=True)
        config: Any = numba.config
        before = config.CACHE_DIR
        config.CACHE_DIR = str(self._folder)  # Numba reads it only here
        try:
            self._compiled = numba.njit(cache=True, **options)(function)
        finally:
            config.CACHE_DIR = before
        _all[self.name] = self

    @property
    def signatures(self) -> list[Any]:
        """The signatures the kernel was compiled or loaded for."""
        return list(self._compiled.signatures)

    @property
    def was_found(self) -> bool:
        """Whether it was loaded from the cache every time."""
        return bool(self.signatures) and not self._misses()

    def __call__(self, *arguments: Any) -> Any:
        if not self._is_checked:
            with self._lock:
                if not self._is_checked and not is_whole(self._folder):
                    _empty(self._folder)
                self._is_checked = True
        try:
            result = self._compiled(*arguments)
        except OSError:  # the disk is full: it was not cached, but is in memory
            result = self._compiled(*arguments)
        if self._misses() > self._noted:
            with self._lock, suppress(OSError):
                self._noted = self._misses()
                _note(self._folder)
        return result

    def _misses(self) -> int:
        return sum(self._compiled.stats.cache_misses.values())


_all: dict[str, CachedKernel] = {}


def loaded_kernels() -> list[str]:
    """The names of the kernels called in this process."""
    return sorted(name for name, kernel in _all.items() if kernel.signatures)


def is_kept(name: str) -> bool:
    """Whether a kernel with this name is in the cache, as it was written."""
    return is_whole(kernel_folder() / name)


def is_whole(folder: Path) -> bool:
    """Whether the files of a kernel match the digests noted."""
    try:
        noted = json.loads((folder / _NOTE).read_bytes())
        return bool(noted) and noted == _digests(folder)
    except (OSError, ValueError):
        return False


def write_whole(path: Path, content: str) -> None:
    """Write a file atomically, even if two processes do."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)


def _note(folder: Path) -> None:
    write_whole(folder / _NOTE, json.dumps(_digests(folder)))


def _empty(folder: Path) -> None:
    for path in _files(folder):
        path.unlink(missing_ok=True)


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in _files(folder)
    }


def _files(folder: Path) -> list[Path]:
    """What Numba loads: an index, and code for each signature."""
    return [path for path in folder.rglob("*") if path.suffix in (".nbi", ".nbc")]
