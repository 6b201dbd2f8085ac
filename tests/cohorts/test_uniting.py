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


def test_a_cohort_in_which_nobody_is_present_is_united_with_none() -> None:
    """Not even beside a transient value: who is away makes no difference at all."""
    ask_little = TargetRule((2.0,), (), 1.0)
    found = []
    for away in ([], range(8, 16), range(24, 40)):
        people = population(range(40), {3: ["t"]}, away=away, transient="t")
        units = Units.of(np.arange(40) // 8)
        group, _ = unite(people, units, Past.none(40), [ASKS_NOTHING, ask_little], known=0)
        found.append(group.tolist())
    assert len(set(found[0])) == 5
    assert found == [found[0]] * 3


def test_published_holders_of_another_value_give_no_room() -> None:
    people = population(range(40), {3: ["t"]}, transient="t")
    cohort = np.arange(40) // 8
    ask = TargetRule((7.0,), (), 1.0)
    sizes = []
    for shown in (None, np.array([4]), np.array([0, 0])):
        units = Units.of(cohort, shown)
        group, _ = unite(people, units, Past.none(40), [ASKS_NOTHING, ask], known=0)
        sizes.append(int((group == group[3]).sum()))
    # A cohort of eight has room for one holder who needs seven, also with one person less, and
    # not with two.
    assert sizes[0] == sizes[1] == 8
    assert sizes[2] > 8


def test_values_that_do_not_fit_are_named() -> None:
    people = population(range(40), {i: ["t"] for i in range(5)}, transient="t")
    units = Units.of(np.arange(40) // 8)
    _, too_many = unite(people, units, Past.none(40), [ASKS_NOTHING, ASKS], known=0)
    assert [people.protected[v].name for v in too_many] == ["t"]
