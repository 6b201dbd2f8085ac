"""How kernels are compiled: ahead of their first use, once a version, into the user's cache."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from serigraph._version import __version__

_Function = TypeVar("_Function", bound=Callable[..., object])


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    wanted = (Path(base) if base else Path.home() / ".cache") / "serigraph" / __version__
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError:
        return Path(tempfile.gettempdir()) / f"serigraph-{os.getuid()}-{__version__}"


# Numba can serve a stale caller from its cache after another version was installed in place.
os.environ.setdefault("NUMBA_CACHE_DIR", str(_cache_folder()))

import numba  # noqa: E402  (reads the variable above when it is imported)


def kernel(function: _Function) -> _Function:
    """Compile a function over arrays to machine code, without the interpreter's lock."""
    return cast(_Function, numba.njit(cache=True, nogil=True)(function))
