"""Corollary 1: the global guarantee is strictly stronger than the localised one."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import is_within_guarantee, localised_probability
from serigraph.records import Exposure
from theorems.strategies import unhurried


@unhurried
@given(st.integers(2, 50), st.integers(2, 6))
def test_localised_releases_at_the_threshold_break_the_global_guarantee(
    diversity: int, releases: int
) -> None:
    exposures = [Exposure(diversity, 1)] * releases
    threshold = Fraction(1, diversity)
    assert all(localised_probability(exposures, j + 1) <= threshold for j in range(releases))
    assert not is_within_guarantee(exposures, threshold)
