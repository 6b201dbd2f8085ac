"""What nobody foresaw, as an error of the tree: without its message, which may quote a cell."""

from __future__ import annotations

import traceback
from pathlib import Path

from serigraph.errors import ImpossibleState, MemoryExhausted, SerigraphError, StorageError

SHOW_ALL = "SERIGRAPH_TRACEBACK"
_NO_THREAD = "can't start new thread"


def as_known(error: BaseException, is_memory_limited: bool) -> SerigraphError:
    """The error of the tree that says what this error is. Where memory is limited, a library that
    gets none may say anything: that a module lacks a name, that a file cannot be read."""
    if isinstance(error, SerigraphError):
        return error
    if is_memory_limited or isinstance(error, MemoryError) or _NO_THREAD in str(error):
        return MemoryExhausted(
            "there is not enough memory",
            where=_place(error),
            remedy="give it more memory, or use --engine spark; 'serigraph status' says which "
            "releases are out",
        )
    if isinstance(error, OSError):
        return StorageError(
            f"cannot read or write: {(error.strerror or type(error).__name__).lower()}",
            where=str(error.filename or _place(error)),
            remedy="see to the file or the disk and run the command again",
        )
    return ImpossibleState(
        f"{type(error).__name__}: a bug in serigraph",
        where=_place(error),
        remedy=f"please report it; {SHOW_ALL}=1 in the environment shows all of it, which may "
        "include data",
    )


def _place(error: BaseException) -> str:
    """The last line of this package that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "serigraph" in frame.filename] or frames
    return f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}" if ours else ""
