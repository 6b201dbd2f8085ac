"""Groups of whole cohorts: as many cohorts together as transient values need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.cohorts.cutting import Held, Space, cut_counting, unfit
from serigraph.model import Past, Population
from serigraph.privacy.ratios import TargetRule


@dataclass(frozen=True)
class Units:
    """Cohorts as they are in a release, numbered from 0 on."""

    unit: NDArray[np.int64]  # of each person
    size: NDArray[np.int64]  # people of each unit who count as cover of a transient value

    @property
    def number(self) -> int:
        return len(self.size)

    @staticmethod
    def of(
        cohort: NDArray[np.int64],
        shown: NDArray[np.int64] | None = None,
        full: NDArray[np.int64] | None = None,
    ) -> Units:
        """From the cohort of each person. Where everybody has one value, ``shown`` has the cohorts
        of those who were published as holders of a value that persists: they hold no other.

        Nobody of the cohorts that are ``full`` counts: further holders may be withheld, and then
        fewer of their members have a record than of others.
        """
        distinct, unit, people = np.unique(cohort, return_inverse=True, return_counts=True)
        if full is not None:
            people[np.isin(distinct, full)] = 0
        if shown is None:
            return Units(unit, people)
        # Those who retired count too: which members did is for nobody to know.
        held = np.bincount(shown, minlength=int(distinct.max(initial=-1)) + 1)[distinct]
        return Units(unit, np.maximum(people - held, 0))


def unite(
    population: Population,
    units: Units,
    past: Past,
    rules: Sequence[TargetRule],
    known: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """A group for everybody, made of whole units; and the values that do not fit even if everybody
    is in one group, if there are any.

    ``rules`` are those of the protected values; a value that persists asks for nothing. Members of
    a unit have the same past. Units are united for nothing else than room for transient values,
    wherever the holders are: a union for the sake of one unit would tell about the others.
    """
    asks = np.array([not value.persists for value in population.protected], dtype=np.bool_)
    asked = np.flatnonzero(asks)
    if not np.isin(population.held, asked).any():
        return units.unit, np.empty(0, dtype=np.int32)
    held = _held(population, units, asks, _needs(population, units, past, rules, asked))
    too_many = unfit(held, known)
    if len(too_many):
        return units.unit, asked[too_many].astype(np.int32)
    space = Space.of(population).centres(units.unit, units.number)
    return cut_counting(space, held, known)[units.unit], np.empty(0, dtype=np.int32)


def _held(
    population: Population, units: Units, asks: NDArray[np.bool_], need: NDArray[np.float64]
) -> Held:
    """What each unit holds of the values that ask for something, numbered among themselves."""
    number = np.cumsum(asks) - 1
    values = max(int(asks.sum()), 1)
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    is_asked = asks[population.held]
    key = units.unit[holder[is_asked]] * values + number[population.held[is_asked]]
    distinct, count = np.unique(key, return_counts=True)
    unit, value = np.divmod(distinct, values)
    return Held(
        size=units.size,
        start=np.searchsorted(unit, np.arange(units.number + 1)).astype(np.int64),
        value=value.astype(np.int32),
        holders=count.astype(np.int64),
        need=need,
    )


def _needs(
    population: Population,
    units: Units,
    past: Past,
    rules: Sequence[TargetRule],
    asked: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The target of each unit for each value asked for; a single row where nobody has a past."""
    kinds = [(rules[v], float(population.protected[v].threshold)) for v in asked.tolist()]
    if not past.releases or not (past.group >= 0).any():
        return np.array([[rule.target(threshold, 0, 1.0) for rule, threshold in kinds]])
    one = np.zeros(units.number, dtype=np.int64)
    one[units.unit] = np.arange(population.size)
    unit, _, exposure = past.subset(one).exposures(slice(None))
    number = np.full(len(population.protected), -1)
    number[asked] = np.arange(len(asked))
    value = number[past.held.value[exposure]]
    unit, value, exposure = unit[value >= 0], value[value >= 0], exposure[value >= 0]
    survival = np.ones((units.number, len(asked)))
    links = np.zeros((units.number, len(asked)), dtype=np.int64)
    np.multiply.at(survival, (unit, value), past.held.survival[exposure])
    np.add.at(links, (unit, value), 1)
    need = np.empty_like(survival)
    for v, (rule, threshold) in enumerate(kinds):
        states, place = np.unique(
            np.column_stack([links[:, v], survival[:, v]]), axis=0, return_inverse=True
        )
        targets = [rule.target(threshold, int(link), left) for link, left in states.tolist()]
        need[:, v] = np.array(targets)[place]
    return need
