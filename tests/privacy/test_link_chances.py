"""Chances of links as the ledger shows them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import ConstantRatio, OptimalSchedule, learned_link_chances
from theorems.strategies import unhurried

histograms = st.lists(st.integers(0, 50), max_size=12)


@unhurried
@given(histograms, st.integers(1, 25))
def test_what_every_histogram_gives(histogram: list[int], further: int) -> None:
    chances = learned_link_chances(histogram, further_links=further)
    assert chances[0] == 1
    assert list(chances) == sorted(chances, reverse=True)
    assert chances[-1] == Fraction(1, sum(histogram[1:]) + 1)
    assert OptimalSchedule(chances).link_chances == chances


@unhurried
@given(st.lists(st.integers(1, 8), min_size=1, max_size=40))
def test_shares_of_pairs_linked_at_least_so_often(links_of_pairs: list[int]) -> None:
    longest = max(links_of_pairs)
    histogram = [links_of_pairs.count(links) for links in range(longest + 3)]
    chances = learned_link_chances(histogram, further_links=4)
    assert len(chances) == longest + 4
    for j, chance in enumerate(chances[:longest], 1):
        at_least = sum(links >= j for links in links_of_pairs)
        assert chance == Fraction(at_least, len(links_of_pairs))


@unhurried
@given(histograms, st.integers(0, 10**6))
def test_pairs_that_were_never_linked_do_not_matter(histogram: list[int], never: int) -> None:
    assert learned_link_chances([never, *histogram]) == learned_link_chances([0, *histogram])


def test_without_links_the_plan_is_a_constant_ratio() -> None:
    half = Fraction(1, 2)
    learned = OptimalSchedule(learned_link_chances([100])).preview(half, 20)
    assert learned == pytest.approx(ConstantRatio(20).preview(half, 20))


def test_a_pair_beyond_all_others_finds_budget_left() -> None:
    half = Fraction(1, 2)
    strategy = OptimalSchedule(learned_link_chances([0, 900, 90, 9, 1]))
    ratios = strategy.preview(half, 5)
    assert ratios[0] < 5
    assert ratios[4] < 1000


@pytest.mark.parametrize("histogram", [[0, -1], [-1, 5]])
def test_negative_counts_are_refused(histogram: list[int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        learned_link_chances(histogram)


def test_some_further_link_must_stay_possible() -> None:
    with pytest.raises(ValueError, match="further link"):
        learned_link_chances([0, 5], further_links=0)
