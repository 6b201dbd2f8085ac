"""How often pairs of a person and a value are linked, learned from a series that still goes on.

Counting links so far is not enough: a pair that was linked once, in the latest release, has had no
time to be linked again. So chances are estimated as in a life table. Every release since a pair's
i-th link is a trial, until link i + 1 comes; what has not happened yet may still happen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

PRIOR_TRIALS = 10  # that the expectation before any data counts for
_DIGITS = 6  # of a chance, as the ledger stores it


@dataclass(frozen=True)
class LinkGaps:
    """Releases between the links of pairs, by (number of the first link, releases): counts only.

    ``again`` counts pairs whose next link came that many releases later, ``waiting`` those that
    have gone that many releases without another link.
    """

    again: dict[tuple[int, int], int] = field(default_factory=dict)
    waiting: dict[tuple[int, int], int] = field(default_factory=dict)

    @staticmethod
    def of(rows: Iterable[tuple[int, int, bool, int]]) -> LinkGaps:
        """From rows of a link's number, releases, whether that is the last link, and pairs."""
        gaps = LinkGaps({}, {})
        for link, releases, is_last, pairs in rows:
            (gaps.waiting if is_last else gaps.again)[link, releases] = pairs
        return gaps


def learned_link_chances(gaps: LinkGaps, releases: int) -> tuple[float, ...]:
    """w_j, the chance that a pair is linked at least j times within ``releases`` releases, counted
    from its first link; for j = 1, ..., ``releases``.

    Waits are taken as independent given the number of the link. Without data every pair is
    expected to be linked in every release, so that the plan is a constant ratio.

    Differs from the paper: Section 6.2 suggests such a distribution, and gives no way to use it.

    >>> learned_link_chances(LinkGaps(), 3)
    (1.0, 1.0, 1.0)
    >>> learned_link_chances(LinkGaps(again={(1, 1): 490}, waiting={(1, 1): 500, (2, 0): 490}), 2)
    (1.0, 0.5)
    """
    if releases < 1:
        raise ValueError(f"a plan needs at least one release, not {releases}")
    at = [1.0] + [0.0] * (releases - 1)  # chance that link j comes this late after the first
    chances = [1.0]
    for hazards in relink_hazards(gaps, releases)[: releases - 1]:
        wait = _waits(hazards)
        at = [sum(at[t - d] * wait[d - 1] for d in range(1, t + 1)) for t in range(releases)]
        chances.append(round(min(sum(at), chances[-1]), _DIGITS))
    return tuple(max(chance, 10.0**-_DIGITS) for chance in chances)


def relink_hazards(gaps: LinkGaps, releases: int) -> list[list[float]]:
    """The chance that link i + 1 comes in the d-th release after link i, if it has not come before:
    entry [i - 1][d - 1], for links and waits that fit into ``releases``.

    Successes over trials, with ``PRIOR_TRIALS`` trials at the hazard of the release before, which
    is 1 at first. So waits longer than any seen continue as the longest did, and a link that nobody
    has had is expected to be followed by another at once.

    >>> relink_hazards(LinkGaps(waiting={(1, 1): 30}), 3)
    [[0.25, 0.25], [1.0, 1.0]]
    """
    found = []
    for link in range(1, releases):
        again = _by_gap(gaps.again, link, releases)
        ended = [a + w for a, w in zip(again, _by_gap(gaps.waiting, link, releases), strict=True)]
        trials = list(accumulate(reversed(ended)))[::-1]
        hazards = [1.0]
        for gap in range(1, releases):
            successes = again[gap] + PRIOR_TRIALS * hazards[-1]
            hazards.append(successes / (trials[gap] + PRIOR_TRIALS))
        found.append(hazards[1:])
    return found


def _by_gap(counts: dict[tuple[int, int], int], link: int, releases: int) -> list[int]:
    """Pairs by their wait after a link, those that waited for longer than the plan at the end."""
    found = [0] * (releases + 1)
    for (of_link, gap), pairs in counts.items():
        if of_link == link:
            found[min(gap, releases)] += pairs
    return found


def _waits(hazards: list[float]) -> list[float]:
    """The chance that an event comes after exactly 1, 2, ... releases."""
    unlinked = accumulate(hazards, lambda left, hazard: left * (1 - hazard), initial=1.0)
    return [left * hazard for left, hazard in zip(unlinked, hazards, strict=False)]
