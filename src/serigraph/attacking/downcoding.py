"""Downcoding: the shape of a region tells around whom it was drawn.

The adversary knows everybody's quasi-identifiers and the groups of a release. Groups that were
formed no larger than necessary have their holder at a place that can be predicted: in the middle,
if neighbours were collected around it, or at the edge, if it was added last. Cohen (USENIX
Security 2022) undoes minimal generalisation like this. That narrow regions also give away
quasi-identifiers is nothing new to this adversary, who knows them.

Measured: in each group that shows a value, the member nearest to the middle of its group, or the
one farthest from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, one_of_each
from serigraph.attacking.scoring import Guesses, Risk, holding, together


@dataclass(frozen=True)
class Downcoding:
    """Bets on the middle, or on the edge."""

    name: str
    is_middle: bool
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if evidence.codes is None:
            return (
                "it needs everybody's quasi-identifiers: give the tables (--raw) and the registry"
            )
        parts = []
        for j, seen in enumerate(evidence.releases):
            members = np.flatnonzero(seen.group >= 0)
            distance = np.zeros(evidence.people)
            distance[members] = from_middle(evidence.codes[:, members], seen.group[members])
            for value in range(len(evidence.values)):
                counts = seen.counts(value)
                person = np.flatnonzero(counts[seen.group])
                group = seen.group[person]
                away = distance[person]
                picked = np.zeros(len(person), dtype=np.bool_)
                picked[one_of_each(group, -away if self.is_middle else away, draw)] = True
                values = np.full(len(person), value)
                believed = counts[group] / seen.size[group]
                parts.append(holding(evidence, person, values, believed, picked, j))
        return together(parts)


def from_middle(codes: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far everybody is from the middle of its group, whose sides are of length 1."""
    found = np.zeros(len(group))
    groups = int(group.max(initial=-1)) + 1
    for column in codes.astype(np.float64):
        low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
        np.minimum.at(low, group, column)
        np.maximum.at(high, group, column)
        width = np.maximum(high - low, 1)
        found += ((column - (low + high)[group] / 2) / width[group]) ** 2
    return found
