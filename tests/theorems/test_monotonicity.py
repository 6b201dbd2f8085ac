"""Theorem 3: p(o,s,k) strictly decreases when n_k/n_{k,s} increases."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from serigraph.privacy import breach_probability
from serigraph.records import Exposure
from theorems.strategies import exposures, histories, unhurried


def ratio(exposure: Exposure) -> Fraction:
    return Fraction(exposure.size, exposure.count)


@unhurried
@given(histories, exposures(), exposures())
def test_a_larger_ratio_gives_a_smaller_probability(
    past: list[Exposure], one: Exposure, other: Exposure
) -> None:
    is_larger = ratio(one) > ratio(other)
    is_less_likely = breach_probability([*past, one]) < breach_probability([*past, other])
    assert is_larger == is_less_likely


def test_counterexample_a_certain_past_stays_certain() -> None:
    certain = [Exposure(2, 2)]
    small, large = Exposure(2, 1), Exposure(200, 1)
    assert breach_probability([*certain, small]) == breach_probability([*certain, large]) == 1
