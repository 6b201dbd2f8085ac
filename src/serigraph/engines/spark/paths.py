"""Paths of the folder that driver and executors share, and names, as Spark wants to hear them."""

from __future__ import annotations

import re
from pathlib import Path


def shared(path: Path) -> str:
    """A path for Spark to read: of this file system whatever its default is, and no pattern.

    >>> shared(Path("/registers/a [new] one"))
    'file:///registers/a \\\\[new\\\\] one'
    """
    return "file://" + re.sub(r"([\[\]{}*?,\\])", r"\\\1", str(path.absolute()))


def quoted(name: str) -> str:
    """The name of a column, whatever is in it.

    >>> quoted("income.net")
    '`income.net`'
    """
    return "`" + name.replace("`", "``") + "`"
