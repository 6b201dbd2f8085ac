"""Parts of a population, and a population after suppression, against plain Python."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.models import (
    CLASSES,
    VALUES,
    PastGroup,
    Person,
    crowds,
    history_of,
    pasts,
    population_of,
    protected_names,
)
from model.settings import unhurried
from serigraph.errors import ImpossibleState
from serigraph.model import CodedValues, Population


def assert_same(found: Population, expected: Population) -> None:
    assert found.ids.to_list() == expected.ids.to_list()
    assert found.values.to_list() == expected.values.to_list()
    assert found.values.dtype == expected.values.dtype
    assert found.protected == expected.protected
    for name in ("present", "codes", "held_start", "held"):
        a, b = getattr(found, name), getattr(expected, name)
        assert a.dtype == b.dtype
        assert np.array_equal(a, b), name


@unhurried
@given(crowds(), st.data())
def test_a_subset_is_the_same_as_fewer_people(people: list[Person], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(people), max_size=len(people)))
    names = protected_names(people)
    places = [number for number, stays in enumerate(kept) if stays]
    assert_same(
        population_of(people, names).subset(np.array(kept, dtype=np.bool_)),
        population_of([people[number] for number in places], names, places=places),
    )


@unhurried
@given(crowds(), st.data())
def test_suppression_leaves_no_trace(people: list[Person], data: st.DataObject) -> None:
    names = protected_names(people)
    population = population_of(people, names)
    holder = np.repeat(np.arange(len(people)), np.diff(population.held_start))
    pairs = list(zip(holder.tolist(), population.held.tolist(), strict=True))
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([]))

    expected = []
    for number, person in enumerate(people):
        taken = {
            value
            for place, index in chosen
            if place == number
            for value in CLASSES.get(names[index], (names[index],))
        }
        left = person.values - taken
        # Whoever had no value keeps an empty record; whoever lost the last one has none.
        is_there = person.present and (bool(left) or not taken)
        expected.append(Person(person.cells, is_there, left))
    found = population.without(
        np.array([person for person, _ in chosen], dtype=np.int64),
        np.array([value for _, value in chosen], dtype=np.int32),
    )
    assert_same(found, population_of(expected, names))
    assert_same(population, population_of(people, names))  # what was given has not changed


@unhurried
@given(crowds(), st.data())
def test_the_history_of_a_subset(people: list[Person], data: st.DataObject) -> None:
    releases = data.draw(pasts(len(people)))
    kept = data.draw(st.lists(st.booleans(), min_size=len(people), max_size=len(people)))
    names = [*VALUES[:3], *CLASSES]
    places = {old: new for new, old in enumerate(n for n, stays in enumerate(kept) if stays)}
    fewer = [
        [
            PastGroup(
                frozenset(places[i] for i in group.members if i in places), group.size, group.counts
            )
            for group in release
        ]
        for release in releases
    ]
    found = history_of(len(people), names, releases).subset(np.array(kept, dtype=np.bool_))
    expected = history_of(len(places), names, fewer)
    assert np.array_equal(found.group, expected.group)
    for name in ("start", "exposure", "value", "count", "size"):
        assert np.array_equal(getattr(found.held, name), getattr(expected.held, name))


def test_arrays_that_do_not_fit_each_other_are_no_population() -> None:
    population = population_of([Person((0, 0), True, frozenset("a"))] * 2, ["a", "k"])
    with pytest.raises(ImpossibleState):
        Population(**{**vars(population), "present": population.present[:1]})


def test_values_have_codes_however_many_there_are() -> None:
    names = [f"{number:06}" for number in range(70_000)]
    values = CodedValues.of(pl.Series([[name] for name in reversed(names)]))
    assert values.names.gather(values.code).to_list() == names[::-1]
