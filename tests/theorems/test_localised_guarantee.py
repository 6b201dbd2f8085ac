"""Principle 1: in each release the probability of a link is bounded by the threshold."""

from __future__ import annotations

from hypothesis import given

from serigraph.privacy import localised_probability
from theorems import possible_worlds
from theorems.oracle_series import exposures_of
from theorems.possible_worlds import Series
from theorems.strategies import published_series, unhurried


@unhurried
@given(published_series())
def test_localised_probability_is_the_share_of_worlds_with_a_link_in_that_release(
    series: Series,
) -> None:
    for person in "opqrt":
        releases = [
            j for j, table in enumerate(series, 1) if any(person in group.people for group in table)
        ]
        exposures = exposures_of(series, person, "s")
        for place, j in enumerate(releases, 1):
            counted = possible_worlds.localised_probability(series, person, "s", j)
            assert localised_probability(exposures, place) == counted
