"""How often pairs of a person and a value are linked again, in a series that still goes on.

Counting links so far is not enough: a pair that was linked once, in the latest release, has had no
time to be linked again. So chances are estimated as in a life table. Every release since a pair's
i-th link is a trial, until link i + 1 comes; what has not happened yet may still happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

PRIOR_TRIALS = 10  # that the expectation before any data counts for
PRIOR_HAZARD = 0.5  # of a link just made; every release without another halves it
SMALLEST_CHANCE_OF_LINKS = 1e-7  # further links less probable than this are not planned for
FARTHEST = 40  # releases ahead that a plan looks
LEARNED_FROM = FARTHEST
"""How many of the latest releases a plan learns from: what a release costs must not grow with the
series, and people who were there long before say little of those who come back now."""


@dataclass(frozen=True)
class LinkGaps:
    """Releases between the links of pairs, by (number of the first link, releases), in the latest
    ``LEARNED_FROM`` releases: counts only.

    ``again`` counts pairs whose next link came that many releases later, ``waiting`` those that
    have gone that many releases without another link.
    """

    again: dict[tuple[int, int], int] = field(default_factory=dict)
    waiting: dict[tuple[int, int], int] = field(default_factory=dict)
    releases: int = 0  # that are out
    people: int = 0  # who were a member of one of the latest

    @staticmethod
    def of(
        rows: Iterable[tuple[int, int, bool, int]], releases: int = 0, people: int = 0
    ) -> LinkGaps:
        """From rows of a link's number, releases, whether that is the last link, and pairs."""
        gaps = LinkGaps({}, {}, releases, people)
        for link, gap, is_last, pairs in rows:
            (gaps.waiting if is_last else gaps.again)[link, gap] = pairs
        return gaps

    @property
    def links(self) -> int:
        """The links of all pairs."""
        return sum(self.again.values()) + sum(self.waiting.values())

    @property
    def most(self) -> int:
        """The links of the pair that had most."""
        return max((link for link, _ in self.waiting), default=0)

    @property
    def rate(self) -> float:
        """How many values a person is linked to in a release, on average."""
        chances = min(self.releases, LEARNED_FROM) * self.people
        return self.links / chances if chances else 0.0


def relink_hazards(gaps: LinkGaps, releases: int, base: float = 0.0) -> list[list[float]]:
    """The chance that link i + 1 comes in the d-th release after link i, if it has not come before:
    entry [i - 1][d - 1], for ``releases`` releases and one link more than any pair had.

    Successes over trials, with ``PRIOR_TRIALS`` trials at what was expected. For the first link
    that is half of the hazard of the release before, but not less than ``base``, the chance of any
    person to be linked; for a later one it is the hazard of the link before it.

    Differs from the paper: Section 6.2 suggests such a distribution, and gives no way to use it.

    >>> relink_hazards(LinkGaps(waiting={(1, 1): 30}), 2)
    [[0.0625, 0.03125], [0.0625, 0.03125]]
    """
    found: list[list[float]] = []
    for link in range(1, gaps.most + 2):
        again = _by_gap(gaps.again, link, releases)
        ended = [a + w for a, w in zip(again, _by_gap(gaps.waiting, link, releases), strict=True)]
        trials = list(accumulate(reversed(ended)))[::-1]
        hazards = [PRIOR_HAZARD]
        for gap in range(1, releases + 1):
            expected = found[-1][gap - 1] if found else max(hazards[-1] + base, 2 * base) / 2
            successes = again[gap] + PRIOR_TRIALS * min(expected, 1.0)
            hazards.append(successes / (trials[gap] + PRIOR_TRIALS))
        found.append(hazards[1:])
    return found


def link_chances(hazards: Sequence[Sequence[float]], link: int, releases: int) -> list[float]:
    """The chance that a pair whose link number ``link`` is made now has at least 0, 1, 2, ...
    further ones in the next ``releases`` releases; those that are next to impossible are left out.

    A dynamic programme: the chance that link i + 1 comes in release t is the sum, over all releases
    before it, of the chance that link i came there and was followed after this wait. Waits are
    independent given the number of the link; links beyond the last hazards are followed as the last
    one is.

    >>> [round(chance, 4) for chance in link_chances([[0.5, 0.5]], link=1, releases=2)]
    [1.0, 0.75, 0.25]
    """
    at = [1.0] + [0.0] * releases  # the chance that the link comes this many releases from now
    chances = [1.0]
    for number in range(link, link + releases):
        wait = _waits(hazards[min(number, len(hazards)) - 1])
        at = [
            sum(at[t - d] * wait[d - 1] for d in range(1, t + 1) if at[t - d])
            for t in range(releases + 1)
        ]
        if sum(at) < SMALLEST_CHANCE_OF_LINKS:
            break
        chances.append(min(sum(at), chances[-1]))
    return chances


def _by_gap(counts: dict[tuple[int, int], int], link: int, releases: int) -> list[int]:
    """Pairs by their wait after a link, those that waited for longer than the plan at the end."""
    found = [0] * (releases + 2)
    for (of_link, gap), pairs in counts.items():
        if of_link == link:
            found[min(gap, releases + 1)] += pairs
    return found


def _waits(hazards: Sequence[float]) -> list[float]:
    """The chance that an event comes after exactly 1, 2, ... releases."""
    unlinked = accumulate(hazards, lambda left, hazard: left * (1 - hazard), initial=1.0)
    return [left * hazard for left, hazard in zip(unlinked, hazards, strict=False)]
