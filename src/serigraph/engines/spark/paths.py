"""Paths of the folder that driver and executors share, as Spark wants to hear them."""

from __future__ import annotations

import re
from pathlib import Path


def shared(path: Path) -> str:
    """A path for Spark to read: of this file system whatever its default is, and no pattern.

    >>> shared(Path("/registers/a [new] one"))
    'file:///registers/a \\\\[new\\\\] one'
    """
    return "file://" + re.sub(r"([\[\]{}*?,\\])", r"\\\1", str(path.absolute()))
