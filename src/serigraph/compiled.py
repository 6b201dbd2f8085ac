"""How kernels are compiled: ahead of their first use, once a version, into the user's cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from serigraph.cache_folder import cache_folder

_Function = TypeVar("_Function", bound=Callable[..., object])

# Numba can serve a stale caller from its cache after another version was installed in place.
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))

import numba  # noqa: E402  (reads the variable above when it is imported)


def kernel(function: _Function) -> _Function:
    """Compile a function over arrays to machine code, without the interpreter's lock."""
    return cast(_Function, numba.njit(cache=True, nogil=True)(function))


def inner(function: _Function) -> _Function:
    """Compile a function that only kernels call.

    A way in from Python would take much of the time, the more so the more arrays it is given.
    """
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(_Function, numba.njit(cache=True, nogil=True, **options)(function))
