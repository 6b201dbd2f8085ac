"""Example 3: after two groups of four, the third release needs a ratio of 9."""

from __future__ import annotations

from fractions import Fraction

from serigraph.privacy import breach_probability, minimum_ratio, smallest_size, survival
from serigraph.records import Exposure

PAST = [Exposure(4, 1), Exposure(4, 1)]


def test_the_ratio_is_nine() -> None:
    ratio = minimum_ratio(Fraction(1, 2), survival(PAST))
    assert ratio == 9
    assert smallest_size(ratio) == 9


def test_nine_reach_one_half_exactly_and_eight_are_too_few() -> None:
    assert breach_probability([*PAST, Exposure(9, 1)]) == Fraction(1, 2)
    assert breach_probability([*PAST, Exposure(8, 1)]) > Fraction(1, 2)
