"""What a first policy can promise: for how many releases, and for which values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl

from serigraph.engines.suppression import excess_holders
from serigraph.errors import TableError
from serigraph.model import ProtectedValue
from serigraph.privacy.strategies import ConstantRatio
from serigraph.tables.cells import counted

THRESHOLD = Fraction(1, 2)
MOST_RELEASES = 20
FEWEST_RELEASES = 2  # one release is not a series
SPARE = Fraction(1, 5)  # share of people: at the limit, everybody would be in one group


@dataclass(frozen=True)
class FirstPlan:
    """The number of releases to plan for, and the values that cannot be protected."""

    people: int
    releases: int
    commonest: int  # people who hold the commonest of the protected values; 0 if none is protected
    excepted: dict[str, int]  # value -> people who hold it, commonest first
    persists: bool = False  # values are shown once, and no budget is divided among releases
    is_asked: bool = False  # for this number of releases

    @property
    def fewest(self) -> int:
        """Values that are not protected are too common even for so many releases."""
        if self.is_asked:
            return self.releases
        return 1 if self.persists else min(self.releases, FEWEST_RELEASES)

    @property
    def share_allowed(self) -> float:
        """The share of people who may hold a protected value."""
        return 1 / ConstantRatio(self.releases).preview(THRESHOLD, 1)[0]


def first_plan(
    holders: pl.DataFrame, people: int, column: str, *, asked: int = 0, persists: bool = False
) -> FirstPlan:
    """The plan of the only sensitive column, see ``first_plans``."""
    return first_plans({column: (holders, people)}, asked=asked, persists=persists)[column]


def first_plans(
    found: Mapping[str, tuple[pl.DataFrame, int]], *, asked: int = 0, persists: bool = False
) -> dict[str, FirstPlan]:
    """For each column the longest plan that protects every value, or else as many values as two
    releases allow; or a plan for the number of releases that is ``asked`` for.

    ``found`` has ``holders``, the number of ``people`` for every ``value``, and the number of all
    people, of each column. The plans have equally many releases; a column of which nothing fits
    shortens them only if nothing of the others does. A fifth of the people is kept in reserve, for
    later tables with more holders and for groups smaller than the whole table. Only if nothing can
    be protected for two releases is a single one planned. Where values persist, each is shown once,
    and has to fit a single release. Raises ``TableError`` if even that protects nothing.
    """
    asked = 0 if persists else asked
    for releases, share in _attempts(asked, persists=persists):
        plans = {
            name: _plan(held, people, releases, int(people * share), persists=persists)
            for name, (held, people) in found.items()
        }
        if not any(plan.commonest for plan in plans.values()):
            continue
        longest = asked or min(
            _longest(found[name][0], plan, int(plan.people * share))
            for name, plan in plans.items()
            if plan.commonest
        )
        return {
            name: replace(plan, releases=longest, is_asked=bool(asked))
            for name, plan in plans.items()
        }
    columns = ", ".join(map(repr, found))
    raise TableError(
        f"no value of column {columns} can be protected"
        + (f" in {counted(asked, 'release')}" if asked > 1 else "")
        + ": each is held by too many people",
        remedy="name another column with --sensitive COLUMN"
        + (", or plan for fewer releases" if asked > 1 else ""),
    )


def _attempts(asked: int, *, persists: bool) -> Iterator[tuple[int, Fraction]]:
    """Numbers of releases to plan for, each with the share of the people that may give cover."""
    if not persists:
        yield asked or FEWEST_RELEASES, 1 - SPARE
    yield asked or 1, 1 - SPARE
    yield asked or 1, Fraction(1)


def _plan(
    holders: pl.DataFrame, people: int, releases: int, within: int, *, persists: bool
) -> FirstPlan:
    """A plan that leaves out the values that do not fit, maybe all of them."""
    held = holders.sort("people", "value", descending=[True, False])
    fitting = _fitting(held, releases, within)
    excepted = held.head(held.height - fitting.height).select("value", "people")
    commonest = 0 if fitting.is_empty() else fitting["people"][0]
    return FirstPlan(people, releases, commonest, dict(excepted.iter_rows()), persists)


def _longest(holders: pl.DataFrame, plan: FirstPlan, within: int) -> int:
    """The most releases for which nothing more has to be left out."""
    fitting = holders.filter(~pl.col("value").is_in(list(plan.excepted)))
    return next(
        more
        for more in range(MOST_RELEASES, 0, -1)
        if more == plan.releases or _fitting(fitting, more, within).height == fitting.height
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
