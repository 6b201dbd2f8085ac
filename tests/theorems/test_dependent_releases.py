"""Beyond the paper: Boole's sum, and what it is not.

It bounds the chance of any link if each release keeps its n_s/n when all others are known. Where
values persist, releases change each other's, and nothing of the kind holds.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import boole_bound, breach_probability
from serigraph.records import Exposure
from theorems.strategies import histories, unhurried


@unhurried
@given(histories)
def test_the_sum_is_never_below_the_product_form(exposures: list[Exposure]) -> None:
    assert breach_probability(exposures) <= boole_bound(exposures) <= 1


@unhurried
@given(st.lists(st.integers(0, 9), min_size=8, max_size=8).filter(any))
def test_it_holds_for_any_joint_distribution_of_three_releases(weights: list[int]) -> None:
    worlds = list(zip(product([False, True], repeat=3), weights, strict=True))
    total = sum(weights)
    exposures = [Exposure(total, sum(w for links, w in worlds if links[j])) for j in range(3)]
    linked = Fraction(sum(w for links, w in worlds if any(links)), total)
    assert linked <= boole_bound(exposures)


def test_values_that_exclude_each_other_reach_it() -> None:
    exposures = [Exposure(4, 1), Exposure(4, 1)]  # whoever had it once does not have it again
    assert boole_bound(exposures) == Fraction(1, 2)
    assert breach_probability(exposures) == Fraction(7, 16)


def test_it_bounds_nothing_where_values_persist() -> None:
    """One holder among a, b, c, d, later one among a, e, f, g: whoever has it keeps it."""
    worlds = [first for first, second in product("abcd", "aefg") if first == second]
    assert worlds == ["a"]
    assert boole_bound([Exposure(4, 1), Exposure(4, 1)]) == Fraction(1, 2)
