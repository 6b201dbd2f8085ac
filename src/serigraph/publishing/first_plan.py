"""What a first policy can promise: for how many releases, and for which values of the table."""

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
FEWEST_RELEASES = 2  # one release is no series
SPARE = Fraction(1, 5)  # of the people: at the limit, all of them are one group


@dataclass(frozen=True)
class FirstPlan:
    """How many releases are planned for, and who cannot be protected in any of them."""

    people: int
    releases: int
    commonest: int  # people who hold the commonest of the protected values
    excepted: dict[str, int]  # value -> people who hold it, commonest first

    @property
    def share_allowed(self) -> float:
        """Of the people, that may hold a protected value."""
        return 1 / ConstantRatio(self.releases).preview(THRESHOLD, 1)[0]


def first_plan(holders: pl.DataFrame, people: int, column: str) -> FirstPlan:
    """The longest plan that protects every value, or else as many values as two releases bear.

    ``holders`` has the ``people`` of every ``value``. A fifth of the people is left to spare, for
    later tables with more holders and for groups smaller than the whole table. Only where nothing
    at all can be protected for two releases, a single one is planned. Raises ``TableError`` if even
    that protects nothing.
    """
    held = holders.sort("people", "value", descending=[True, False])
    sizes = (int(people * (1 - SPARE)), people)
    for releases, within in ((FEWEST_RELEASES, sizes[0]), (1, sizes[0]), (1, sizes[1])):
        fitting = _fitting(held, releases, within)
        if not fitting.is_empty():
            longest = next(
                more
                for more in range(MOST_RELEASES, 0, -1)
                if more == releases or _fitting(fitting, more, within).height == fitting.height
            )
            excepted = held.head(held.height - fitting.height)
            return FirstPlan(people, longest, fitting["people"][0], dict(excepted.iter_rows()))
    raise TableError(
        f"no value of column {column!r} can be protected: each of them is held by more than half "
        "of the people",
        remedy="name another column with --sensitive COLUMN",
    )


def _fitting(held: pl.DataFrame, releases: int, people: int) -> pl.DataFrame:
    """The values that a plan for so many releases bears among so many people."""
    protected = [ProtectedValue(name, THRESHOLD) for name in held["value"]]
    ratio = ConstantRatio(releases).preview(THRESHOLD, 1)[0]
    base = np.full(held.height, ratio)
    unfit = excess_holders(protected, held["people"].to_numpy(), base, people, Fraction(0))
    return held.filter(
        ~pl.Series([number in unfit for number in range(held.height)], dtype=pl.Boolean)
    )
