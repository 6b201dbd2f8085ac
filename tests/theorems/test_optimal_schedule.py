"""Beyond the paper: r_j (r_j - 1) = c / w_j, the optimum of which both strategies are points."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from serigraph.privacy import (
    ConstantRatio,
    OptimalSchedule,
    is_within_guarantee,
    scheduled_ratios,
    survival,
)
from serigraph.records import Exposure
from theorems.strategies import link_chances, thresholds, unhurried


@unhurried
@given(thresholds, link_chances())
def test_one_constant_solves_all_links(threshold: Fraction, chances: tuple[Fraction, ...]) -> None:
    ratios = scheduled_ratios(threshold, chances)
    constants = [float(chance) * r * (r - 1) for chance, r in zip(chances, ratios, strict=True)]
    assert constants == pytest.approx([constants[0]] * len(constants), rel=1e-9)


@unhurried
@given(thresholds, link_chances())
def test_the_floats_keep_the_guarantee_exactly_and_tightly(
    threshold: Fraction, chances: tuple[Fraction, ...]
) -> None:
    ratios = [Fraction(r) for r in scheduled_ratios(threshold, chances)]
    kept = math.prod(1 - 1 / r for r in ratios)
    assert kept >= 1 - threshold
    assert float(kept) == pytest.approx(float(1 - threshold), rel=1e-12)


@unhurried
@given(thresholds, link_chances(), st.data())
def test_no_other_plan_has_a_smaller_expected_size(
    threshold: Fraction, chances: tuple[Fraction, ...], data: st.DataObject
) -> None:
    parts = data.draw(st.lists(st.integers(1, 1000), min_size=len(chances), max_size=len(chances)))
    budget = -math.log1p(-float(threshold))
    other = [-1 / math.expm1(-budget * part / sum(parts)) for part in parts]
    weights = [float(chance) for chance in chances]
    planned = scheduled_ratios(threshold, chances)
    best = sum(w * r for w, r in zip(weights, planned, strict=True))
    assert best <= sum(w * r for w, r in zip(weights, other, strict=True)) * (1 + 1e-9)


@unhurried
@given(thresholds, st.integers(1, 20))
def test_equal_chances_give_the_constant_ratio(threshold: Fraction, releases: int) -> None:
    schedule = OptimalSchedule((Fraction(1),) * releases).preview(threshold, releases + 1)
    constant = ConstantRatio(releases).preview(threshold, releases + 1)
    assert schedule == pytest.approx(constant, rel=1e-12)


def test_falling_chances_give_a_geometric_growth() -> None:
    ratios = scheduled_ratios(Fraction(1, 10), tuple(Fraction(1, 4**j) for j in range(8)))
    growth = [later / now for now, later in pairwise(ratios)]
    assert growth[-1] == pytest.approx(2, rel=0.001)
    assert growth == pytest.approx([2] * 7, rel=0.05)


@unhurried
@given(
    thresholds,
    link_chances(),
    st.lists(st.integers(1, 4), min_size=8, max_size=8),
    st.booleans(),
)
def test_all_planned_links_find_a_group(
    threshold: Fraction, chances: tuple[Fraction, ...], counts: list[int], replan: bool
) -> None:
    strategy = OptimalSchedule(chances, replan)
    exposures: list[Exposure] = []
    for links, count in enumerate(counts[: len(chances)]):
        size = strategy.smallest_size(threshold, links, survival(exposures), count)
        exposures.append(Exposure(size, count))
    assert is_within_guarantee(exposures, threshold)


@unhurried
@given(thresholds, link_chances(), st.fractions(0, Fraction(9, 10), max_denominator=50))
def test_the_last_link_takes_exactly_what_is_left(
    threshold: Fraction, chances: tuple[Fraction, ...], spent: Fraction
) -> None:
    strategy, last = OptimalSchedule(chances), len(chances) - 1
    left = 1 - threshold * spent
    minimum = left / (left - (1 - threshold))
    assert strategy.smallest_size(threshold, last, left, minimum.denominator) == minimum.numerator
    assert strategy.ratio(threshold, last, left) == pytest.approx(float(minimum), rel=1e-15)
    assert last == 0 or strategy.ratio(threshold, 0, left) > minimum


@unhurried
@given(thresholds, link_chances(), st.integers(0, 7))
def test_replanning_keeps_to_the_plan_while_the_plan_is_kept(
    threshold: Fraction, chances: tuple[Fraction, ...], links: int
) -> None:
    assume(links < len(chances) - 1)
    planned = scheduled_ratios(threshold, chances)
    left = math.prod((1 - 1 / Fraction(r) for r in planned[:links]), start=Fraction(1))
    ratio = OptimalSchedule(chances).ratio(threshold, links, left)
    assert ratio == pytest.approx(planned[links], rel=1e-6)


@pytest.mark.parametrize(
    ("chances", "complaint"),
    [
        ((), "at least one link"),
        ((1.0, 0.0), "link 2"),
        ((1.5,), "link 1"),
        ((float("nan"),), "link 1"),
        ((0.5, 0.6), "link 2 is above that of link 1"),
    ],
)
def test_chances_that_cannot_be_are_refused(chances: tuple[float, ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        OptimalSchedule(chances)
