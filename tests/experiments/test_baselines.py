"""What came before: each keeps its own promise, and not the global one."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from serigraph.experiments import Simulation, built_in_source
from serigraph.experiments.baselines import anatomy, mondrian, unprotected
from serigraph.experiments.m_invariance import FIRST_COUNTERFEIT, Memory, m_invariant
from serigraph.experiments.run import run_series
from serigraph.experiments.setting import Setting, populations
from serigraph.model import Population
from serigraph.runtime.randomness import SeededRandomness

SOURCE = built_in_source(1_500)


def tables(*, single: bool, rounds: int = 4, change_rate: float = 0.2) -> list[Population]:
    simulation = Simulation(rounds=rounds, return_rate=0.6, change_rate=change_rate)
    setting = Setting("test", "", is_single_valued=single, simulation=simulation)
    return [each.subset(each.present) for each in populations(setting, SOURCE)]


def members(group: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(group == number) for number in np.unique(group)]


@pytest.mark.parametrize("diversity", [2, 5])
def test_mondrian_is_diverse_in_disjoint_regions(diversity: int) -> None:
    population = tables(single=False)[0]
    found = mondrian(population, diversity).group
    for people in members(found):
        held = Counter(
            int(value)
            for i in people
            for value in population.held[population.held_start[i] : population.held_start[i + 1]]
        )
        assert all(count * diversity <= len(people) for count in held.values())
    _, same = np.unique(population.codes, axis=1, return_inverse=True)
    for people in members(same.reshape(-1)):
        assert len(set(found[people].tolist())) == 1
    boxes = [
        (population.codes[:, people].min(axis=1), population.codes[:, people].max(axis=1))
        for people in members(found)
    ]
    low, high = (np.array(ends) for ends in zip(*boxes, strict=True))
    for number, (a, b) in enumerate(boxes):
        meets = ((low <= b) & (high >= a)).all(axis=1)
        assert np.flatnonzero(meets).tolist() == [number]


@pytest.mark.parametrize("diversity", [2, 4])
def test_anatomy_holds_no_value_twice_in_a_group(diversity: int) -> None:
    population = tables(single=True)[0]
    values = population.values.list.first().to_list()
    for people in members(anatomy(population, diversity, SeededRandomness(1)).group):
        assert len(people) >= diversity
        assert len({values[i] for i in people}) == len(people)


def test_without_protection_only_equal_people_are_together() -> None:
    population = tables(single=False)[0]
    for people in members(unprotected(population).group):
        assert (population.codes[:, people] == population.codes[:, people[:1]]).all()


def test_m_invariance_keeps_signatures_where_values_stay() -> None:
    memory, last = Memory({}), {}
    randomness = SeededRandomness(1)
    returned = 0
    value_of: dict[int, str] = {}
    for population in tables(single=True, change_rate=0.0):
        grouped, memory = m_invariant(population, 3, memory, randomness)
        shown = grouped.population
        ids, values = shown.ids.to_list(), shown.values.list.first().to_list()
        now = {}
        for people in members(grouped.group):
            signature = tuple(sorted(values[i] for i in people))
            assert len(signature) >= 3
            assert len(set(signature)) == len(signature)
            now |= {ids[i]: signature for i in people if ids[i] < FIRST_COUNTERFEIT}
        assert set(now) == set(population.ids.to_list())
        for person in set(now) & set(last):
            if values[ids.index(person)] == value_of[person]:
                returned += 1
                assert now[person] == last[person]
        last |= now
        value_of |= {ids[i]: values[i] for i in range(len(ids))}
        assert grouped.counterfeits == sum(each >= FIRST_COUNTERFEIT for each in ids)
    assert returned > 50


def test_they_break_the_global_guarantee_and_serigraph_does_not() -> None:
    simulation = Simulation(rounds=6, return_rate=0.6)
    largest = {}
    for way in ("none", "mondrian", "anatomy", "m-invariance", "serigraph"):
        setting = Setting(
            "test", way, way=way, is_single_valued=True, simulation=simulation, queries=50
        )
        summary = run_series(setting, SOURCE).summary
        largest[way] = summary["largest_p"]
        assert (summary["people_above_threshold"] > 0) == (way != "serigraph")
    assert largest["none"] == 1
    assert largest["serigraph"] <= Fraction(1, 2) < largest["mondrian"]
