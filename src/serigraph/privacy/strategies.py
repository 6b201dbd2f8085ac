"""How much of the budget a link may take: the strategies of Section 6, and the optimum of both.

A strategy asks for a ratio n/n_s for the next link of a pair of a person and a value, from the
links that the pair has had and the survival that they left. No strategy asks for less than
Theorem 1 does. With ``replan=False`` the ratios are the paper's, fixed before the first release;
with ``replan=True`` what was not spent so far, by rounding or by larger groups, goes to the
remaining links.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Protocol

from serigraph.privacy.ratios import (
    TargetRule,
    equal_ratio,
    log_of,
    minimum_ratio,
    rounded_up,
    smallest_constant_size,
    smallest_equal_size,
    smallest_size,
)
from serigraph.privacy.schedules import (
    SMALLEST_CHANCE,
    scheduled_ratios,
    spend,
)

__all__ = [
    "ConstantRatio",
    "Geometric",
    "OptimalSchedule",
    "Strategy",
    "TargetRule",
]

_LINKS_IN_RULE = 64  # by then a geometric ratio is beyond any population


class Strategy(Protocol):
    """What every strategy answers. A new one is a class with these methods, and a section in
    ``STRATEGIES`` of `serigraph.policy.strategy` that makes it."""

    @property
    def replan(self) -> bool:
        """Whether what was not spent so far goes to the remaining links."""

    def ratio(self, threshold: Fraction, links: int, survival: Fraction) -> float:
        """The ratio for the next link, rounded up to a float; infinite without budget."""

    def smallest_size(
        self, threshold: Fraction, links: int, survival: Fraction, count: int = 1
    ) -> int:
        """The smallest group that follows the plan; ``Infeasible`` without budget."""

    def rule(self, threshold: Fraction, name: str = "") -> TargetRule:
        """The strategy for a compiled kernel, for the value of this name."""

    def preview(self, threshold: Fraction, links: int) -> tuple[float, ...]:
        """The ratios of the first links, if each is exactly as asked."""

    def asks_the_same_of_everybody(self, releases: int) -> bool:
        """Whether links in this number of past releases leave every target as it was."""

    def describe(self) -> str:
        """The strategy in words."""

    def short_name(self) -> str:
        """The strategy, for the legend of a chart."""

    def gentler(self) -> str:
        """What to change so that the first link asks for less; empty where nothing is left."""

    def to_text(self) -> str:
        """The form that the ledger stores; it never changes for the same strategy."""


@dataclass(frozen=True, slots=True)
class ConstantRatio:
    """The same ratio n_c for each of k' links (Section 6.1): the least maximum, by Theorem 4.

    Differs from the paper: n_c is irrational in general, so that groups have at least this ratio
    and not exactly; and with ``replan`` the slack of the rounding is used by later links.

    >>> strategy = ConstantRatio(releases=2)
    >>> strategy.smallest_size(Fraction(1, 2), links=0, survival=Fraction(1))
    4
    >>> strategy.smallest_size(Fraction(1, 2), links=1, survival=Fraction(3, 4))
    3
    """

    releases: int  # k'
    replan: bool = True

    def __post_init__(self) -> None:
        if self.releases < 1:
            raise ValueError(f"a constant ratio needs at least one release, not {self.releases}")

    def ratio(self, threshold: Fraction, links: int, survival: Fraction) -> float:
        """The ratio for the next link: n_c, or 1 / (1 - Q^(1/(k' - links))) when re-planned.

        Q = (1 - threshold) / survival is what may still be spent; past k' links the pair gets what
        is left. Rounded up to a float; infinite where the budget is used up.

        >>> round(ConstantRatio(20, replan=False).ratio(Fraction(1, 2), 0, Fraction(1)), 4)
        29.3568
        >>> ConstantRatio(2).ratio(Fraction(1, 2), 1, Fraction(3, 4))
        3.0
        """
        minimum = rounded_up(minimum_ratio(threshold, survival))
        if minimum == math.inf:
            return math.inf
        if not self.replan:
            return max(minimum, equal_ratio(1 - threshold, self.releases))
        return equal_ratio((1 - threshold) / survival, self._links_left(links))

    def smallest_size(
        self, threshold: Fraction, links: int, survival: Fraction, count: int = 1
    ) -> int:
        """The smallest size that follows the plan, found in integers (Section 6.1, Theorem 1).

        Raises ``Infeasible`` where the budget is used up.

        >>> ConstantRatio(20).smallest_size(Fraction(1, 10), 0, Fraction(1))
        191
        """
        minimum = smallest_size(minimum_ratio(threshold, survival), count)
        if not self.replan:
            return max(minimum, smallest_constant_size(threshold, self.releases, count))
        return smallest_equal_size((1 - threshold) / survival, self._links_left(links), count)

    def rule(self, threshold: Fraction, name: str = "") -> TargetRule:
        """The strategy for a compiled kernel (Section 6.1): equal shares of what is left.

        >>> ConstantRatio(4).rule(Fraction(1, 2)).share_by_link
        (0.25, 0.3333333333333333, 0.5, 1.0)
        """
        if self.replan:
            return TargetRule((), tuple(1 / left for left in range(self.releases, 0, -1)), 1.0)
        return TargetRule((equal_ratio(1 - threshold, self.releases),), (), 1.0)

    def preview(self, threshold: Fraction, links: int) -> tuple[float, ...]:
        """The ratios of the first links, if each is exactly as asked (Section 6.1).

        After k' of them the budget is used up.

        >>> [round(ratio, 2) for ratio in ConstantRatio(2).preview(Fraction(1, 2), 3)]
        [3.41, 3.41, inf]
        """
        constant = equal_ratio(1 - threshold, self.releases)
        return tuple(constant if link < self.releases else math.inf for link in range(links))

    def asks_the_same_of_everybody(self, releases: int) -> bool:
        """Whether a pair's target is the same whatever its links in this number of past releases.

        It is while no pair can have had k' links, as long as all of them followed this plan.

        >>> ConstantRatio(20, replan=False).asks_the_same_of_everybody(19)
        True
        """
        return not self.replan and releases < self.releases

    def describe(self) -> str:
        """The strategy in words (Section 6.1).

        >>> ConstantRatio(20).describe(), ConstantRatio(1, replan=False).describe()
        ('constant ratio for 20 releases, re-planned', 'constant ratio for 1 release, as planned')
        """
        plural = "" if self.releases == 1 else "s"
        return f"constant ratio for {self.releases} release{plural}, {_manner(self.replan)}"

    def short_name(self) -> str:
        """The strategy, for the legend of a chart.

        >>> ConstantRatio(20).short_name(), ConstantRatio(20, replan=False).short_name()
        ('constant for 20', 'constant for 20 as planned')
        """
        return f"constant for {self.releases}{_shortly(self.replan)}"

    def gentler(self) -> str:
        """What to change so that the first link asks for less; empty where nothing is left.

        >>> ConstantRatio(20).gentler(), ConstantRatio(1).gentler()
        ('plan for fewer releases (releases in [strategy])', '')
        """
        return "plan for fewer releases (releases in [strategy])" if self.releases > 1 else ""

    def to_text(self) -> str:
        """The form that the ledger stores; it never changes for the same strategy.

        >>> ConstantRatio(20).to_text()
        'constant releases=20 replan=true'
        """
        return f"constant releases={self.releases} {_replan_text(self.replan)}"

    def _links_left(self, links: int) -> int:
        return max(self.releases - links, 1)


@dataclass(frozen=True, slots=True)
class Geometric:
    """A factor above the minimum ratio at each link (Section 6.2).

    Differs from the paper: its text sets the ratio equal to the factor times the minimum, which a
    group of whole people can only exceed. So ``replan=True`` goes by the survival that was really
    left, and ``replan=False`` by the closed form for ratios exactly as asked.

    >>> Geometric(Fraction(2)).smallest_size(Fraction(1, 2), links=1, survival=Fraction(3, 4))
    6
    """

    factor: Fraction  # alpha
    replan: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.factor, Fraction):
            raise TypeError(f"the factor must be a Fraction, not a {type(self.factor).__name__}")
        if self.factor <= 1:
            raise ValueError(
                f"the factor must be above 1, and {self.factor} is not: "
                "the minimum itself leaves nothing for a later link (Theorem 2)"
            )

    def ratio(self, threshold: Fraction, links: int, survival: Fraction) -> float:
        """The ratio for the next link (Section 6.2), rounded up to a float.

        Re-planned it is the factor times the minimum ratio, otherwise the closed form
        a (1 + (l - 1) (a / (a - 1))^links). Infinite where the budget is used up.

        >>> Geometric(Fraction(2)).ratio(Fraction(1, 2), 2, Fraction(5, 8))
        10.0
        """
        return rounded_up(self._asked(threshold, links, survival))

    def smallest_size(
        self, threshold: Fraction, links: int, survival: Fraction, count: int = 1
    ) -> int:
        """The smallest size that follows the plan, exactly (Section 6.2, Theorem 1).

        Raises ``Infeasible`` where the budget is used up.

        >>> Geometric(Fraction(3, 2)).smallest_size(Fraction(1, 2), 0, Fraction(1), count=3)
        9
        """
        return smallest_size(self._asked(threshold, links, survival), count)

    def rule(self, threshold: Fraction, name: str = "") -> TargetRule:
        """The strategy for a compiled kernel (Section 6.2); the closed form up to 64 links.

        >>> Geometric(Fraction(2)).rule(Fraction(1, 2)).factor
        2.0
        """
        if self.replan:
            return TargetRule((), (), rounded_up(self.factor))
        return TargetRule(self.preview(threshold, _LINKS_IN_RULE), (), 1.0)

    def preview(self, threshold: Fraction, links: int) -> tuple[float, ...]:
        """The ratios of the first links, if each is exactly as asked (Section 6.2).

        >>> Geometric(Fraction(2)).preview(Fraction(1, 2), 5)
        (4.0, 6.0, 10.0, 18.0, 34.0)
        """
        return tuple(rounded_up(self._closed_form(threshold, link)) for link in range(links))

    def asks_the_same_of_everybody(self, releases: int) -> bool:
        """Whether links in this number of past releases leave every target as it was."""
        return releases == 0

    def describe(self) -> str:
        """The strategy in words (Section 6.2).

        >>> Geometric(Fraction(5, 2)).describe()
        'geometric with factor 5/2, re-planned'
        """
        return f"geometric with factor {self.factor}, {_manner(self.replan)}"

    def short_name(self) -> str:
        """The strategy, for the legend of a chart.

        >>> Geometric(Fraction(2)).short_name()
        'geometric 2'
        """
        return f"geometric {self.factor}{_shortly(self.replan)}"

    def gentler(self) -> str:
        """What to change so that the first link asks for less.

        >>> Geometric(Fraction(2)).gentler()
        'lower the factor in [strategy]'
        """
        return "lower the factor in [strategy]"

    def to_text(self) -> str:
        """The form that the ledger stores; it never changes for the same strategy.

        >>> Geometric(Fraction(2)).to_text()
        'geometric factor=2 replan=true'
        """
        return f"geometric factor={self.factor} {_replan_text(self.replan)}"

    def _asked(self, threshold: Fraction, links: int, survival: Fraction) -> Fraction | float:
        minimum = minimum_ratio(threshold, survival)
        if isinstance(minimum, float):
            return minimum
        if self.replan:
            return self.factor * minimum
        return max(minimum, self._closed_form(threshold, links))

    def _closed_form(self, threshold: Fraction, links: int) -> Fraction:
        growth = self.factor / (self.factor - 1)
        return self.factor * (1 + (1 / threshold - 1) * growth**links)


@dataclass(frozen=True, slots=True)
class OptimalSchedule:
    """Ratios with r_j (r_j - 1) = c / w_j, which make the expected group size least.

    w_j is the chance that a pair is linked at least j times, as the policy gives it. Only the
    proportions of the chances matter.

    Differs from the paper: this is the optimum of which its two strategies are points. When
    re-planned, the log budget that is left is shared out in proportion to the planned spends of
    the remaining links, and the last link takes all.

    >>> strategy = OptimalSchedule((Fraction(1), Fraction(1, 4)))
    >>> strategy.smallest_size(Fraction(1, 2), links=0, survival=Fraction(1))
    3
    >>> strategy.smallest_size(Fraction(1, 2), links=1, survival=Fraction(2, 3))
    4
    """

    link_chances: tuple[Fraction | float, ...]  # w_1, w_2, ...
    replan: bool = True

    def __post_init__(self) -> None:
        chances = self.link_chances
        if not chances:
            raise ValueError("a schedule needs the chance of at least one link")
        for link, chance in enumerate(chances, 1):
            if not SMALLEST_CHANCE <= chance <= 1:
                raise ValueError(f"the chance of link {link} must lie in {SMALLEST_CHANCE:g}..1")
            if chance > chances[max(link - 2, 0)]:
                raise ValueError(
                    f"the chance of link {link} is above that of link {link - 1}: "
                    "a pair with more links had fewer before"
                )

    def ratio(self, threshold: Fraction, links: int, survival: Fraction) -> float:
        """The ratio for the next link, rounded up to a float; never below Theorem 1's.

        Past the last planned link the pair gets what is left. Infinite where the budget is used up.

        >>> OptimalSchedule((Fraction(1), Fraction(1, 4))).ratio(Fraction(1, 2), 1, Fraction(2, 3))
        4.0
        """
        return rounded_up(self._asked(threshold, links, survival))

    def smallest_size(
        self, threshold: Fraction, links: int, survival: Fraction, count: int = 1
    ) -> int:
        """The smallest size that follows the plan; never below Theorem 1's, which is exact.

        Raises ``Infeasible`` where the budget is used up.

        >>> OptimalSchedule((Fraction(1),)).smallest_size(Fraction(3, 10), 0, Fraction(1), count=3)
        10
        """
        return smallest_size(self._asked(threshold, links, survival), count)

    def rule(self, threshold: Fraction, name: str = "") -> TargetRule:
        """The strategy for a compiled kernel: the schedule, or the shares of what is left.

        >>> OptimalSchedule((Fraction(1), Fraction(1))).rule(Fraction(1, 2)).share_by_link
        (0.5, 1.0)
        """
        if self.replan:
            return TargetRule((), self._shares(threshold), 1.0)
        return TargetRule(self._planned(threshold), (), 1.0)

    def preview(self, threshold: Fraction, links: int) -> tuple[float, ...]:
        """The ratios of the first links, if each is exactly as asked.

        After the last planned one the budget is used up.

        >>> [round(ratio, 2) for ratio in OptimalSchedule((1.0, 0.25)).preview(Fraction(1, 2), 3)]
        [2.71, 4.83, inf]
        """
        planned = self._planned(threshold)[:links]
        return planned + (math.inf,) * (links - len(planned))

    def asks_the_same_of_everybody(self, releases: int) -> bool:
        """Whether links in this number of past releases leave every target as it was."""
        return releases == 0

    def describe(self) -> str:
        """The strategy in words.

        >>> OptimalSchedule((1.0, 0.25)).describe()
        'optimal schedule for 2 links, re-planned'
        """
        plural = "" if len(self.link_chances) == 1 else "s"
        links = f"{len(self.link_chances)} link{plural}"
        return f"optimal schedule for {links}, {_manner(self.replan)}"

    def short_name(self) -> str:
        """The strategy, for the legend of a chart.

        >>> OptimalSchedule((1.0, 0.25)).short_name()
        'schedule for 2'
        """
        return f"schedule for {len(self.link_chances)}{_shortly(self.replan)}"

    def gentler(self) -> str:
        """What to change so that the first link asks for less; empty where nothing is left.

        >>> OptimalSchedule((1.0, 0.25)).gentler()
        'plan for fewer links (link_chances in [strategy])'
        """
        is_one = len(self.link_chances) == 1
        return "" if is_one else "plan for fewer links (link_chances in [strategy])"

    def to_text(self) -> str:
        """The form that the ledger stores; it never changes for the same strategy.

        >>> OptimalSchedule((Fraction(1), 0.25)).to_text()
        'schedule link_chances=1,0.25 replan=true'
        """
        chances = ",".join(str(chance) for chance in self.link_chances)
        return f"schedule link_chances={chances} {_replan_text(self.replan)}"

    def _asked(self, threshold: Fraction, links: int, survival: Fraction) -> Fraction | float:
        minimum = minimum_ratio(threshold, survival)
        if minimum == math.inf:
            return minimum
        last = len(self.link_chances) - 1
        if not self.replan:
            return max(minimum, self._planned(threshold)[min(links, last)])
        if links >= last:
            return minimum
        log_kept = self._shares(threshold)[links] * log_of((1 - threshold) / survival)
        return max(minimum, -1 / math.expm1(log_kept)) if log_kept < 0 else math.inf

    def _planned(self, threshold: Fraction) -> tuple[float, ...]:
        return scheduled_ratios(threshold, self.link_chances)

    def _shares(self, threshold: Fraction) -> tuple[float, ...]:
        spends = [spend(ratio) for ratio in self._planned(threshold)]
        remaining = list(accumulate(reversed(spends)))[::-1]
        return tuple(now / left for now, left in zip(spends, remaining, strict=True))


def _manner(replan: bool) -> str:
    return "re-planned" if replan else "as planned"


def _shortly(replan: bool) -> str:
    return "" if replan else " as planned"


def _replan_text(replan: bool) -> str:
    return f"replan={'true' if replan else 'false'}"
