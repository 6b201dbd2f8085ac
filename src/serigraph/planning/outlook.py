"""What a strategy asks for: ratios, shares, and how much of the past it still leaves room for."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from serigraph.planning.candidates import Candidate
from serigraph.planning.rehearsal import Expected
from serigraph.population import Population, Standing


@dataclass(frozen=True)
class ValueFit:
    """A protected value and whether its share leaves room for the strategy."""

    name: str
    share: float  # of the people that hold it
    allowed: float

    @property
    def fits(self) -> bool:
        return self.share <= self.allowed


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
    is_policy: bool
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
        shares = [each.suppressed_share for each in self.expected]
        return sum(shares) / len(shares) if shares else 1.0


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
