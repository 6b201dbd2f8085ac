"""Lemma 4: p(o,s,k) = (prod n_j - prod (n_j - n_{j,s})) / prod n_j."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import breach_probability, survival
from serigraph.records import Exposure
from theorems import possible_worlds
from theorems.oracle_series import series_of
from theorems.strategies import histories, unhurried


@st.composite
def small_exposures(draw: st.DrawFn) -> Exposure:
    size = draw(st.integers(1, 4))
    return Exposure(size, draw(st.integers(0, size)))


@unhurried
@given(st.lists(small_exposures(), max_size=4))
def test_the_closed_form_counts_worlds(exposures: list[Exposure]) -> None:
    counted = possible_worlds.breach_probability(series_of(exposures), "o", "s")
    assert breach_probability(exposures) == counted
    assert survival(exposures) == 1 - counted


@unhurried
@given(histories, st.randoms(use_true_random=False))
def test_the_order_of_releases_does_not_matter(exposures: list[Exposure], random: Random) -> None:
    shuffled = random.sample(exposures, len(exposures))
    assert breach_probability(shuffled) == breach_probability(exposures)


@unhurried
@given(histories, histories)
def test_survivals_multiply(first: list[Exposure], second: list[Exposure]) -> None:
    assert survival([*first, *second]) == survival(first) * survival(second)


def test_sizes_alone_do_not_suffice() -> None:
    one_holder = [Exposure(3, 1), Exposure(5, 1)]
    two_holders = [Exposure(3, 2), Exposure(5, 1)]
    assert breach_probability(one_holder) == Fraction(7, 15)
    assert breach_probability(two_holders) == Fraction(11, 15)


def test_a_group_of_holders_only_is_certain_however_large() -> None:
    assert breach_probability([Exposure(1000, 1000)]) == 1
