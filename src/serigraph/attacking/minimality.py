"""Minimality: the method is run in every world, and those that give other groups are struck off.

The adversary knows the method and everybody's quasi-identifiers, and tries whom it could have been
given. If the published groups come out in some worlds only, the people who hold the value in these
are suspected more. Wong and others (VLDB 2007); Cormode and others (VLDB 2010).

Measured on neighbourhoods of the real table: people near a holder, of whom one or two hold the
value, are grouped as a table of their own, and grouped again with every other choice of as many
holders. In each group that shows the value, the bet is on the member who holds it in most of the
worlds with the same groups and counts. Chance is n_s/n.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, Neighbourhood, Truth
from serigraph.attacking.scoring import Guesses, Risk, together

Regroup = Callable[[tuple[int, ...]], NDArray[np.int64]]
"""The groups of a neighbourhood if these of its people hold the value."""


@dataclass(frozen=True)
class Minimality:
    name: str = "minimality"
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if not evidence.neighbourhoods:
            return "the method is not known, or the tables are not given (--raw)"
        limit = float(max(evidence.thresholds, default=1))
        return together([_bets(each, limit, draw) for each in evidence.neighbourhoods])


def _bets(near: Neighbourhood, limit: float, draw: np.random.Generator) -> Guesses:
    groups, counts, weights = worlds_alike(len(near.person), near.holders, near.regroup)
    size = np.bincount(groups)
    place, believed = [], []
    for group in counts:
        members = np.flatnonzero(groups == group)
        belief = weights[members]
        best = draw.choice(np.flatnonzero(belief == belief.max()))
        place.append(int(members[best]))
        believed.append(float(belief[best]))
    chosen = np.array(place, dtype=np.int64)
    is_holder = np.isin(chosen, near.holders)
    chance = np.array([counts[int(groups[at])] / size[groups[at]] for at in place])

    def is_right(_truth: Truth) -> NDArray[np.bool_]:
        return is_holder

    return Guesses(
        person=near.person[chosen],
        value=np.full(len(chosen), near.number),
        believed=np.array(believed),
        picked=np.ones(len(chosen), dtype=np.bool_),
        threshold=np.full(len(chosen), limit),
        claimed=chance,
        is_right=is_right,
        by_chance=chance,
    )


def worlds_alike(
    people: int, holders: tuple[int, ...], regroup: Regroup
) -> tuple[NDArray[np.int64], Counter[int], NDArray[np.float64]]:
    """The groups that come out if ``holders`` hold the value, the holders in each, and how often
    each person holds it in the worlds with the same groups and counts."""
    published = _numbered(regroup(holders))
    counts = Counter(published[list(holders)].tolist())
    times, worlds = np.zeros(people), 0
    for others in _candidates(people, len(holders), published, counts):
        if np.array_equal(_numbered(regroup(others)), published):
            worlds += 1
            times[list(others)] += 1
    return published, counts, times / worlds


def _candidates(
    people: int, holders: int, groups: NDArray[np.int64], counts: Counter[int]
) -> Iterator[tuple[int, ...]]:
    """The worlds with the published counts; the method need not be run in others."""
    for others in combinations(range(people), holders):
        if Counter(groups[list(others)].tolist()) == counts:
            yield others


def _numbered(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same groups, numbered in the order of people."""
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]
