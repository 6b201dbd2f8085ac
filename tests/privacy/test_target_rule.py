"""The rule for kernels asks for what the strategy asks for."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from serigraph.privacy import ConstantRatio, Geometric, OptimalSchedule, Strategy
from theorems.strategies import publishing_strategies, thresholds, unhurried


@unhurried
@given(
    thresholds,
    publishing_strategies(),
    st.integers(0, 14),
    st.fractions(0, Fraction(19, 20), max_denominator=200),
)
def test_floats_and_fractions_ask_for_the_same(
    threshold: Fraction, strategy: Strategy, links: int, spent: Fraction
) -> None:
    left = 1 - threshold * spent
    assume(left > 1 - threshold)
    target = strategy.rule(threshold).target(float(threshold), links, float(left))
    assert target == pytest.approx(strategy.ratio(threshold, links, left), rel=1e-9)


@unhurried
@given(thresholds, publishing_strategies(), st.integers(0, 80), st.integers(1, 60))
def test_an_overdrawn_budget_asks_for_an_infinite_ratio(
    threshold: Fraction, strategy: Strategy, links: int, overdrawn: int
) -> None:
    left = float(1 - threshold) * (1 - overdrawn / 60)
    assert strategy.rule(threshold).target(float(threshold), links, left) == math.inf


@unhurried
@given(thresholds, publishing_strategies(), st.integers(0, 80))
def test_a_used_up_budget_asks_for_more_than_any_population(
    threshold: Fraction, strategy: Strategy, links: int
) -> None:
    """Rounding may leave a budget of one float or none; both must keep people apart."""
    target = strategy.rule(threshold).target(float(threshold), links, float(1 - threshold))
    assert target > 1e12


def test_the_numbers_that_a_kernel_gets() -> None:
    half = Fraction(1, 2)
    planned = ConstantRatio(2, replan=False).rule(half)
    assert planned.ratio_by_link == pytest.approx((2 + math.sqrt(2),))
    assert (planned.share_by_link, planned.factor) == ((), 1.0)

    replanned = ConstantRatio(3).rule(half)
    assert replanned.share_by_link == (1 / 3, 1 / 2, 1.0)
    assert (replanned.ratio_by_link, replanned.factor) == ((), 1.0)

    geometric = Geometric(Fraction(5, 2)).rule(half)
    assert (geometric.ratio_by_link, geometric.share_by_link, geometric.factor) == ((), (), 2.5)

    closed_form = Geometric(Fraction(2), replan=False).rule(half)
    assert closed_form.ratio_by_link[:5] == (4, 6, 10, 18, 34)
    assert len(closed_form.ratio_by_link) == 64
    assert (closed_form.share_by_link, closed_form.factor) == ((), 1.0)


def test_shares_of_a_schedule_end_with_all() -> None:
    rule = OptimalSchedule((Fraction(1), Fraction(1, 4), Fraction(1, 16))).rule(Fraction(1, 10))
    assert rule.ratio_by_link == ()
    assert rule.share_by_link[-1] == 1.0
    assert all(0 < share < 1 for share in rule.share_by_link[:-1])
