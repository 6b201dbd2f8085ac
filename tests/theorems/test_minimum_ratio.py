"""Theorem 1: p(o,s,k) <= 1/l if and only if n_k/n_{k,s} reaches the minimum ratio."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.errors import Infeasible
from serigraph.privacy import breach_probability, minimum_ratio, smallest_size, survival
from serigraph.records import Exposure
from theorems.strategies import exposures, histories, thresholds, unhurried, unspent_histories


def ratio_as_printed(diversity: Fraction, past: list[Exposure]) -> Fraction:
    unlinked = math.prod(exposure.size - exposure.count for exposure in past)
    total = math.prod(exposure.size for exposure in past)
    return diversity * unlinked / (diversity * unlinked - (diversity - 1) * total)


@unhurried
@given(histories, exposures(), thresholds)
def test_if_and_only_if(past: list[Exposure], now: Exposure, threshold: Fraction) -> None:
    is_large_enough = Fraction(now.size, now.count) >= minimum_ratio(threshold, survival(past))
    assert is_large_enough == (breach_probability([*past, now]) <= threshold)


@unhurried
@given(unspent_histories())
def test_it_is_the_formula_of_the_paper_while_budget_is_left(
    history: tuple[Fraction, list[Exposure]],
) -> None:
    threshold, past = history
    assert minimum_ratio(threshold, survival(past)) == ratio_as_printed(1 / threshold, past)


@unhurried
@given(unspent_histories(), st.integers(1, 9))
def test_the_smallest_size_is_enough_and_one_less_is_not(
    history: tuple[Fraction, list[Exposure]], count: int
) -> None:
    threshold, past = history
    size = smallest_size(minimum_ratio(threshold, survival(past)), count)
    assert breach_probability([*past, Exposure(size, count)]) <= threshold
    assert size == count or breach_probability([*past, Exposure(size - 1, count)]) > threshold


@unhurried
@given(thresholds)
def test_before_the_first_link_it_is_l(threshold: Fraction) -> None:
    assert minimum_ratio(threshold, Fraction(1)) == 1 / threshold


def test_counterexample_the_printed_formula_past_the_budget() -> None:
    past = [Exposure(2, 1), Exposure(2, 1)]
    assert ratio_as_printed(Fraction(2), past) == -1  # any group would do
    assert breach_probability([*past, Exposure(100, 1)]) > Fraction(1, 2)
    assert minimum_ratio(Fraction(1, 2), survival(past)) == math.inf


def test_counterexample_the_printed_formula_at_the_threshold() -> None:
    past = [Exposure(2, 1)]
    with pytest.raises(ZeroDivisionError):
        ratio_as_printed(Fraction(2), past)
    assert minimum_ratio(Fraction(1, 2), survival(past)) == math.inf


def test_no_size_is_found_where_the_budget_is_used_up() -> None:
    with pytest.raises(Infeasible, match="used up"):
        smallest_size(minimum_ratio(Fraction(1, 2), Fraction(1, 2)))
