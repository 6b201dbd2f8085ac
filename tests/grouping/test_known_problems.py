"""Problems whose solution is known."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from grouping.cases import case, number_line
from grouping.naive import PastGroup, Person, is_run_of_siblings, unbearable_values
from serigraph.grouping import Method
from serigraph.model import Domain, Taxonomy
from serigraph.privacy import ConstantRatio

HALF = Fraction(1, 2)
METHODS: list[Method] = ["top-down", "bottom-up"]


@pytest.mark.parametrize("interleave", [False, True])
def test_a_violating_group_is_not_rescued_by_its_parts(interleave: bool) -> None:
    """The paper's corollary says that one of the parts violates too. That is wrong: to split off
    the person with a past of 9 in 20 would do. But it would do only while s is held by c or by its
    neighbour, and so the split would tell that."""
    a, b, s, c = range(4)
    past = (PastGroup(20, {s: 9}),)
    held = [a, b, s, c]
    people = [
        Person((place,), frozenset({value}), past if place == 0 else ())
        for place, value in enumerate(held)
    ]
    problem = case(
        people,
        [number_line(4)],
        [ConstantRatio(1)] * 4,
        [HALF] * 4,
        interleave=interleave,
    )
    assert unbearable_values(people, problem.strategies, problem.thresholds, 0) == {s}
    for part in (people[:2], people[2:]):
        assert unbearable_values(part, problem.strategies, problem.thresholds, 0) == set()
    assert problem.unbearable() == {s}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("interleave", [False, True])
def test_whoever_has_no_protected_value_nearby_stays_as_it_is(
    method: Method, interleave: bool
) -> None:
    people = [Person((place,), frozenset({0} if place == 5 else ())) for place in range(40)]
    problem = case(
        people,
        [number_line(40)],
        [ConstantRatio(2)],
        [HALF],
        method=method,
        interleave=interleave,
    )
    size = np.bincount(problem.groups().group)
    assert sorted(size.tolist())[-1] in range(4, 8)
    assert sorted(size.tolist())[-2] == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("interleave", [False, True])
def test_a_need_that_shrank_is_enough_where_everybody_has_a_past(
    method: Method, interleave: bool
) -> None:
    """At 1/2 and two releases: four people at first, three the second time."""
    past = (PastGroup(4, {0: 1}),)
    people = [Person((place,), frozenset({0} if place == 1 else ()), past) for place in range(3)]
    problem = case(
        people,
        [number_line(3)],
        [ConstantRatio(2)],
        [HALF],
        method=method,
        interleave=interleave,
    )
    assert problem.unbearable() == set()
    assert np.bincount(problem.groups().group).tolist() == [3]


@pytest.mark.parametrize("method", METHODS)
def test_dealing_looks_at_nobodys_place(method: Method) -> None:
    """A cell that is too small to cut is dealt alike wherever its people are."""
    draw = np.random.default_rng(1)
    held = [frozenset({int(value)}) for value in draw.integers(0, 12, 30)]
    grouped = []
    for places in (draw.permutation(30), draw.permutation(30)):
        people = [Person((int(at),), values) for at, values in zip(places, held, strict=True)]
        problem = case(
            people,
            [number_line(30)],
            [ConstantRatio(10)] * 12,
            [HALF] * 12,
            method=method,
            interleave=True,
            minimum_size=16,
        )
        grouped.append(problem.groups().group.tolist())
    assert grouped[0] == grouped[1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("elsewhere", [0, 20])
def test_regions_are_runs_of_siblings_where_branches_are_empty_or_nearly_so(
    method: Method, elsewhere: int
) -> None:
    """Next to everybody lives in one branch, so that a sample sees no other."""
    places = [f"{branch}{leaf}" for branch in "abcd" for leaf in range(5)]
    taxonomy = Taxonomy.from_rows([[place, place[0], "*"] for place in places])
    domain = Domain("place", "categorical", pl.Series(places), taxonomy)
    at = [number % 5 for number in range(900)] + [18] * elsewhere
    people = [Person((place,), frozenset({number % 30})) for number, place in enumerate(at)]
    problem = case(
        people,
        [domain],
        [ConstantRatio(2)] * 30,
        [HALF] * 30,
        method=method,
        interleave=False,
    )
    grouping = problem.groups()
    assert grouping.groups > 1
    for low, high in zip(grouping.low[:, 0].tolist(), grouping.high[:, 0].tolist(), strict=True):
        assert is_run_of_siblings(low, high, taxonomy.paths)
