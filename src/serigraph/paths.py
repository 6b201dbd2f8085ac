"""Paths that every library can open: some know nothing but text."""

from __future__ import annotations

import os

from serigraph.errors import InputRefused


def is_text(name: str) -> bool:
    """Whether a name can be written in UTF-8, without null characters.

    >>> is_text("clinic"), is_text("nul\\0"), is_text("latin \\udce9")
    (True, False, False)
    """
    return "\0" not in name and not any("\ud800" <= letter <= "\udfff" for letter in name)


def check_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path that is no text, such as one that an old system wrote in its own encoding."""
    if not is_text(os.fspath(path)):
        raise InputRefused(
            "the path is not written in UTF-8, or holds a null character",
            remedy="rename the file, or the folder that it is in",
        )
