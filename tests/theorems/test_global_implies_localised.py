"""Lemma 1: p(o,s,k) <= 1/l implies q(o,s,j,k) <= 1/l for every j."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from serigraph.privacy import breach_probability, is_within_guarantee, localised_probability
from serigraph.records import Exposure
from theorems.strategies import histories, thresholds, unhurried, unspent_histories


@unhurried
@given(histories)
def test_no_single_release_tells_more_than_all_of_them(exposures: list[Exposure]) -> None:
    for j in range(1, len(exposures) + 1):
        assert localised_probability(exposures, j) <= breach_probability(exposures)


@unhurried
@given(unspent_histories())
def test_global_implies_localised(history: tuple[Fraction, list[Exposure]]) -> None:
    threshold, exposures = history
    assert is_within_guarantee(exposures, threshold)
    for j in range(1, len(exposures) + 1):
        assert localised_probability(exposures, j) <= threshold


@unhurried
@given(histories, thresholds)
def test_a_release_above_the_threshold_breaks_the_whole(
    exposures: list[Exposure], threshold: Fraction
) -> None:
    releases = range(1, len(exposures) + 1)
    if any(localised_probability(exposures, j) > threshold for j in releases):
        assert not is_within_guarantee(exposures, threshold)


@pytest.mark.parametrize("j", [0, 3, -1])
def test_releases_are_counted_from_one(j: int) -> None:
    with pytest.raises(ValueError, match="counts from 1"):
        localised_probability([Exposure(2, 1), Exposure(2, 1)], j)
