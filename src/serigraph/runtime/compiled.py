"""Kernels: loops over arrays that Numba compiles, and that release the interpreter's lock.

A *kernel* is called from Python, and kept in the user's cache once compiled. A *helper* is called
by kernels only, and compiled into each of them. With ``NUMBA_DISABLE_JIT=1`` both are plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np

from serigraph.runtime.kernel_cache import CachedKernel

_Function = TypeVar("_Function", bound=Callable[..., object])

if TYPE_CHECKING:
    int64 = int
else:
    int64 = np.int64  # the integer type that Numba gives to lengths

# Division by zero gives infinity, as in NumPy: checking for it costs time at every division.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: _Function) -> _Function:
    """Compile a function that is called from Python and by no other kernel."""
    if cast(Any, numba.config).DISABLE_JIT:
        return function
    return cast(_Function, CachedKernel(function, _OPTIONS))


# Helpers get no entry point from Python: compiling one takes longer than compiling most helpers.
_HELPER: dict[str, Any] = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel_helper(function: _Function) -> _Function:
    """Compile a function that only kernels call, and that makes and returns no arrays.

    References to the arrays it borrows are not counted. Numba would count one for each array of
    each record, at every call: forming groups then took 10 to 26 times as long.
    """
    return cast(_Function, cast(Any, numba).njit(_nrt=False, **_HELPER)(function))


def allocating_helper(function: _Function) -> _Function:
    """The same for a function that makes or returns an array, or calls one that does."""
    return cast(_Function, numba.njit(**_HELPER)(function))
