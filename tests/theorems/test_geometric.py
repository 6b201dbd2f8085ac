"""Section 6.2: the geometric strategy, as the paper gives it and re-planned."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import Geometric, is_within_guarantee, minimum_ratio, survival
from serigraph.records import Exposure
from theorems.strategies import thresholds, unhurried

factors = st.fractions(Fraction(11, 10), Fraction(8), max_denominator=20)


@unhurried
@given(thresholds, factors, st.integers(1, 8))
def test_the_closed_form_is_the_recursion_of_the_paper(
    threshold: Fraction, factor: Fraction, links: int
) -> None:
    left = Fraction(1)
    recursion = []
    for _ in range(links):
        ratio = factor * minimum_ratio(threshold, left)
        recursion.append(float(ratio))
        left *= 1 - 1 / Fraction(ratio)
    assert Geometric(factor).preview(threshold, links) == pytest.approx(recursion, rel=1e-15)


@unhurried
@given(thresholds, factors, st.lists(st.integers(1, 4), min_size=1, max_size=8), st.booleans())
def test_there_is_always_a_next_group(
    threshold: Fraction, factor: Fraction, counts: list[int], replan: bool
) -> None:
    strategy = Geometric(factor, replan)
    exposures: list[Exposure] = []
    for links, count in enumerate(counts):
        size = strategy.smallest_size(threshold, links, survival(exposures), count)
        exposures.append(Exposure(size, count))
        assert is_within_guarantee(exposures, threshold)
    assert minimum_ratio(threshold, survival(exposures)) < float("inf")


@unhurried
@given(thresholds, factors, st.lists(st.integers(1, 4), min_size=2, max_size=6))
def test_replanned_sizes_are_at_most_the_planned_ones(
    threshold: Fraction, factor: Fraction, counts: list[int]
) -> None:
    planned, replanned = Geometric(factor, replan=False), Geometric(factor)
    exposures: list[Exposure] = []
    for links, count in enumerate(counts):
        left = survival(exposures)
        asked = planned.smallest_size(threshold, links, left, count)
        assert replanned.smallest_size(threshold, links, left, count) <= asked
        exposures.append(Exposure(asked, count))


@unhurried
@given(st.integers(2, 30), st.integers(2, 20), st.integers(1, 8))
def test_what_figure_5_is_said_to_show(diversity: int, factor: int, link: int) -> None:
    """It grows with k and with l; a larger factor starts higher and grows more slowly."""

    def ratios(diversity: int, factor: int) -> tuple[float, ...]:
        return Geometric(Fraction(factor)).preview(Fraction(1, diversity), link + 1)

    here = ratios(diversity, factor)
    assert here[link - 1] < here[link] < ratios(diversity + 1, factor)[link]
    flatter = ratios(diversity, factor + 1)
    assert flatter[0] > here[0]
    assert flatter[link] / flatter[link - 1] < here[link] / here[link - 1]


def test_a_user_sees_the_growth_before_the_first_release() -> None:
    ratios = Geometric(Fraction(2)).preview(Fraction(1, 2), 20)
    assert ratios[:5] == (4, 6, 10, 18, 34)
    assert ratios[-1] == 1_048_578


@pytest.mark.parametrize("factor", [Fraction(1), Fraction(1, 2)])
def test_a_factor_of_one_leaves_nothing_and_is_refused(factor: Fraction) -> None:
    with pytest.raises(ValueError, match="above 1"):
        Geometric(factor)


def test_a_float_factor_is_refused() -> None:
    with pytest.raises(TypeError, match="Fraction"):
        Geometric(2.0)  # type: ignore[arg-type]
