"""Corollary 2: n_k/n_{k,s} equals the minimum ratio if and only if p(o,s,k) = 1/l."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from serigraph.privacy import breach_probability, minimum_ratio, survival
from serigraph.records import Exposure
from theorems.strategies import exposures, unhurried, unspent_histories


@unhurried
@given(unspent_histories())
def test_the_minimum_reaches_the_threshold(history: tuple[Fraction, list[Exposure]]) -> None:
    threshold, past = history
    minimum = Fraction(minimum_ratio(threshold, survival(past)))
    now = Exposure(minimum.numerator, minimum.denominator)
    assert breach_probability([*past, now]) == threshold


@unhurried
@given(unspent_histories(), exposures())
def test_nothing_else_does(history: tuple[Fraction, list[Exposure]], now: Exposure) -> None:
    threshold, past = history
    is_minimum = Fraction(now.size, now.count) == minimum_ratio(threshold, survival(past))
    assert is_minimum == (breach_probability([*past, now]) == threshold)
