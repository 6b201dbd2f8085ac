"""Minimality: the method is run in every world, and those that give other groups are struck off.

The adversary knows the method and everybody's quasi-identifiers, and tries whom it could have been
given. If the published groups come out in some worlds only, the people who hold the value in these
are suspected more. Wong and others (VLDB 2007); Cormode and others (VLDB 2010).

Measured on neighbourhoods of the latest release: people near a holder, of whom one or two hold the
value, with the past that they had, are grouped as a table of their own, and grouped again with
every other choice of as many holders. In each group that shows the value, the bet is on the member
who holds it in most of the worlds with the same groups and counts. A holder, who knows of itself
alone, keeps those worlds in which it holds the value, and looks for the other one. Chance is n_s/n
of those not known. Groups that are dealt by lot, and unions of cohorts, are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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
    """By somebody who knows nobody's values, or by one of two holders."""

    name: str
    knows_itself: bool = False
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if isinstance(evidence.neighbourhoods, str):
            return evidence.neighbourhoods
        if not evidence.neighbourhoods:
            return "no neighbourhood can be published as a table of its own"
        limit = float(max(evidence.thresholds, default=1))
        parts = []
        for each in evidence.neighbourhoods:
            known = [int(draw.choice(each.holders))] if self.knows_itself else []
            if len(each.holders) > len(known):
                parts.append(_bets(each, known, limit, draw))
        return together(parts)


def _bets(
    near: Neighbourhood, known: Sequence[int], limit: float, draw: np.random.Generator
) -> Guesses:
    groups, worlds = worlds_alike(len(near.person), near.holders, near.regroup)
    weights = chances_to_hold(worlds, len(near.person), known)
    is_known = np.isin(np.arange(len(near.person)), known)
    counts = Counter(groups[[each for each in near.holders if each not in known]].tolist())
    place, believed, chance = [], [], []
    for group, count in counts.items():
        members = np.flatnonzero((groups == group) & ~is_known)
        belief = weights[members]
        best = draw.choice(np.flatnonzero(belief == belief.max()))
        place.append(int(members[best]))
        believed.append(float(belief[best]))
        chance.append(count / len(members))
    chosen = np.array(place, dtype=np.int64)
    is_holder = np.isin(chosen, near.holders)

    def is_right(_truth: Truth) -> NDArray[np.bool_]:
        return is_holder

    return Guesses(
        person=near.person[chosen],
        value=np.full(len(chosen), near.number),
        believed=np.array(believed),
        picked=np.ones(len(chosen), dtype=np.bool_),
        threshold=np.full(len(chosen), limit),
        claimed=np.array(chance),
        is_right=is_right,
        by_chance=np.array(chance),
    )


def worlds_alike(
    people: int, holders: tuple[int, ...], regroup: Regroup
) -> tuple[NDArray[np.int64], list[tuple[int, ...]]]:
    """The groups that come out if ``holders`` hold the value, and the holders of all worlds with
    the same groups and counts."""
    published = _numbered(regroup(holders))
    counts = Counter(published[list(holders)].tolist())
    worlds = [
        others
        for others in _candidates(people, len(holders), published, counts)
        if np.array_equal(_numbered(regroup(others)), published)
    ]
    return published, worlds


def chances_to_hold(
    worlds: Sequence[tuple[int, ...]], people: int, known: Sequence[int] = ()
) -> NDArray[np.float64]:
    """In which share of the worlds each person holds the value; of those worlds in which the
    ``known`` holders do."""
    left = [world for world in worlds if set(known) <= set(world)]
    times = np.bincount(np.array(left, dtype=np.int64).ravel(), minlength=people)
    found: NDArray[np.float64] = times / len(left)
    return found


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
