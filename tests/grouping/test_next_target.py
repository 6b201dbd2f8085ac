"""The kernel's ratio for the next link is the strategy's own."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grouping.cases import case, number_line
from grouping.naive import Person
from serigraph.grouping.past import next_target
from serigraph.grouping.problem import grouping_input, narrowed
from serigraph.privacy import ConstantRatio, Strategy
from serigraph.records import Exposure
from theorems.strategies import publishing_strategies, unspent_histories

plain = getattr(next_target, "py_func", next_target)  # the same lines without the compiler


@settings(deadline=None)
@given(publishing_strategies(), unspent_histories(), st.integers(0, 2))
def test_next_target_is_the_ratio_of_the_strategy(
    strategy: Strategy, past: tuple[Fraction, list[Exposure]], value: int
) -> None:
    threshold, exposures = past
    survival = math.prod((each.survival for each in exposures), start=Fraction(1))
    problem = case(
        [Person((0,), frozenset({0, 1, 2}))], [number_line(2)], [strategy] * 3, [threshold] * 3
    )
    f = narrowed(
        grouping_input(
            problem.population, problem.history, problem.demand, problem.weight, problem.key
        )
    )
    kept = math.prod(1 - each.count / each.size for each in exposures)
    expected = strategy.ratio(threshold, len(exposures), survival)
    # Where hardly any budget is left, it has few digits left as well.
    left = float((survival - (1 - threshold)) / survival)
    assert plain(f.rules, f.rule[value], len(exposures), kept) == pytest.approx(
        expected, rel=1e-13 / left + 1e-9
    )


def test_a_used_up_budget_asks_for_more_than_any_group() -> None:
    half = Fraction(1, 2)
    problem = case([Person((0,), frozenset({0}))], [number_line(2)], [ConstantRatio(2)], [half])
    f = narrowed(
        grouping_input(
            problem.population, problem.history, problem.demand, problem.weight, problem.key
        )
    )
    assert plain(f.rules, 0, 1, 0.5) == math.inf
    assert plain(f.rules, 0, 1, 0.0) == math.inf
