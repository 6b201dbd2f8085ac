"""Lemma 3: a group has n_j! / prod_i n_{j,i}! possible worlds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import worlds_of_group, worlds_of_series
from theorems.possible_worlds import Group, number_of_worlds
from theorems.strategies import unhurried

counts_of_small_groups = st.lists(st.integers(0, 6), max_size=4).filter(lambda n: sum(n) <= 6)


def group_with(counts: list[int]) -> Group:
    values = tuple(value for value, count in enumerate(counts) for _ in range(count))
    return Group(tuple("opqrst"[: len(values)]), values)


@unhurried
@given(counts_of_small_groups)
def test_the_multinomial_counts_worlds(counts: list[int]) -> None:
    assert worlds_of_group(counts) == number_of_worlds(((group_with(counts),),))


@unhurried
@given(st.lists(st.integers(0, 40), max_size=8))
def test_the_formula_of_the_paper(counts: list[int]) -> None:
    factorials = math.prod(math.factorial(count) for count in counts)
    assert worlds_of_group(counts) == math.factorial(sum(counts)) // factorials


@unhurried
@given(st.lists(counts_of_small_groups.filter(lambda n: sum(n) <= 4), max_size=3))
def test_worlds_of_a_series_multiply(groups: list[list[int]]) -> None:
    series = tuple((group_with(counts),) for counts in groups)
    assert worlds_of_series(groups) == number_of_worlds(series)


def test_the_introduction_counts_equal_values_as_different() -> None:
    flu, chlamydia, fever = 2, 1, 1
    published = [[flu, chlamydia, fever]] * 2
    assert worlds_of_series(published) == 144
    assert math.factorial(4) ** 2 == 576  # printed: "4! x 4! possible worlds"


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="-1 people"):
        worlds_of_group([2, -1])
