"""Taking protected values away from people: no trace stays, and nobody else is touched."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl

from serigraph.model import Domain, Population, ProtectedValue

FLU, GOUT, ANY = 0, 1, 2


def population() -> Population:
    half = Fraction(1, 2)
    return Population(
        ids=pl.Series([1, 2, 3, 4]),
        present=np.array([True, True, True, False]),
        domains=(Domain("age", "numeric", pl.Series([20, 30, 40, 50])),),
        codes=np.array([[0, 1, 2, 3]], dtype=np.int32),
        protected=(
            ProtectedValue("flu", half),
            ProtectedValue("gout", half),
            ProtectedValue("some illness", half, ("flu", "gout")),
        ),
        held_start=np.array([0, 3, 5, 5, 5]),
        held=np.array([FLU, GOUT, ANY, FLU, ANY], dtype=np.int32),
        values=pl.Series([["flu", "gout"], ["flu"], []], dtype=pl.List(pl.String)),
        digest="",
    )


def without(*pairs: tuple[int, int]) -> Population:
    person, value = zip(*pairs, strict=True)
    return population().without(np.array(person), np.array(value, dtype=np.int32))


def test_a_value_leaves_the_set_and_the_class_stays_while_another_value_holds_it() -> None:
    left = without((0, FLU))
    assert left.values.to_list() == [["gout"], ["flu"], []]
    assert left.present.tolist() == [True, True, True, False]
    assert left.held_start.tolist() == [0, 2, 4, 4, 4]
    assert left.held.tolist() == [GOUT, ANY, FLU, ANY]


def test_whoever_loses_the_last_value_stays_as_an_absent_member() -> None:
    left = without((1, FLU))
    assert left.values.to_list() == [["flu", "gout"], []]
    assert left.present.tolist() == [True, False, True, False]
    assert left.ids.to_list() == [1, 2, 3, 4]


def test_a_class_goes_with_all_the_values_that_it_stands_for() -> None:
    left = without((0, ANY))
    assert left.values.to_list() == [["flu"], []]
    assert left.held.tolist() == [FLU, ANY]


def test_nothing_to_take_changes_nothing() -> None:
    whole = population()
    assert whole.without(np.empty(0, np.int64), np.empty(0, np.int32)) is whole
