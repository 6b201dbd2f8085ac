"""Sizes are found in integers, and floats are rounded up."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.errors import Infeasible
from serigraph.privacy import smallest_constant_size, smallest_size
from serigraph.privacy.ratios import equal_ratio, log_of, rounded_up, smallest_equal_size
from theorems.strategies import unhurried

parts = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)


@unhurried
@given(parts, st.integers(1, 30), st.integers(1, 6))
def test_smallest_equal_size_by_trying_one_after_the_other(
    remaining: Fraction, links: int, count: int
) -> None:
    size = smallest_equal_size(remaining, links, count)
    assert (1 - Fraction(count, size)) ** links >= remaining
    assert size == count or (1 - Fraction(count, size - 1)) ** links < remaining


def test_sizes_beyond_the_range_of_machine_integers() -> None:
    almost_used_up = 1 - Fraction(1, 10**40)
    assert smallest_equal_size(almost_used_up, links=1) == 10**40
    assert 5 * 10**40 - 10 < smallest_equal_size(almost_used_up, links=5) <= 5 * 10**40


@pytest.mark.parametrize("remaining", [Fraction(1), Fraction(9, 8)])
def test_a_budget_that_is_used_up_has_no_size(remaining: Fraction) -> None:
    assert equal_ratio(remaining, 3) == math.inf
    with pytest.raises(Infeasible, match="used up"):
        smallest_equal_size(remaining, 3)


def test_ratios_beyond_the_range_of_floats_are_infinite() -> None:
    assert rounded_up(Fraction(10) ** 400) == math.inf
    assert equal_ratio(1 - Fraction(1, 10**400), 2) == math.inf


@unhurried
@given(st.fractions(0, 10**6))
def test_rounding_up_is_by_less_than_one_float(ratio: Fraction) -> None:
    up = rounded_up(ratio)
    assert up >= ratio
    assert math.nextafter(up, -math.inf) < ratio


@unhurried
@given(st.one_of(parts, st.integers(1, 10**60).map(lambda n: 1 - Fraction(1, n + 1))))
def test_logarithms_of_fractions(remaining: Fraction) -> None:
    lost = 1 - remaining
    series = -sum(float(lost**power / power) for power in range(1, 30))
    expected = math.log(remaining) if lost > Fraction(1, 4) else series
    assert log_of(remaining) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("count", [0, -1])
def test_a_value_that_nobody_holds_needs_no_size(count: int) -> None:
    with pytest.raises(ValueError, match="at least one holder"):
        smallest_size(Fraction(3), count)
    with pytest.raises(ValueError, match="at least one holder"):
        smallest_constant_size(Fraction(1, 2), 2, count)


def test_a_plan_without_links_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one link"):
        smallest_constant_size(Fraction(1, 2), 0)
    with pytest.raises(ValueError, match="at least one link"):
        equal_ratio(Fraction(1, 2), 0)


def test_a_ratio_of_one_is_met_by_the_holders_themselves() -> None:
    assert smallest_size(Fraction(1), 5) == smallest_size(0.5, 5) == 5
