"""Section 6.3: with a set of values a person, n_s counts the people whose set holds s."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import breach_probability
from serigraph.records import Exposure
from theorems import possible_worlds
from theorems.possible_worlds import Group
from theorems.strategies import unhurried

sets_of_values = st.lists(st.frozensets(st.sampled_from("stu")), min_size=1, max_size=4)


@unhurried
@given(st.lists(sets_of_values, min_size=1, max_size=3))
def test_only_the_share_of_sets_with_the_value_matters(tables: list[list[frozenset[str]]]) -> None:
    series = tuple((Group(tuple("opqr"[: len(held)]), tuple(held)),) for held in tables)
    exposures = [Exposure(len(held), sum("s" in values for values in held)) for held in tables]
    counted = possible_worlds.breach_probability(series, "o", "s")
    assert breach_probability(exposures) == counted
