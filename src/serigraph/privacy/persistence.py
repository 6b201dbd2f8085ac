"""Whether the data contradict the assumption that releases are independent of each other.

Fix a value s and a release, and look at the people who come back in it. Some of them held s in the
last release that they were in: these *returned* with it. Of these, those who hold s again have
*kept* it. If releases were independent, what people held before would say nothing: given how many
of those who come back hold s now, any of them might be the holders, and the number of people who
keep s would be hypergeometric, with the mean

    returned * holders / back.

Two questions are asked, over all releases.

- *How strong is the dependence?* In the possible worlds of two releases, compare one in which the
  same person holds s twice with one in which two people hold it once each. If releases are
  independent, both count alike; otherwise the first weighs more, by the odds ratio of holding s
  before and holding it now. That is how much an adversary gains by comparing releases, whatever the
  share of holders. It is estimated over the releases as Mantel and Haenszel do.
- *Could it be luck?* A hypergeometric number is a sum of independent indicators (Vatutin and
  Mikhailov 1982), so Chernoff's bound holds for the sum over all releases, with the mean of all
  indicators (Hoeffding 1963, theorem 1). The true tail is smaller: luck is taken for persistence
  less often than stated.

Differs from the paper: it takes releases as independent and does not ask whether they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

MARGIN = 2
"""The largest odds ratio that passes. A value that holders keep with a chance q, and that is drawn
anew otherwise, has at least ((1 + q) / (1 - q))**2, whatever its share: 9/4 for q = 1/5."""

LUCK = Fraction(1, 1000)
"""What happens by luck with a smaller chance is not luck; over all values of a release together."""


@dataclass(frozen=True, slots=True)
class Return:
    """The people who come back in one release, and a value that some of them hold or held."""

    back: int  # people with a record, in this release and in an earlier one
    holders: int  # of these, in this release
    returned: int  # held the value in the last release that they were in
    kept: int  # of these, hold it again

    def __post_init__(self) -> None:
        others = self.back - self.returned
        if not (
            0 <= self.kept <= min(self.returned, self.holders)
            and 0 <= self.holders - self.kept <= others
        ):
            raise ValueError(f"these counts do not fit each other: {self}")


@dataclass(frozen=True, slots=True)
class Recurrence:
    """How often the holders of a value hold it again when they come back, over some releases."""

    returned: int
    kept: int
    expected: Fraction  # of these, if releases were independent
    odds_together: Fraction  # the odds ratio is this ...
    odds_apart: Fraction  # ... divided by this

    @staticmethod
    def of(returns: Iterable[Return]) -> Recurrence:
        """The sums over releases.

        >>> acute = Recurrence.of([Return(back=1000, holders=100, returned=50, kept=5)])
        >>> acute.share, acute.chance, acute.odds_ratio
        (Fraction(1, 10), Fraction(1, 10), Fraction(1, 1))
        """
        returned, kept = 0, 0
        expected = together = apart = Fraction(0)
        for each in returns:
            if not each.returned:
                continue
            others = each.back - each.returned
            others_holding = each.holders - each.kept
            returned += each.returned
            kept += each.kept
            expected += Fraction(each.returned * each.holders, each.back)
            together += Fraction(each.kept * (others - others_holding), each.back)
            apart += Fraction((each.returned - each.kept) * others_holding, each.back)
        return Recurrence(returned, kept, expected, together, apart)

    @property
    def share(self) -> Fraction | None:
        """The share of returned holders who keep the value; None if nobody has returned."""
        return Fraction(self.kept, self.returned) if self.returned else None

    @property
    def chance(self) -> Fraction | None:
        """The same, if releases were independent."""
        return self.expected / self.returned if self.returned else None

    @property
    def odds_ratio(self) -> Fraction | None:
        """None if it is unbounded or cannot be told."""
        return self.odds_together / self.odds_apart if self.odds_apart else None

    def luck(self) -> float:
        """An upper bound on the chance that as many keep the value if releases are independent.

        >>> pair = Recurrence.of([Return(back=100, holders=10, returned=2, kept=2)])
        >>> round(pair.luck(), 6)
        0.01
        """
        n, k, mean = self.returned, self.kept, float(self.expected)
        if k <= mean:
            return 1.0
        if not mean:
            return 0.0
        surprise = k * math.log(k / mean)
        if k < n:
            surprise += (n - k) * math.log((n - k) / (n - mean))
        return math.exp(-surprise)

    def is_telling(self, values: int = 1) -> bool:
        """Whether enough people have come back to find a value out that every fifth holder keeps.

        >>> few = Recurrence.of([Return(back=100, holders=10, returned=2, kept=0)])
        >>> many = Recurrence.of([Return(back=9000, holders=300, returned=250, kept=8)])
        >>> few.is_telling(), many.is_telling()
        (False, True)
        """
        if self.chance is None:
            return False
        kept = math.floor(self.returned * (self.chance + (1 - self.chance) / 5))
        return replace(self, kept=kept).luck() * max(values, 1) < LUCK

    def contradicts_independence(self, values: int = 1) -> bool:
        """Whether holders keep the value more often than chance, by the margin and beyond luck.

        ``values`` are looked at together; each has its part of the luck allowed.

        >>> chronic = Recurrence.of([Return(back=1000, holders=20, returned=16, kept=15)])
        >>> chronic.contradicts_independence()
        True
        >>> lucky = Recurrence.of([Return(back=100, holders=10, returned=2, kept=2)])
        >>> lucky.contradicts_independence()
        False
        """
        exceeds = self.odds_together > MARGIN * self.odds_apart
        return exceeds and self.luck() * max(values, 1) < LUCK
