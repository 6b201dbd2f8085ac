"""How long-running work reports its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Report = Callable[[int, int], None]  # parts of a stage done, and in all


class Progress(Protocol):
    """Called with the name of a stage when it begins, and then with how much of it is done."""

    def __call__(self, stage: str, done: int = 0, total: int = 1, /) -> None: ...


def no_progress(_stage: str, _done: int = 0, _total: int = 1, /) -> None:
    """Report no progress."""


def part_of(report: Report, number: int, parts: int) -> Report:
    """A report for one of several equal parts, done one after the other."""
    return lambda done, total: report(number * total + done, parts * total)


def first_half(report: Report) -> Report:
    """A report for the first half of the work."""
    return part_of(report, 0, 2)


def second_half(report: Report) -> Report:
    """A report for the second half."""
    return part_of(report, 1, 2)
