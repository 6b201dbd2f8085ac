"""Lemma 2, Definitions 3 and 4: p(o,s,k) follows from the groups of o alone."""

from __future__ import annotations

from hypothesis import given

from serigraph.privacy import breach_probability
from theorems import possible_worlds
from theorems.oracle_series import exposures_of
from theorems.possible_worlds import Series, own_groups
from theorems.strategies import published_series, unhurried


@unhurried
@given(published_series())
def test_other_groups_do_not_matter(series: Series) -> None:
    for person in "opqrt":
        whole = possible_worlds.breach_probability(series, person, "s")
        own = possible_worlds.breach_probability(own_groups(series, person), person, "s")
        assert whole == own == breach_probability(exposures_of(series, person, "s"))
