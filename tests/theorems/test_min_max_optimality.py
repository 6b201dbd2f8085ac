"""Theorem 4, Definition 5: the constant ratio makes the largest group as small as can be."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import (
    ConstantRatio,
    breach_probability,
    is_within_guarantee,
    smallest_constant_size,
)
from serigraph.records import Exposure
from theorems.strategies import thresholds, unhurried


@unhurried
@given(thresholds, st.integers(1, 25), st.integers(1, 4))
def test_the_constant_size_keeps_the_guarantee(
    threshold: Fraction, releases: int, count: int
) -> None:
    size = smallest_constant_size(threshold, releases, count)
    assert is_within_guarantee([Exposure(size, count)] * releases, threshold)


@unhurried
@given(thresholds, st.integers(1, 25), st.data())
def test_no_sizes_below_it_do(threshold: Fraction, releases: int, data: st.DataObject) -> None:
    below = smallest_constant_size(threshold, releases) - 1
    sizes = data.draw(st.lists(st.integers(1, below), min_size=releases, max_size=releases))
    exposures = [Exposure(size, 1) for size in sizes]
    assert not is_within_guarantee(exposures, threshold)


@unhurried
@given(thresholds, st.lists(st.integers(1, 500), min_size=1, max_size=10))
def test_whoever_keeps_the_guarantee_has_a_ratio_of_at_least_n_c(
    threshold: Fraction, sizes: list[int]
) -> None:
    constant = ConstantRatio(len(sizes), replan=False).ratio(threshold, 0, Fraction(1))
    if is_within_guarantee([Exposure(size, 1) for size in sizes], threshold):
        assert max(sizes) >= constant


def test_the_proof_takes_an_equality_that_whole_people_cannot_reach() -> None:
    size = smallest_constant_size(Fraction(1, 2), 2)
    reached = breach_probability([Exposure(size, 1)] * 2)
    assert reached == Fraction(7, 16)  # the proof says 1/l
