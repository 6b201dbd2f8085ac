"""Theorem 2: after a link at the minimum ratio, any further link breaks the guarantee."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given

from serigraph.errors import Infeasible
from serigraph.privacy import (
    ConstantRatio,
    Strategy,
    breach_probability,
    minimum_ratio,
    survival,
)
from serigraph.records import Exposure
from theorems.strategies import exposures, publishing_strategies, unhurried, unspent_histories


@unhurried
@given(unspent_histories(), exposures(largest=10**6), publishing_strategies())
def test_nothing_is_left_after_the_minimum(
    history: tuple[Fraction, list[Exposure]], later: Exposure, strategy: Strategy
) -> None:
    threshold, past = history
    minimum = Fraction(minimum_ratio(threshold, survival(past)))
    spent = [*past, Exposure(minimum.numerator, minimum.denominator)]
    assert breach_probability([*spent, later]) > threshold
    assert minimum_ratio(threshold, survival(spent)) == math.inf
    assert strategy.ratio(threshold, len(spent), survival(spent)) == math.inf
    with pytest.raises(Infeasible):
        strategy.smallest_size(threshold, len(spent), survival(spent))


def test_the_excess_is_what_the_appendix_derives() -> None:
    spent = [Exposure(4, 1), Exposure(4, 1), Exposure(9, 1)]
    later = Exposure(10, 1)
    assert breach_probability([*spent, later]) == Fraction(1, 2) + Fraction(1, 10) * Fraction(1, 2)


def test_a_plan_for_one_release_leaves_nothing() -> None:
    size = ConstantRatio(1).smallest_size(Fraction(1, 2), 0, Fraction(1))
    assert breach_probability([Exposure(size, 1)]) == Fraction(1, 2)
