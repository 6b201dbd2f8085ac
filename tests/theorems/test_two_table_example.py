"""Example 1: for two releases, p = (n_{2,1} n_1 + n_{1,1} n_2 - n_{1,1} n_{2,1}) / (n_1 n_2)."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from serigraph.privacy import breach_probability
from serigraph.records import Exposure
from theorems.strategies import exposures, unhurried


@unhurried
@given(exposures(), exposures())
def test_two_tables(first: Exposure, second: Exposure) -> None:
    linked = second.count * first.size + first.count * second.size - first.count * second.count
    assert breach_probability([first, second]) == Fraction(linked, first.size * second.size)
