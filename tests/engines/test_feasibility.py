"""How many values are given up where more people hold one than any grouping bears."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engines.crowded import crowded
from population.settings import unhurried
from serigraph.engines.feasibility import Counts, losses, overfull
from serigraph.randomness import SeededRandomness


@unhurried
@given(
    st.integers(1, 30),
    st.integers(0, 30),
    st.floats(1.1, 12.0),
    st.integers(0, 5),
)
def test_as_few_as_possible_and_no_fewer(
    holders: int, others: int, target: float, seed: int
) -> None:
    population = crowded(holders, others)
    base = np.full(len(population.protected), target)
    people = holders + others
    person, value = overfull(population, base, people, SeededRandomness(seed))
    allowed = math.floor(people / target * (1 + 1e-12))
    assert len(person) == max(holders - allowed, 0)
    assert len(set(person.tolist())) == len(person)
    assert all(population.protected[v].name == "c" for v in value.tolist())
    after = population.without(person, value)
    assert (np.bincount(after.held, minlength=1) * target <= people * (1 + 1e-9)).all()
    lost = losses(Counts.of(population), Counts.of(after))
    assert lost.values == lost.people == lost.holders.get("c", 0) == len(person)


def test_everybody_is_as_likely_to_be_given_up() -> None:
    population = crowded(20, 20)
    base = np.full(1, 4.0)  # 10 of 40 may stay
    times = np.zeros(40)
    for seed in range(2000):
        person, _ = overfull(population, base, 40, SeededRandomness(seed))
        times[person] += 1
    # Each of 20 holders goes in half of 2,000 draws; six standard deviations are 134.
    assert (np.abs(times[:20] - 1000) < 134).all()
    assert (times[20:] == 0).all()
