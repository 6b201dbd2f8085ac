"""Paths in the folder that driver and executors share, and names, as Spark expects them."""

from __future__ import annotations

import re
from pathlib import Path


def shared(path: Path) -> str:
    """A path for Spark to read: on this file system whatever Spark's default, and no pattern.

    >>> shared(Path("/registers/a [new] one"))
    'file:///registers/a \\\\[new\\\\] one'
    """
    return "file://" + re.sub(r"([\[\]{}*?,\\])", r"\\\1", str(path.absolute()))


def quoted(name: str) -> str:
    """The name of a column, whatever characters it has.

    >>> quoted("income.net")
    '`income.net`'
    """
    return "`" + name.replace("`", "``") + "`"
