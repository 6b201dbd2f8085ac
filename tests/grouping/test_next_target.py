"""The kernel's ratio for the next link is the strategy's own."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grouping.cases import case, number_line
from grouping.naive import Person
from serigraph.grouping.past import next_target
from serigraph.grouping.problem import grouping_input, narrowed
from serigraph.model import Past, link_gaps
from serigraph.privacy import Adaptive, ConstantRatio, Strategy
from serigraph.privacy.link_chances import LEARNED_FROM
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


def test_a_pair_with_more_links_than_the_table_has_asks_as_its_last_entry_says() -> None:
    """A plan learns from the latest releases alone, and numbers the links in them from 1; a pair
    may have had more than all of them."""
    half, out = Fraction(1, 2), LEARNED_FROM + 20
    often = Past.of_groups(np.zeros((50, out), dtype=np.int32), [1], [0], [1], [10**6])
    once = Past.of_groups(np.eye(out, dtype=np.int32)[:50] - 1, [1], [0], [1], [10**6])
    gaps = link_gaps(Past(np.vstack([often.group, once.group]), often.held), 1)
    assert (gaps.most, gaps.releases) == (LEARNED_FROM, out)
    strategy = Adaptive(None, gaps)
    problem = case([Person((0,), frozenset({0}))], [number_line(2)], [strategy], [half])
    f = narrowed(
        grouping_input(
            problem.population, problem.history, problem.demand, problem.weight, problem.key
        )
    )
    last = LEARNED_FROM  # its entry is for one link more than any pair had in these releases
    (asked,) = {plain(f.rules, 0, links, 0.9) for links in (last, last + 1, out, 1000 * out)}
    assert asked != plain(f.rules, 0, 1, 0.9)
    assert asked == pytest.approx(strategy.ratio(half, out, Fraction(9, 10)), rel=1e-9)
    assert math.inf not in strategy.preview(half, out)
