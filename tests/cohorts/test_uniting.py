"""Groups of whole cohorts."""

from __future__ import annotations

import numpy as np
import pytest

from cohorts.people import population
from serigraph.cohorts import Units, unite
from serigraph.model import Past
from serigraph.privacy.ratios import ASKS_NOTHING, TargetRule

ASKS = TargetRule((10.0,), (), 1.0)


@pytest.mark.parametrize("seed", range(10))
def test_a_group_has_whole_cohorts_and_enough_people(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = {i: [str(rng.choice(["s", "t"]))] for i in range(200) if rng.random() < 0.04}
    away = [i for i in range(200) if rng.random() < 0.5]
    people = population(range(200), held, away=away, transient="t", seed=seed)
    units = Units.of(np.arange(200) // 8)
    group, too_many = unite(people, units, Past.none(200), [ASKS_NOTHING, ASKS], known=1)
    assert not len(too_many)
    for number in range(int(group.max()) + 1):
        inside = group == number
        assert set(units.unit[inside]).isdisjoint(units.unit[~inside])
        holders = sum(held.get(i) == ["t"] and i not in away for i in np.flatnonzero(inside))
        assert not holders or inside.sum() - 1 >= 10 * holders


def test_without_transient_values_a_group_is_a_cohort() -> None:
    people = population(range(40), {3: ["s"]})
    units = Units.of(np.arange(40) // 8)
    group, _ = unite(people, units, Past.none(40), [ASKS_NOTHING], known=0)
    assert group.tolist() == units.unit.tolist()


def test_a_cohort_in_which_nobody_is_present_is_united_with_another() -> None:
    people = population(range(40), {3: ["s"]}, away=range(8, 16))
    units = Units.of(np.arange(40) // 8)
    group, _ = unite(people, units, Past.none(40), [ASKS_NOTHING], known=0)
    assert set(group[people.present]) == set(group)
    assert len(set(group)) == 4


def test_values_that_do_not_fit_are_named() -> None:
    people = population(range(40), {i: ["t"] for i in range(5)}, transient="t")
    units = Units.of(np.arange(40) // 8)
    _, too_many = unite(people, units, Past.none(40), [ASKS_NOTHING, ASKS], known=0)
    assert [people.protected[v].name for v in too_many] == ["t"]
