"""Where Serigraph keeps what it can make again: a folder that nobody else can write.

Compiled kernels are code: whoever may put a file beside them runs it in the name of the user.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path

from serigraph._version import __version__

_SYSTEM = 0  # whoever is root may do anything in any case
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@cache
def cache_folder() -> Path:
    """The user's cache for this version; where there can be none that is private, a temporary
    folder, which goes when this process ends."""
    wanted = _wanted()
    return (wanted and kept_private(wanted)) or temporary_folder()


@cache
def temporary_folder() -> Path:
    """A new folder of this process alone."""
    folder = Path(tempfile.mkdtemp(prefix="serigraph-"))  # with mode 0700
    atexit.register(_remove, folder, os.getpid())
    return folder


def is_temporary(folder: Path) -> bool:
    """Whether a folder goes when this process ends."""
    return bool(temporary_folder.cache_info().currsize) and folder == temporary_folder()


def kept_private(folder: Path) -> Path | None:
    """The folder, made if need be, without symbolic links in its path; None if it cannot be
    written, if it is another user's, or if others could put something into it or its place. A
    folder that is there keeps its mode."""
    try:
        for each in (*reversed(folder.parents), folder):
            if not each.exists():  # the umask may leave the parents that mkdir makes to a group
                each.mkdir(mode=0o700, exist_ok=True)
        resolved = folder.resolve(strict=True)
        if not (_is_own(resolved) and all(map(_is_safe, resolved.parents))):
            return None
        with tempfile.TemporaryFile(dir=resolved):
            return resolved
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle
        return None


def _wanted() -> Path | None:
    """Where XDG's rules put it; they leave out paths that are relative."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        base = base if base.is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # neither HOME nor an entry for this user
        return None
    return base / "serigraph" / __version__ if base.is_absolute() else None


def _is_own(folder: Path) -> bool:
    """Whether the folder is this user's, and nobody else can put a file into it."""
    found = folder.lstat()
    return found.st_uid == os.geteuid() and not found.st_mode & _BY_OTHERS


def _is_safe(folder: Path) -> bool:
    """Whether nobody else can replace what this user has in the folder, as in a sticky one."""
    found = folder.lstat()
    is_sticky = found.st_mode & stat.S_ISVTX
    return found.st_uid in (_SYSTEM, os.geteuid()) and bool(
        is_sticky or not found.st_mode & _BY_OTHERS
    )


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not in a process that was forked from it
        shutil.rmtree(folder, ignore_errors=True)
