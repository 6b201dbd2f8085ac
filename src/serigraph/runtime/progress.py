"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Report = Callable[[int, int], None]  # is told how many parts of a stage are done, of how many


class Progress(Protocol):
    """Is called with the name of a stage when it begins, and then with how much of it is done."""

    def __call__(self, stage: str, done: int = 0, total: int = 1, /) -> None: ...


def no_progress(_stage: str, _done: int = 0, _total: int = 1, /) -> None:
    """Report no progress."""


def part_of(report: Report, number: int, parts: int) -> Report:
    """Tell it about the work of one of several equal parts, which are done one after the other."""
    return lambda done, total: report(number * total + done, parts * total)


def first_half(report: Report) -> Report:
    """Tell it about work that is half of the whole, and done first."""
    return part_of(report, 0, 2)


def second_half(report: Report) -> Report:
    """Tell it about the other half."""
    return part_of(report, 1, 2)
