"""Unexpected errors as Serigraph errors, without their messages, which may quote a cell."""

from __future__ import annotations

import traceback
from pathlib import Path

from serigraph.errors import ImpossibleState, MemoryExhausted, SerigraphError, StorageError

SHOW_ALL = "SERIGRAPH_TRACEBACK"
_NO_THREAD = "can't start new thread"


def as_known(error: BaseException, is_memory_limited: bool) -> SerigraphError:
    """The Serigraph error for any error. Under a memory limit, a library that runs out may fail in
    any way: a module lacks a name, a file cannot be read."""
    if isinstance(error, SerigraphError):
        return error
    if is_memory_limited or isinstance(error, MemoryError) or _NO_THREAD in str(error):
        return MemoryExhausted(
            "not enough memory",
            where=_place(error),
            remedy="use more memory, or --engine spark; 'serigraph status' shows which "
            "releases are out",
        )
    if isinstance(error, OSError):
        return StorageError(
            f"cannot read or write: {(error.strerror or type(error).__name__).lower()}",
            where=str(error.filename or _place(error)),
            remedy="check the file and the disk, then run the command again",
        )
    return ImpossibleState(
        f"{type(error).__name__}: a bug in serigraph",
        where=_place(error),
        remedy=f"please report it; set {SHOW_ALL}=1 to see the whole traceback, which may include "
        "data",
    )


def _place(error: BaseException) -> str:
    """The innermost line of this package in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "serigraph" in frame.filename] or frames
    return f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}" if ours else ""
