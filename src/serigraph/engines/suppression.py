"""Suppression, the last resort: which values are left out, and what their absence costs.

How many holders of a value are left out depends on counts alone, and who they are is drawn at
random, before any group is formed. So groups say nothing about what is missing, and nothing that is
missing says where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from serigraph.engines.feasibility import excess_holders
from serigraph.engines.interface import Plan
from serigraph.grouping import Demand
from serigraph.model import Population, ProtectedValue
from serigraph.privacy.gaps import gap_risk, threshold_left
from serigraph.runtime.randomness import Randomness, shuffled


class TellingGaps(Exception):
    """What is missing would tell more about somebody than a threshold allows."""

    def __init__(self, population: Population) -> None:
        super().__init__()
        self.population = population  # as far as it got


def demand_of(protected: Sequence[ProtectedValue], plan: Plan) -> Demand:
    """What the plan asks of every group."""
    return Demand(
        rules=tuple(plan.strategy.rule(value.threshold) for value in protected),
        minimum_size=plan.minimum_size,
        interleave=plan.form == "bucketised",
    )


def thinned(
    whole: Population, population: Population, plan: Plan, randomness: Randomness
) -> Population:
    """The population without the holders of a value that are too many for any grouping of it.

    ``whole`` is the population before anything was suppressed. What its gaps cost is charged to the
    thresholds; ``TellingGaps`` where that leaves nothing of one.
    """
    while True:
        population = charged(whole, population)
        base = demand_of(population.protected, plan).base_targets(population)
        # Where presence is known, people who lose their record give the others no more cover.
        people = len(population.values) if plan.is_presence_known else population.size
        holders = np.bincount(population.held, minlength=len(base))
        excess = excess_holders(population.protected, holders, base, people, plan.clearance)
        if not excess:
            return population
        person, value = _drawn(population, excess, randomness)
        population = population.without(person, value)


def withdrawn(population: Population, values: NDArray[np.int32]) -> Population:
    """The population without any holder of some values."""
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    is_held = np.isin(population.held, values)
    return population.without(holder[is_held], population.held[is_held])


def charged(whole: Population, population: Population) -> Population:
    """The population with what its gaps leave of the thresholds; see `serigraph.privacy.gaps`."""
    if population is whole:
        return population
    records, without_record = len(population.values), population.size - len(population.values)
    values = len(whole.protected)
    before = _pairs(whole, np.arange(whole.size))
    now = _pairs(population, whole.ids.search_sorted(population.ids).to_numpy())
    person, value = np.divmod(np.setdiff1d(before, now, assume_unique=True), max(values, 1))
    without_record += whole.size - population.size
    has_record = np.zeros(whole.size, dtype=np.bool_)
    has_record[whole.ids.search_sorted(population.ids).to_numpy()] = population.present
    no_progress = np.bincount(value[has_record[person]], minlength=values)
    missing = np.bincount(value, minlength=values)
    holders = np.bincount(population.held, minlength=values)
    is_visible = without_record == whole.present.sum() - records  # nobody else is absent
    protected = []
    for number, each in enumerate(whole.protected):
        risk = gap_risk(
            without_record=without_record,
            missing_without_record=int(missing[number] - no_progress[number]),
            silent=records - int(holders[number]),
            missing_silently=int(no_progress[number]),
        )
        if risk > each.threshold:
            raise TellingGaps(population)
        if is_visible or holders[number] or _is_told_by_a_class(each, whole.protected, holders):
            each = replace(each, threshold=threshold_left(each.threshold, 1 - risk))
        if each.threshold <= 0:
            raise TellingGaps(population)
        protected.append(each)
    return replace(population, protected=tuple(protected))


def _is_told_by_a_class(
    value: ProtectedValue, protected: Sequence[ProtectedValue], holders: NDArray[np.int64]
) -> bool:
    """Whether a class that the release shows counts the missing holders of a value."""
    return any(
        value.name in other.stands_for and holders[number] > 0
        for number, other in enumerate(protected)
    )


def _drawn(
    population: Population, excess: dict[int, int], randomness: Randomness
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Pairs (person, value) to give up: so many holders of each value, at random."""
    person = np.repeat(np.arange(population.size), np.diff(population.held_start))
    persons: list[NDArray[np.int64]] = []
    values: list[NDArray[np.int32]] = []
    for value, number in excess.items():
        holding = person[population.held == value]
        persons.append(holding[shuffled(len(holding), randomness)[:number]])
        values.append(np.full(number, value, dtype=np.int32))
    return np.concatenate(persons), np.concatenate(values)


def _pairs(population: Population, place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every (person, protected value) as one number; persons by their places elsewhere."""
    holder = np.repeat(place, np.diff(population.held_start))
    return holder * max(len(population.protected), 1) + population.held
