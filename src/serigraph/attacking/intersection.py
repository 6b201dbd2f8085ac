"""Intersection: somebody who was among the suspects in every release is the one who stays.

The adversary knows who is in which group of which release, and that a value lasts: it is kept to
the next release with a given chance. From the counts of all groups it computes how probable it is
that each person was ever published as a holder. Ganta, Kasiviswanathan and Smith (KDD 2008);
Wong and others (2010) for values that change by a law.

Every way to come by the counts is weighed with the law. Where groups overlap so little that these
can be summed up, the chances are exact. Where they overlap too much, ways are drawn, and chances
have a standard error. Where draws get stuck, or nobody can tell in which group a person is since
regions overlap, weights fitted to the counts stand in for them: an approximation, which is good
enough to bet on and no more.

Measured: in each group that shows a value, the member most believed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.deduction import deduce
from serigraph.attacking.every_way import sum_every_way
from serigraph.attacking.evidence import Evidence, one_of_each
from serigraph.attacking.fitted_weights import fit_weights
from serigraph.attacking.links import Linked, linked_to
from serigraph.attacking.sampled_ways import sample_ways
from serigraph.attacking.scoring import Guesses, Risk, holding, together
from serigraph.short_repr import Undisclosed

_Chances = NDArray[np.float64]

_DIGITS = 9  # of a chance: people who are alike are believed in alike, and lots decide


@dataclass(frozen=True, repr=False)
class Beliefs(Undisclosed):
    """How probable it is that people were ever published as holders."""

    person: NDArray[np.int64]
    chance: NDArray[np.float64]
    error: NDArray[np.float64]  # standard error; 0: exact; not a number: an approximation


@dataclass(frozen=True)
class Intersection:
    """The attack on values that are kept with the chance ``keeps``."""

    name: str
    keeps: float
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if len(evidence.releases) < 2:
            return "it compares releases, and there is one"
        parts = []
        for value in range(len(evidence.values)):
            found = ever_published(evidence, value, self.keeps, draw)
            picked = np.zeros(len(found.person), dtype=np.bool_)
            for seen in evidence.releases:
                group = seen.group[found.person]
                linked = np.flatnonzero(seen.counts(value)[group])
                picked[linked[one_of_each(group[linked], found.chance[linked], draw)]] = True
            values = np.full(len(found.person), value)
            parts.append(
                holding(evidence, found.person, values, found.chance, picked, error=found.error)
            )
        return together(parts)


def ever_published(
    evidence: Evidence, value: int, keeps: float, draw: np.random.Generator
) -> Beliefs:
    """What to believe of the people who were ever in a group that showed the value."""
    linked = linked_to(evidence, value, keeps)
    chance, error = np.empty(len(linked.person)), np.zeros(len(linked.person))
    for number in range(linked.parts):
        own = slice(*linked.first_person[number : number + 2].tolist())
        chance[own], error[own] = _of_part(linked.part(number), draw)
    is_open = np.isnan(error)
    if is_open.any():
        chance[is_open] = fit_weights(linked)[is_open]
    order = np.argsort(linked.person)
    return Beliefs(linked.person[order], np.round(chance, _DIGITS)[order], error[order])


def _of_part(part: Linked, draw: np.random.Generator) -> tuple[_Chances, _Chances | float]:
    """The chances of the people of a part and their errors; not a number if they are to be fitted.

    Chains are not trusted with values that stay: each freezes in a state of its own, or all do in
    the same one, which need not be the likeliest.
    """
    unknown = np.full(len(part.person), np.nan), np.nan
    if not part.is_exact:
        return unknown
    exact = sum_every_way(part)
    if not np.isnan(exact).any():
        return exact, 0.0
    if part.law.is_permanent:
        deduced = deduce(part)
        return unknown if deduced is None else (deduced, 0.0)
    sampled = sample_ways(part, draw)
    if sampled is None or not sampled.has_mixed:
        return unknown
    return sampled.chance, sampled.error
