"""Principle 2 and Problem 1: over all releases, p(o,s,k) <= 1/l."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from serigraph.privacy import breach_probability, is_within_guarantee
from serigraph.records import Exposure
from theorems import possible_worlds
from theorems.oracle_series import exposures_of
from theorems.possible_worlds import Series
from theorems.strategies import histories, published_series, thresholds, unhurried


@unhurried
@given(published_series(), thresholds)
def test_the_guarantee_is_decided_as_counting_worlds_does(
    series: Series, threshold: Fraction
) -> None:
    for person in "opqrt":
        counted = possible_worlds.breach_probability(series, person, "s")
        exposures = exposures_of(series, person, "s")
        assert is_within_guarantee(exposures, threshold) == (counted <= threshold)


@unhurried
@given(histories, thresholds)
def test_the_integer_test_agrees_with_the_probability(
    exposures: list[Exposure], threshold: Fraction
) -> None:
    within = breach_probability(exposures) <= threshold
    assert is_within_guarantee(exposures, threshold) == within


@unhurried
@given(histories)
def test_the_threshold_itself_is_allowed_and_nothing_above_it(exposures: list[Exposure]) -> None:
    probability = breach_probability([*exposures, Exposure(60, 1)])
    assert is_within_guarantee([*exposures, Exposure(60, 1)], probability)
    just_below = probability - Fraction(1, 10**40)
    assert not is_within_guarantee([*exposures, Exposure(60, 1)], just_below)
