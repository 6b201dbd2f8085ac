"""Exposures and published groups, each from the other."""

from __future__ import annotations

from collections.abc import Iterable

from serigraph.records import Exposure
from theorems.possible_worlds import Group, Series


def exposures_of(series: Series, person: str, value: str) -> list[Exposure]:
    """The exposure of a person to a value in each release that has the person."""
    return [
        Exposure(len(group.people), group.values.count(value))
        for table in series
        for group in table
        if person in group.people
    ]


def series_of(exposures: Iterable[Exposure]) -> Series:
    """One group of person o a release, with value s held as often as the exposure says."""
    return tuple(
        (
            Group(
                tuple("opqrstuvw"[: exposure.size]),
                ("s",) * exposure.count + ("t",) * (exposure.size - exposure.count),
            ),
        )
        for exposure in exposures
    )
