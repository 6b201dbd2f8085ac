"""The strategy that spends the budget where people really come back.

At every release it estimates from the ledger how often a pair that is linked now will be linked
again in the releases that are left, and takes the share of the pair's budget that the schedule of
`serigraph.privacy.schedules` gives to the first of these links. Then the next release plans anew.

It looks at nothing but what is published: how many pairs were linked how often, how many people
there are, and how many of them hold a value now. Never at who holds it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from serigraph.privacy.link_chances import (
    FARTHEST,
    LinkGaps,
    link_chances,
    relink_hazards,
)
from serigraph.privacy.ratios import (
    TargetRule,
    log_of,
    minimum_ratio,
    rounded_up,
    smallest_size,
)
from serigraph.privacy.schedules import first_share, spend

AHEAD = 20  # releases that a series without an end plans for, at every release
LATER = 1 / 3  # what a later link counts for: groups are often larger than asked, and leave more
RESERVED = 0.01  # further links at least this probable are provided for
ROOM = 3  # times as many people as there are holders keep groups near the size that is asked for
_STEPS = 4  # of shares, between a share and its double


def largest_share(holders: int, people: int) -> float:
    """The share of people who may hold a value in a later release, if ``holders`` of ``people`` do
    now: two standard deviations more, and one. Rounded up, so that few shares differ.

    >>> largest_share(0, 1000), round(largest_share(100, 10_000), 4), largest_share(3, 3)
    (0.0, 0.0131, 1.0)
    """
    if not holders:
        return 0.0
    share = (holders + 2 * math.sqrt(holders) + 1) / people
    return float(min(1.0, 2.0 ** (math.ceil(math.log2(share) * _STEPS) / _STEPS)))


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The share of what is left that is best for the links to come, planned anew at every release.

    ``shares`` has the share of people who may hold each value, see ``largest_share``. It limits
    what a group can be asked for: a pair keeps enough for the further links that have to be
    expected, each in a group that the population can bear with room to spare, and is not asked for
    a larger one before its budget runs short. Then half of what is left is kept, as long as the
    population can bear the group that the other half asks for: nobody is locked out for having been
    linked too cheaply.

    Differs from the paper: its strategies are fixed before the first release.

    >>> strategy = Adaptive(releases=20)
    >>> strategy.smallest_size(Fraction(1, 2), links=0, survival=Fraction(1))
    4
    >>> Adaptive(releases=1).smallest_size(Fraction(1, 2), links=1, survival=Fraction(2, 3))
    4
    """

    releases: int | None  # of the whole series; None: it has no end
    links: LinkGaps = field(default_factory=LinkGaps)
    shares: Mapping[str, float] = field(default_factory=dict)
    _rules: dict[tuple[Fraction, float], TargetRule] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.releases is not None and self.releases < 1:
            raise ValueError(f"a plan needs at least one release, not {self.releases}")

    @property
    def replan(self) -> bool:
        """Always: what was not spent so far goes to the remaining links."""
        return True

    @property
    def left(self) -> int:
        """The releases that are planned for after the next one.

        A series that outlives its plan goes on as one without an end.

        >>> Adaptive(20).left, Adaptive(20, LinkGaps(releases=19)).left, Adaptive(None).left
        (19, 0, 20)
        """
        out = self.links.releases
        if self.releases is None or out >= self.releases:
            return AHEAD
        return min(self.releases - out - 1, FARTHEST)

    def ratio(self, threshold: Fraction, links: int, survival: Fraction) -> float:
        """The ratio for the next link, rounded up to a float; never below Theorem 1's.

        Infinite where the budget is used up.

        >>> Adaptive(releases=1).ratio(Fraction(1, 2), 1, Fraction(2, 3))
        4.0
        """
        return rounded_up(self._asked(threshold, links, survival))

    def smallest_size(
        self, threshold: Fraction, links: int, survival: Fraction, count: int = 1
    ) -> int:
        """The smallest size that follows the plan; never below Theorem 1's, which is exact.

        Raises ``Infeasible`` where the budget is used up.

        >>> Adaptive(releases=1).smallest_size(Fraction(3, 10), 0, Fraction(1), count=3)
        10
        """
        return smallest_size(self._asked(threshold, links, survival), count)

    def rule(self, threshold: Fraction, name: str = "") -> TargetRule:
        """The strategy for a compiled kernel, for the value of this name.

        >>> Adaptive(releases=1).rule(Fraction(1, 2)).share_by_link
        (1.0,)
        """
        key = threshold, self.shares.get(name, 0.0)
        if key not in self._rules:
            self._rules[key] = self._rule(*key, self.links.most + 1)
        return self._rules[key]

    def preview(self, threshold: Fraction, links: int) -> tuple[float, ...]:
        """The ratios of the first links, if each is exactly as asked, and as asked now.

        No pair can be linked more often than there are releases.

        >>> [round(ratio, 1) for ratio in Adaptive(releases=20).preview(Fraction(1, 2), 3)]
        [3.5, 6.3, 11.7]
        >>> Adaptive(releases=1).preview(Fraction(1, 2), 2)
        (2.0, inf)
        """
        rule = self._rule(threshold, self.shares.get("", 0.0), links)
        found = []
        left = -log_of(1 - threshold)
        most = self.links.releases + self.left + 1
        for link in range(links):
            spent = min(rule.spent(link, left), left) if link < most else 0.0
            found.append(-1 / math.expm1(-spent) if spent > 0 else math.inf)
            left -= spent
        return tuple(found)

    def asks_the_same_of_everybody(self, releases: int) -> bool:
        """Whether links in this number of past releases leave every target as it was."""
        return releases == 0

    def describe(self) -> str:
        """The strategy in words.

        >>> Adaptive(20).describe(), Adaptive(1).describe(), Adaptive(None).describe()
        ('adaptive for 20 releases', 'adaptive for 1 release', 'adaptive without an end')
        """
        if self.releases is None:
            return "adaptive without an end"
        return f"adaptive for {self.releases} release{'' if self.releases == 1 else 's'}"

    def short_name(self) -> str:
        """The strategy, for the legend of a chart.

        >>> Adaptive(20).short_name(), Adaptive(None).short_name()
        ('adaptive for 20', 'adaptive')
        """
        return "adaptive" if self.releases is None else f"adaptive for {self.releases}"

    def gentler(self) -> str:
        """What to change so that the first link asks for less; empty where nothing is left.

        >>> Adaptive(20).gentler(), Adaptive(1).gentler()
        ('plan for fewer releases (releases in [strategy])', '')
        """
        return "plan for fewer releases (releases in [strategy])" if self.left else ""

    def to_text(self) -> str:
        """The form that the ledger stores: what it learned follows from the releases before.

        >>> Adaptive(20).to_text(), Adaptive(None, LinkGaps(releases=3)).to_text()
        ('adaptive releases=20 after=0', 'adaptive releases=open after=3')
        """
        return f"adaptive releases={self.releases or 'open'} after={self.links.releases}"

    def _asked(self, threshold: Fraction, links: int, survival: Fraction) -> Fraction | float:
        minimum = minimum_ratio(threshold, survival)
        if minimum == math.inf:
            return minimum
        left = -log_of((1 - threshold) / survival)
        spent = self.rule(threshold).spent(links, left)
        return minimum if spent >= left else max(minimum, -1 / math.expm1(-spent))

    def _rule(self, threshold: Fraction, share: float, links: int) -> TargetRule:
        shares, further = self._shares(threshold, share, links)
        # Near the largest ratio that the population can bear, one needy person makes the groups of
        # all neighbours as large as the table. So some room is left, for half of the budget.
        budget = -log_of(1 - threshold)
        equal = budget / max(self.releases or 0, self.left + 1)
        half = budget / 2 / (further + 1)
        if not share:
            return TargetRule((), shares, 1.0)
        roomy = min(spend(1 / (ROOM * share)), max(equal, half))
        return TargetRule((), shares, 1.0, further * roomy, roomy, min(spend(1 / share), equal))

    def _shares(
        self, threshold: Fraction, share: float, links: int
    ) -> tuple[tuple[float, ...], int]:
        """The share of its budget that a pair spends on its first, second, ... link, if this is
        the one that is made now; and the most further links to keep something for."""
        hazards = relink_hazards(self.links, self.left, self._base(threshold, share))
        budget = -log_of(1 - threshold)
        found: list[float] = []
        further = min(self.left, 1)
        for link in range(1, links + 1):
            if link <= len(hazards):  # further on, all are alike
                chances = link_chances(hazards, link, self.left)
                further = max(further, sum(chance >= RESERVED for chance in chances) - 1)
            weights = [1.0, *(LATER * chance for chance in chances[1:])]
            found.append(first_share(budget, weights))
            budget *= 1 - found[-1]
        return tuple(found), further

    def _base(self, threshold: Fraction, share: float) -> float:
        """The chance of anybody to be linked to a value in a release: as often as so far, or at
        first in groups of the smallest size, half of whose people come back."""
        held = sum(self.shares.values())
        if self.links.releases:
            return min(1.0, self.links.rate * share / held) if held else 0.0
        return min(1.0, share / float(threshold))
