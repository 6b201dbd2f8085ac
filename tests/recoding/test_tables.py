"""The two forms of a release and what they lose, on people that a reader can count by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grouping.cases import case, number_line
from grouping.naive import Person as Resident
from model.models import WIDTHS, Person, crowds, population_of, protected_names
from model.settings import unhurried
from serigraph.recoding import bucketised, generalised, normalised_widths
from serigraph.runtime.randomness import SeededRandomness


def alike(people: list[Person], group: list[int]) -> NDArray[np.bool_]:
    """Of each of three groups, whether its people are all alike."""
    cells = [{p.cells for p, g in zip(people, group, strict=True) if g == n} for n in range(3)]
    return np.array([len(each) < 2 for each in cells])


@unhurried
@given(crowds(), st.booleans(), st.data())
def test_bucketised_tables_hold_members_and_counts(
    people: list[Person], shows_absent: bool, data: st.DataObject
) -> None:
    numbers = st.integers(0, 2)
    group = data.draw(st.lists(numbers, min_size=len(people), max_size=len(people)))
    population = population_of(people, protected_names(people))
    is_point = alike(people, group) if data.draw(st.booleans()) else np.zeros(3, dtype=np.bool_)
    tables = bucketised(population, np.array(group), is_point, shows_absent, SeededRandomness(1))
    shown = {g for g, person in zip(group, people, strict=True) if person.present}
    assert Counter(tables["quasi_identifiers"].rows()) == Counter(
        (g, *person.cells)
        for g, person in zip(group, people, strict=True)
        if g in shown and (person.present or shows_absent)
    )
    assert {row[:2]: row[2] for row in tables["sensitive"].rows()} == Counter(
        (g, value) for g, person in zip(group, people, strict=True) for value in person.values
    )
    assert tables["quasi_identifiers"]["group"].is_sorted()


def test_generalised_rows_are_of_present_people_only() -> None:
    people = [
        Person((0, 0), True, frozenset("a")),
        Person((2, 1), False, frozenset()),
        Person((4, 2), True, frozenset("cd")),
    ]
    population = population_of(people, protected_names(people))
    low = np.array([[0, 0], [3, 0]], dtype=np.int32)
    high = np.array([[2, 2], [4, 2]], dtype=np.int32)
    made = generalised(population, np.array([0, 0, 1]), low, high, "s", SeededRandomness(1))
    # The absent member widens the region of the first; boxes are shown no wider than their people.
    assert sorted(made["table"].rows()) == [("4", "2", ["c", "d"]), ("[0, 2]", "[0, 1]", ["a"])]


def test_rows_come_in_an_order_that_says_nothing() -> None:
    people = [Person((i % 5, i % 3), True, frozenset("a" if i < 30 else "d")) for i in range(60)]
    population = population_of(people, protected_names(people))
    group = np.zeros(60, dtype=np.int64)
    orders = set()
    for seed in range(5):
        apart = np.zeros(1, dtype=np.bool_)
        tables = bucketised(population, group, apart, True, SeededRandomness(seed))
        orders.add(tuple(tables["quasi_identifiers"].rows()))
        box = np.zeros((1, 2), dtype=np.int32), np.array([[4, 2]], dtype=np.int32)
        table = generalised(population, group, *box, "s", SeededRandomness(seed))["table"]
        orders.add(tuple(map(tuple, table["s"].to_list())))
    assert len(orders) == 10


@unhurried
@given(crowds(), st.data())
def test_widths_are_those_of_the_groups(people: list[Person], data: st.DataObject) -> None:
    numbers = st.integers(0, 2)
    group = data.draw(st.lists(numbers, min_size=len(people), max_size=len(people)))
    population = population_of(people, protected_names(people))
    shown = {g for person, g in zip(people, group, strict=True) if person.present}
    expected = []
    for column, width in enumerate(WIDTHS):
        total = 0.0
        for g in (each for each in group if each in shown):
            mine = [p.cells[column] for p, other in zip(people, group, strict=True) if other == g]
            total += (max(mine) - min(mine)) / (width - 1)
        expected.append(total / max(sum(g in shown for g in group), 1))
    # Of groups in which all are alike it may be said that they are.
    for is_point in (np.zeros(3, dtype=np.bool_), alike(people, group)):
        assert normalised_widths(population, np.array(group), is_point) == pytest.approx(expected)


def test_widths_do_not_tell_how_groups_are_numbered() -> None:
    """They are published, and a sum in another order may differ in its last digit."""
    draw = np.random.default_rng(1)
    domains = [number_line(8), number_line(12)]
    codes = [(int(draw.integers(8)), int(draw.integers(12))) for _ in range(200)]
    people = [Resident(at, frozenset()) for at in codes]
    population = case(people, domains, [], []).population
    group, no_points = draw.integers(0, 40, 200), np.zeros(40, dtype=np.bool_)
    found = {
        tuple(normalised_widths(population, draw.permutation(40)[group], no_points).tolist())
        for _ in range(50)
    }
    assert len(found) == 1


def test_nobody_has_no_width() -> None:
    empty = population_of([], [])
    nobody, no_group = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    assert normalised_widths(empty, nobody, no_group).tolist() == [0.0, 0.0]
    assert isinstance(empty.ids, pl.Series)
