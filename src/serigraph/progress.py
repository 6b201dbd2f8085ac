"""How long work tells how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Is called with the name of a stage when it begins, and then with how much of it is done."""

    def __call__(self, stage: str, done: int = 0, total: int = 1, /) -> None: ...


def silently(_stage: str, _done: int = 0, _total: int = 1, /) -> None:
    """Report no progress."""
