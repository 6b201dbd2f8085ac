"""What a strategy asks for: ratios, shares, and how much of the past it still leaves room for."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from serigraph.model import Population, Standing
from serigraph.planning.candidates import Candidate
from serigraph.planning.rehearsal import Expected


@dataclass(frozen=True)
class ValueFit:
    """A protected value and whether its share leaves room for the strategy."""

    name: str
    share: float  # of the people that hold it
    allowed: float

    @property
    def fits(self) -> bool:
        return self.share <= self.allowed * (1 + 1e-12)  # as the engine rounds


@dataclass(frozen=True)
class LinksLeft:
    """So many pairs of a person and a value can be linked so many more times."""

    links: int | None  # None: as many as are planned, and more
    pairs: int


@dataclass(frozen=True)
class Outlook:
    """One strategy under one threshold: what it costs now and later."""

    name: str
    short_name: str
    threshold: str
    section: str  # that a policy file needs to have it
    is_policy: bool
    releases: int  # ahead
    ratios: tuple[float, ...]  # n/n_s for the 1st, 2nd, ... link; infinite: used up
    largest_share: float  # that a value may have
    unfit: tuple[ValueFit, ...]
    expected: tuple[Expected, ...]  # the next releases, rehearsed on a sample
    left: tuple[LinksLeft, ...]  # for the pairs that were linked already

    @property
    def mean_size(self) -> float:
        """Over all rehearsed releases; infinite where none could be made."""
        sizes = [each.mean_size for each in self.expected]
        return sum(sizes) / len(sizes) if sizes else math.inf

    @property
    def suppressed_share(self) -> float:
        """Of the protected values held, over all releases; all of a release that cannot be made."""
        missing = self.releases - len(self.expected)
        return (sum(each.suppressed_share for each in self.expected) + missing) / self.releases

    @property
    def lost_precision(self) -> float:
        """Over all rehearsed releases; all where none could be made."""
        lost = [each.lost_precision for each in self.expected]
        return sum(lost) / len(lost) if lost else 1.0

    @property
    def needs_suppression(self) -> bool:
        return bool(self.unfit) or self.suppressed_share > 0


def fits(population: Population, candidate: Candidate, people: int) -> tuple[ValueFit, ...]:
    """The share of each protected value, and the share that the first link allows, largest first.

    A threshold of its own stays; the candidate's is for all others.
    """
    holders = np.bincount(population.held, minlength=len(population.protected))
    found = [
        ValueFit(
            value.name,
            float(holders[number]) / max(people, 1),
            1 / candidate.strategy.preview(value.threshold, 1)[0],
        )
        for number, value in enumerate(population.protected)
    ]
    return tuple(sorted(found, key=lambda each: (-each.share, each.name)))


def links_left(
    candidate: Candidate, stands: Standing | None, people: int, releases: int
) -> tuple[LinksLeft, ...]:
    """How many more links the pairs of the ledger have, by what the strategy plans for each.

    A link counts as possible while its ratio is no larger than the population.
    """
    if stands is None:
        return ()
    ahead = candidate.strategy.preview(candidate.threshold, stands.links.shape[1] + releases)
    possible = sum(1 for ratio in ahead if ratio <= people)
    counted: Counter[int | None] = Counter()
    for links, pairs in enumerate(stands.links.sum(axis=0).tolist()):
        if links and pairs:
            left = max(possible - links, 0)
            counted[left if left < releases else None] += pairs
    order = sorted(counted, key=lambda left: math.inf if left is None else left)
    return tuple(LinksLeft(left, counted[left]) for left in order)
