"""What all strategies have in common."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.errors import Infeasible
from serigraph.privacy import (
    Adaptive,
    ConstantRatio,
    Geometric,
    OptimalSchedule,
    Strategy,
    is_within_guarantee,
    minimum_ratio,
    survival,
)
from serigraph.records import Exposure
from theorems.strategies import publishing_strategies, thresholds, unhurried, unspent_histories


@unhurried
@given(unspent_histories(), publishing_strategies())
def test_no_ratio_is_below_the_minimum(
    history: tuple[Fraction, list[Exposure]], strategy: Strategy
) -> None:
    threshold, past = history
    left = survival(past)
    assert strategy.ratio(threshold, len(past), left) >= minimum_ratio(threshold, left)


@unhurried
@given(unspent_histories(), publishing_strategies(), st.integers(1, 5))
def test_the_smallest_size_has_the_ratio_and_keeps_the_guarantee(
    history: tuple[Fraction, list[Exposure]], strategy: Strategy, count: int
) -> None:
    threshold, past = history
    left = survival(past)
    size = strategy.smallest_size(threshold, len(past), left, count)
    assert is_within_guarantee([*past, Exposure(size, count)], threshold)
    asked = strategy.ratio(threshold, len(past), left)
    just_below = math.nextafter(asked, 0)
    assert Fraction(size, count) > just_below
    assert size == count or Fraction(size - 1, count) < asked


@unhurried
@given(
    thresholds,
    publishing_strategies(),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 30)), max_size=10),
)
def test_any_series_that_follows_a_strategy_keeps_the_guarantee(
    threshold: Fraction, strategy: Strategy, groups: list[tuple[int, int]]
) -> None:
    exposures: list[Exposure] = []
    for links, (count, spare) in enumerate(groups):
        try:
            size = strategy.smallest_size(threshold, links, survival(exposures), count)
        except Infeasible:
            assert minimum_ratio(threshold, survival(exposures)) == math.inf
            break
        exposures.append(Exposure(size + spare, count))
        assert is_within_guarantee(exposures, threshold)


@unhurried
@given(thresholds, publishing_strategies(), st.integers(0, 15))
def test_the_preview_begins_with_the_first_ratio(
    threshold: Fraction, strategy: Strategy, links: int
) -> None:
    preview = strategy.preview(threshold, links)
    assert len(preview) == links
    # The adaptive strategy spends what is left where it has seen that no further link comes.
    assert isinstance(strategy, Adaptive) or list(preview) == sorted(preview)
    if links:
        first = strategy.ratio(threshold, 0, Fraction(1))
        assert preview[0] == pytest.approx(first, rel=1e-9)


@pytest.mark.parametrize(
    ("strategy", "words", "text"),
    [
        (
            ConstantRatio(20),
            "constant ratio for 20 releases, re-planned",
            "constant releases=20 replan=true",
        ),
        (
            ConstantRatio(1, replan=False),
            "constant ratio for 1 release, as planned",
            "constant releases=1 replan=false",
        ),
        (
            Geometric(Fraction(5, 2), replan=False),
            "geometric with factor 5/2, as planned",
            "geometric factor=5/2 replan=false",
        ),
        (
            OptimalSchedule((Fraction(1), Fraction(1, 3), 0.1)),
            "optimal schedule for 3 links, re-planned",
            "schedule link_chances=1,1/3,0.1 replan=true",
        ),
    ],
)
def test_words_and_stored_text(strategy: Strategy, words: str, text: str) -> None:
    assert strategy.describe() == words
    assert strategy.to_text() == text


def test_different_strategies_are_stored_differently() -> None:
    strategies: list[Strategy] = [
        *(ConstantRatio(releases, replan) for releases in (2, 20) for replan in (True, False)),
        *(Geometric(Fraction(f), replan) for f in (2, 3) for replan in (True, False)),
        *(OptimalSchedule(w, replan) for w in ((1.0,), (1.0, 0.5)) for replan in (True, False)),
    ]
    assert len({strategy.to_text() for strategy in strategies}) == len(strategies)


def test_strategies_cannot_be_changed() -> None:
    strategy = ConstantRatio(20)
    with pytest.raises(dataclasses.FrozenInstanceError):
        strategy.releases = 2  # type: ignore[misc]
