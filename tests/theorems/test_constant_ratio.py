"""Section 6.1: the constant-ratio strategy, as the paper gives it and re-planned."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import ConstantRatio, is_within_guarantee, survival
from serigraph.records import Exposure
from theorems.strategies import thresholds, unhurried


def published_sizes(strategy: ConstantRatio, threshold: Fraction, counts: list[int]) -> list[int]:
    """The sizes of one pair's groups, each as small as the strategy allows."""
    exposures: list[Exposure] = []
    for links, count in enumerate(counts):
        size = strategy.smallest_size(threshold, links, survival(exposures), count)
        exposures.append(Exposure(size, count))
    assert is_within_guarantee(exposures, threshold)
    return [exposure.size for exposure in exposures]


def test_replanning_uses_the_slack_of_the_rounding() -> None:
    half = Fraction(1, 2)
    assert published_sizes(ConstantRatio(2), half, [1, 1]) == [4, 3]
    assert survival([Exposure(4, 1), Exposure(3, 1)]) == half
    assert published_sizes(ConstantRatio(2, replan=False), half, [1, 1]) == [4, 4]


@unhurried
@given(thresholds, st.lists(st.integers(1, 5), min_size=1, max_size=20), st.booleans())
def test_all_planned_links_find_a_group(
    threshold: Fraction, counts: list[int], replan: bool
) -> None:
    sizes = published_sizes(ConstantRatio(len(counts), replan), threshold, counts)
    assert len(sizes) == len(counts)


@unhurried
@given(thresholds, st.integers(1, 20))
def test_replanned_groups_never_grow(threshold: Fraction, releases: int) -> None:
    planned = published_sizes(ConstantRatio(releases, replan=False), threshold, [1] * releases)
    replanned = published_sizes(ConstantRatio(releases), threshold, [1] * releases)
    assert all(now <= before for now, before in zip(replanned, planned, strict=True))
    assert replanned == sorted(replanned, reverse=True)


@unhurried
@given(thresholds, st.integers(1, 20), st.integers(1, 5))
def test_the_size_is_the_smallest_that_the_plan_allows(
    threshold: Fraction, releases: int, count: int
) -> None:
    size = ConstantRatio(releases).smallest_size(threshold, 0, Fraction(1), count)
    assert is_within_guarantee([Exposure(size, count)] * releases, threshold)
    too_small = [Exposure(size - 1, count)] * releases
    assert size == count or not is_within_guarantee(too_small, threshold)


@unhurried
@given(thresholds, st.integers(1, 40))
def test_the_float_ratio_is_rounded_up_and_no_further(threshold: Fraction, releases: int) -> None:
    def keeps(ratio: float) -> bool:
        return (1 - 1 / Fraction(ratio)) ** releases >= 1 - threshold

    ratio = ConstantRatio(releases, replan=False).ratio(threshold, 0, Fraction(1))
    assert keeps(ratio)
    assert not keeps(math.nextafter(ratio, 0))


@unhurried
@given(st.integers(2, 40), st.integers(1, 40))
def test_it_grows_with_l_and_with_the_number_of_releases(diversity: int, releases: int) -> None:
    def ratio(diversity: int, releases: int) -> float:
        return ConstantRatio(releases).preview(Fraction(1, diversity), 1)[0]

    assert ratio(diversity, releases) < ratio(diversity + 1, releases)
    assert ratio(diversity, releases) < ratio(diversity, releases + 1)


@pytest.mark.parametrize("replan", [True, False])
def test_past_the_plan_a_pair_gets_what_is_left(replan: bool) -> None:
    strategy = ConstantRatio(2, replan)
    half = Fraction(1, 2)
    left = Fraction(9, 16)
    assert strategy.smallest_size(half, 2, left) == 9
    assert strategy.ratio(half, 5, left) == 9.0


def test_a_plan_for_no_release_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one release"):
        ConstantRatio(0)
