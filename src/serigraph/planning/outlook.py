"""What a strategy requires: ratios, shares, and the exposures still left to the pairs."""

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
    """The share of people who hold a protected value, and the share that the strategy allows."""

    name: str
    share: float  # of people who hold it
    allowed: float

    @property
    def fits(self) -> bool:
        return self.share <= self.allowed * (1 + 1e-12)  # rounded like the engine


@dataclass(frozen=True)
class LinksLeft:
    """How many pairs of a person and a value can be linked this many more times."""

    links: int | None  # None: as many as planned, or more
    pairs: int


@dataclass(frozen=True)
class Outlook:
    """One strategy under one threshold: what it costs now and later."""

    name: str
    short_name: str
    threshold: str
    section: str  # for the policy file
    is_policy: bool
    releases: int  # ahead
    ratios: tuple[float, ...]  # n/n_s for the 1st, 2nd, ... link; infinite: used up
    largest_share: float  # of people who may hold a value
    unfit: tuple[ValueFit, ...]
    expected: tuple[Expected, ...]  # the next releases, rehearsed on a sample
    left: tuple[LinksLeft, ...]  # for pairs that are already linked

    @property
    def mean_size(self) -> float:
        """Over all rehearsed releases; infinite if none could be made."""
        sizes = [each.mean_size for each in self.expected]
        return sum(sizes) / len(sizes) if sizes else math.inf

    @property
    def suppressed_share(self) -> float:
        """Of the protected values held, over all releases; 1 for a release that cannot be made."""
        missing = self.releases - len(self.expected)
        return (sum(each.suppressed_share for each in self.expected) + missing) / self.releases

    @property
    def lost_precision(self) -> float:
        """Over all rehearsed releases; 1 if none could be made."""
        lost = [each.lost_precision for each in self.expected]
        return sum(lost) / len(lost) if lost else 1.0

    @property
    def alone_share(self) -> float:
        """Of the people, those alone in their group; over all rehearsed releases."""
        alone = [each.alone_share for each in self.expected]
        return sum(alone) / max(len(alone), 1)

    @property
    def needs_suppression(self) -> bool:
        return bool(self.unfit) or self.suppressed_share > 0


@dataclass(frozen=True)
class Cover:
    """The people of a release, as one group, and those of them whom the adversary knows."""

    people: int
    known: int = 0

    @property
    def left(self) -> int:
        """The people to choose from."""
        return max(self.people - self.known, 0)

    def largest_share(self, ratio: float) -> float:
        """The largest share of the people who may hold a value at a ratio."""
        return self.left / max(self.people, 1) / ratio


def fits(population: Population, candidate: Candidate, cover: Cover) -> tuple[ValueFit, ...]:
    """The share of each protected value and the share that the first link allows, largest first.

    Values with their own threshold keep it; the candidate's applies to all others.
    """
    holders = np.bincount(population.held, minlength=len(population.protected))
    found = [
        ValueFit(
            value.name,
            float(holders[number]) / max(cover.people, 1),
            cover.largest_share(
                candidate.strategy.rule(value.threshold, value.name).target(
                    float(value.threshold), 0, 1.0
                )
            ),
        )
        for number, value in enumerate(population.protected)
    ]
    return tuple(sorted(found, key=lambda each: (-each.share, each.name)))


def links_left(
    candidate: Candidate, stands: Standing | None, cover: Cover, releases: int
) -> tuple[LinksLeft, ...]:
    """How many more links the strategy allows the pairs of the ledger.

    A link counts as possible while its ratio does not exceed the people to choose from.
    """
    if stands is None:
        return ()
    ahead = candidate.strategy.preview(candidate.threshold, stands.links.shape[1] + releases)
    possible = sum(1 for ratio in ahead if ratio <= cover.left)
    counted: Counter[int | None] = Counter()
    for links, pairs in enumerate(stands.links.sum(axis=0).tolist()):
        if links and pairs:
            left = max(possible - links, 0)
            counted[left if left < releases else None] += pairs
    order = sorted(counted, key=lambda left: math.inf if left is None else left)
    return tuple(LinksLeft(left, counted[left]) for left in order)
