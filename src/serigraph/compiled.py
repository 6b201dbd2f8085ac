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

# A division by zero gives infinity, as in NumPy: to look out for it takes time at every one.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def kernel(function: _Function) -> _Function:
    """Compile a function over arrays to machine code, without the interpreter's lock."""
    return cast(_Function, numba.njit(**_OPTIONS)(function))


_INNER: dict[str, Any] = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def inner(function: _Function) -> _Function:
    """Compile a function that only kernels call, and that makes and returns no array.

    A way in from Python would take much of the time to compile, the more so the more arrays it is
    given. Nor are the arrays counted that it borrows: for a tuple of twenty of them that takes
    longer than many a call.
    """
    return cast(_Function, numba.njit(**(_INNER | {"_nrt": False}))(function))


def making(function: _Function) -> _Function:
    """The same for a function that makes arrays, or returns them."""
    return cast(_Function, numba.njit(**(_INNER | {"_nrt": True}))(function))
