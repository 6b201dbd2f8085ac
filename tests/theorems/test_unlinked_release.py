"""Lemma 5: a release whose group of o does not hold s leaves p(o,s,k) as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import breach_probability
from serigraph.records import Exposure
from theorems import possible_worlds
from theorems.possible_worlds import Series, group_of
from theorems.strategies import histories, published_series, unhurried


@unhurried
@given(histories, st.integers(1, 100), st.integers(0, 5))
def test_a_group_without_the_value_changes_nothing(
    exposures: list[Exposure], size: int, place: int
) -> None:
    with_unlinked = [*exposures[:place], Exposure(size, 0), *exposures[place:]]
    assert breach_probability(with_unlinked) == breach_probability(exposures)


@unhurried
@given(published_series(), st.sampled_from(["t", "tu", "ttu"]))
def test_so_do_the_worlds(series: Series, values: str) -> None:
    before = possible_worlds.breach_probability(series, "o", "s")
    after = possible_worlds.breach_probability((*series, (group_of(values),)), "o", "s")
    assert after == before
