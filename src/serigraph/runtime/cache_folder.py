"""Where Serigraph keeps what it can make again: a folder that only the user can write.

Compiled kernels are code: anybody who can put a file beside them can run it as the user.
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

_SYSTEM = 0  # root can do anything in any case
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@cache
def cache_folder() -> Path:
    """The user's cache for this version; if it cannot be private, a temporary folder, removed when
    this process ends."""
    wanted = _wanted()
    return (wanted and kept_private(wanted)) or temporary_folder()


@cache
def temporary_folder() -> Path:
    """A new folder for this process alone."""
    folder = Path(tempfile.mkdtemp(prefix="serigraph-"))  # with mode 0700
    atexit.register(_remove, folder, os.getpid())
    return folder


def is_temporary(folder: Path) -> bool:
    """Whether a folder is removed when this process ends."""
    return bool(temporary_folder.cache_info().currsize) and folder == temporary_folder()


def kept_private(folder: Path) -> Path | None:
    """The folder, made if need be, without symbolic links in its path; None if it cannot be
    written, belongs to another user, or if others could write into it or replace it. An existing
    folder keeps its mode."""
    try:
        for each in (*reversed(folder.parents), folder):
            if not each.exists():  # the umask may leave parents made by mkdir writable by a group
                each.mkdir(mode=0o700, exist_ok=True)
        resolved = folder.resolve(strict=True)
        if not (_is_own(resolved) and all(map(_is_safe, resolved.parents))):
            return None
        with tempfile.TemporaryFile(dir=resolved):
            return resolved
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle
        return None


def _wanted() -> Path | None:
    """Where the XDG rules put it; they ignore relative paths."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        base = base if base.is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # neither HOME nor an entry for this user
        return None
    return base / "serigraph" / __version__ if base.is_absolute() else None


def _is_own(folder: Path) -> bool:
    """Whether the folder is this user's, and nobody else can put files into it."""
    found = folder.lstat()
    return found.st_uid == os.geteuid() and not found.st_mode & _BY_OTHERS


def _is_safe(folder: Path) -> bool:
    """Whether nobody else can replace this user's files in the folder, as in a sticky one."""
    found = folder.lstat()
    is_sticky = found.st_mode & stat.S_ISVTX
    return found.st_uid in (_SYSTEM, os.geteuid()) and bool(
        is_sticky or not found.st_mode & _BY_OTHERS
    )


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked child
        shutil.rmtree(folder, ignore_errors=True)
