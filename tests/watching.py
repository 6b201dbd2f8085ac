"""Points of a process at which a test can look, or end it.

A *point* is a line of the code that is watched, or an operation on files anywhere below it, in the
thread that asks to be watched.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

FILE_OPERATIONS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "sqlite3.connect"}


def watch(folders: tuple[str, ...], at_point: Callable[[int], None]) -> None:
    """Call ``at_point`` with the number of each point that this process comes to from now on."""
    counted = 0
    is_looking = False
    watched = threading.get_ident()

    def count() -> None:
        nonlocal counted, is_looking
        if not is_looking:
            is_looking = True
            at_point(counted)
            counted += 1
            is_looking = False

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(folders):
            return None
        if event == "line":
            count()
        return trace

    def audit(event: str, _: object) -> None:
        if event in FILE_OPERATIONS and threading.get_ident() == watched:
            count()

    sys.addaudithook(audit)
    sys.settrace(trace)
