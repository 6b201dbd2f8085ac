"""How many values are given up where more people hold one than any grouping bears."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engines.crowded import crowded
from model.settings import unhurried
from serigraph.engines.suppression import Counts, excess_holders, missing_holders


@unhurried
@given(st.integers(1, 60), st.integers(0, 60), st.floats(1.1, 12.0), st.fractions("1/20", "19/20"))
def test_a_value_that_does_not_fit_is_brought_clear_of_its_limit(
    holders: int, others: int, target: float, clearance: Fraction
) -> None:
    population = crowded(holders, others)
    people, base = holders + others, np.full(len(population.protected), target)
    counts = Counts.of(population)
    excess = excess_holders(population.protected, counts.holders, base, people, clearance)
    limit = people / target
    if holders <= limit:
        assert excess == {}
        return
    (left_out,) = excess.values()
    kept = holders - left_out
    assert 0 <= kept <= limit * float(1 - clearance) < kept + 1


def test_missing_holders_are_counted_by_value() -> None:
    whole = crowded(20, 20)
    places = np.flatnonzero(np.diff(whole.held_start))[:7]
    left = whole.without(places, np.zeros(7, dtype=np.int32))
    assert missing_holders(Counts.of(whole), Counts.of(left)) == {whole.protected[0].name: 7}
    assert missing_holders(Counts.of(whole), Counts.of(whole)) == {}
