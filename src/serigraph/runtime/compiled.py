"""How kernels are compiled: ahead of their first use, once a version, into the user's cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from serigraph.runtime.cache_folder import cache_folder, kept_private, temporary_folder
from serigraph.runtime.kernel_cache import CheckedCache

_Function = TypeVar("_Function", bound=Callable[..., object])


def _kernel_folder() -> Path:
    """Where the user wants kernels to be kept, if nobody else can write there. (Numba can serve a
    stale caller from its cache after another version was installed in place.)"""
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    return (kept_private(Path(wanted)) or temporary_folder()) if wanted else cache_folder()


# For this process, and for those that it starts.
cast(Any, numba.config).CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(_kernel_folder())

# A division by zero gives infinity, as in NumPy: to look out for it takes time at every one.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: _Function) -> _Function:
    """Compile a function over arrays to machine code, without the interpreter's lock."""
    return cast(_Function, _kept(numba.njit(**_OPTIONS)(function)))


def _kept(function: Any) -> Any:
    # As Numba does for cache=True, with a cache of its own.
    function._cache = CheckedCache(function.py_func)  # type: ignore[no-untyped-call]
    return function


class _Unset:
    """A code generator that sets no environment: what only a kernel calls has none of its own."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def set_env(self, _name: str, _environment: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)


class _Part(JITCodeLibrary):
    """Code that kernels take in, and optimise and translate with their own. To do that for each
    part by itself as well, with all that it calls, would take a tenth of the time to compile."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    @property
    def codegen(self) -> _Unset:
        return _Unset(self._codegen)


class _PartCompiler(Compiler):
    """Compiles a function to such a part."""

    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        part = _Part(target.codegen(), "part")  # type: ignore[no-untyped-call]
        super().__init__(typing, target, library or part, *others)  # type: ignore[no-untyped-call]


_INNER: dict[str, Any] = _OPTIONS | {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _PartCompiler,
}


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


def shared(function: _Function) -> _Function:
    """Let an inner function be compiled by one process, for another that finds it in the cache."""
    part = cast(Any, function)
    return cast(_Function, _kept(numba.jit(**part.targetoptions)(part.py_func)))
