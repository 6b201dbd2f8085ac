"""The kinds of quasi-identifiers, one table row each.

A new kind needs a row here, its name in ``QuasiIdentifier.kind`` of the policy, and a reader in
`serigraph.tables.columns`. Its values must be ordered, as numbers or as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

Kind = Literal["numeric", "date", "categorical"]

_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|Inf|∞)"
_DATE = r"\d{4}(?:-\d{2}(?:-\d{2})?)?"
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class ColumnKind:
    """How the values of a column are recoded and read back."""

    is_scale: bool  # values have distances, and regions are ranges; otherwise sets of names
    bound: str  # pattern for the end of a range; empty if values are names
    points: Callable[[str], tuple[float, float]]  # the first and the last point of a bound


def _number(text: str) -> tuple[float, float]:
    number = float(text.replace("∞", "inf"))
    return number, number


def _days(text: str) -> tuple[float, float]:
    """The first and the last day of a date, a month or a year, since 1970.

    >>> _days("1970-02")
    (31.0, 58.0)
    """
    parts = [int(part) for part in text.split("-")]
    try:
        first = date(*[*parts, 1, 1][:3])
        if len(parts) == 3:
            last = first
        elif len(parts) == 2:
            last = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(1)
        else:
            last = date(parts[0], 12, 31)
    except ValueError:
        return float("inf"), float("-inf")  # not a date: no range fits it
    return float((first - _EPOCH).days), float((last - _EPOCH).days)


KINDS: Mapping[Kind, ColumnKind] = {
    "numeric": ColumnKind(is_scale=True, bound=_NUMBER, points=_number),
    "date": ColumnKind(is_scale=True, bound=_DATE, points=_days),
    "categorical": ColumnKind(is_scale=False, bound="", points=_number),
}
