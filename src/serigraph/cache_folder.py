"""Where Serigraph keeps what it can make again: a folder of the user, one for each version."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from serigraph._version import __version__


def cache_folder() -> Path:
    """The user's cache for this version, or a temporary folder where that cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME")
    wanted = (Path(base) if base else Path.home() / ".cache") / "serigraph" / __version__
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError:
        return Path(tempfile.gettempdir()) / f"serigraph-{os.getuid()}-{__version__}"
