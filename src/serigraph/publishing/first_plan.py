"""What a first policy can promise: for how many releases, and for which values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from serigraph.engines.suppression import excess_holders
from serigraph.errors import TableError
from serigraph.model import ProtectedValue
from serigraph.privacy.strategies import ConstantRatio

THRESHOLD = Fraction(1, 2)
MOST_RELEASES = 20
FEWEST_RELEASES = 2  # one release is not a series
SPARE = Fraction(1, 5)  # share of people: at the limit, everybody would be in one group


@dataclass(frozen=True)
class FirstPlan:
    """The number of releases to plan for, and the values that cannot be protected."""

    people: int
    releases: int
    commonest: int  # people who hold the commonest of the protected values
    excepted: dict[str, int]  # value -> people who hold it, commonest first
    persists: bool = False  # values are shown once, and no budget is divided among releases

    @property
    def share_allowed(self) -> float:
        """The share of people who may hold a protected value."""
        return 1 / ConstantRatio(self.releases).preview(THRESHOLD, 1)[0]


def first_plan(
    holders: pl.DataFrame, people: int, column: str, *, persists: bool = False
) -> FirstPlan:
    """The longest plan that protects every value, or else as many values as two releases allow.

    ``holders`` has the number of ``people`` for every ``value``. A fifth of the people is kept in
    reserve, for later tables with more holders and for groups smaller than the whole table. Only if
    nothing can be protected for two releases is a single one planned. Where values persist, each is
    shown once, and has to fit a single release. Raises ``TableError`` if even that protects
    nothing.
    """
    held = holders.sort("people", "value", descending=[True, False])
    sizes = (int(people * (1 - SPARE)), people)
    plans = ((FEWEST_RELEASES, sizes[0]), (1, sizes[0]), (1, sizes[1]))
    for releases, within in plans[1:] if persists else plans:
        fitting = _fitting(held, releases, within)
        if not fitting.is_empty():
            longest = next(
                more
                for more in range(MOST_RELEASES, 0, -1)
                if more == releases or _fitting(fitting, more, within).height == fitting.height
            )
            excepted = held.head(held.height - fitting.height)
            commonest = fitting["people"][0]
            return FirstPlan(people, longest, commonest, dict(excepted.iter_rows()), persists)
    raise TableError(
        f"no value of column {column!r} can be protected: each is held by more than half of the "
        "people",
        remedy="name another column with --sensitive COLUMN",
    )


def _fitting(held: pl.DataFrame, releases: int, people: int) -> pl.DataFrame:
    """The values that fit a plan for this many releases and people."""
    protected = [ProtectedValue(name, THRESHOLD) for name in held["value"]]
    ratio = ConstantRatio(releases).preview(THRESHOLD, 1)[0]
    base = np.full(held.height, ratio)
    unfit = excess_holders(protected, held["people"].to_numpy(), base, people, Fraction(0))
    return held.filter(
        ~pl.Series([number in unfit for number in range(held.height)], dtype=pl.Boolean)
    )
