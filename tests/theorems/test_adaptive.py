"""Beyond the paper: what is left is spent as the links to come require, and never more than it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import Adaptive, LinkGaps, Strategy, largest_share, minimum_ratio
from serigraph.privacy.schedules import first_share, spend
from theorems.strategies import adaptive_strategies, thresholds, unhurried

HALF = Fraction(1, 2)
OFTEN = LinkGaps({(1, 1): 900, (2, 1): 800}, {(3, 0): 800, (2, 1): 100}, releases=3, people=2000)
NEVER = LinkGaps({}, {(1, 1): 5000, (1, 2): 5000}, releases=3, people=2000)


@unhurried
@given(st.lists(adaptive_strategies(), min_size=1, max_size=8), thresholds, st.data())
def test_no_sequence_of_links_spends_more_than_the_budget(
    plans: list[Adaptive], threshold: Fraction, data: st.DataObject
) -> None:
    """The smallest groups that any plans allow, one after another, with any number of holders."""
    survival = Fraction(1)
    for links, plan in enumerate(plans):
        if minimum_ratio(threshold, survival) == math.inf:
            break
        count = data.draw(st.integers(1, 3))
        size = plan.smallest_size(threshold, links, survival, count)
        assert size >= count * minimum_ratio(threshold, survival)
        survival *= 1 - Fraction(count, size)
        assert survival >= 1 - threshold


@unhurried
@given(
    st.floats(0.01, 3.0),
    st.lists(st.floats(0.001, 1.0), min_size=1, max_size=2),
    st.floats(0.02, 0.98),
)
def test_no_other_share_makes_the_expected_groups_smaller(
    budget: float, later: list[float], other: float
) -> None:
    """Against any other first share, with the best that is then left for the others."""
    weights = [1.0, *sorted(later, reverse=True)]

    def cost(share: float) -> float:
        left, total = budget, 0.0
        for number, weight in enumerate(weights):
            now = share if not number else first_share(left, weights[number:])
            total += weight / -math.expm1(-now * left)
            left -= now * left
        return total

    assert cost(first_share(budget, weights)) <= cost(other) * (1 + 1e-6)


@unhurried
@given(
    st.floats(1e-300, 20.0) | st.just(0.0),  # of more, floats cannot tell the first ratio from 1
    st.lists(st.floats(1e-7, 1.0), min_size=1, max_size=40),
)
def test_shares_solve_the_schedule_for_any_budget(budget: float, later: list[float]) -> None:
    """r (r - 1) w is the same for all links, and together they spend the budget."""
    weights = [1.0, *sorted(later, reverse=True)]
    share = first_share(budget, weights)
    assert 0 < share <= 1
    if budget > 1e-6:
        first = -1 / math.expm1(-share * budget)
        constant = first * (first - 1)
        ratios = [(1 + math.sqrt(1 + 4 * constant / weight)) / 2 for weight in weights]
        assert sum(map(spend, ratios)) == pytest.approx(budget, rel=1e-6)
    else:
        roots = [math.sqrt(weight) for weight in weights]
        assert share == pytest.approx(roots[0] / sum(roots), rel=1e-6)


@pytest.mark.parametrize("releases", [2, 3, 4])
def test_the_best_of_all_plans_in_a_tiny_series(releases: int) -> None:
    """All histories of links, by brute force: no fixed ratios on a grid cost less on average."""
    again = 0.3
    budget = -math.log1p(-0.5)
    chances = [0.0] * releases
    for history in product((0, 1), repeat=releases - 1):
        chance = math.prod(again if linked else 1 - again for linked in history)
        for links in range(sum(history) + 1):
            chances[links] += chance
    grid = [number / 40 for number in range(1, 40)]

    def cheapest(left: float, weights: list[float]) -> float:
        if len(weights) == 1:
            return weights[0] / -math.expm1(-left)
        options = grid if len(weights) == 2 else grid[::3]
        return min(
            weights[0] / -math.expm1(-share * left) + cheapest(left * (1 - share), weights[1:])
            for share in options
        )

    planned, left = 0.0, budget
    for number in range(releases):
        share = first_share(left, chances[number:])
        planned += chances[number] / -math.expm1(-share * left)
        left *= 1 - share
    assert planned <= cheapest(budget, chances) * (1 + 1e-9)


def test_where_people_come_back_the_first_link_spends_less() -> None:
    often, never = (Adaptive(20, gaps).preview(HALF, 1)[0] for gaps in (OFTEN, NEVER))
    assert 2 <= never < 3 < 10 < often


def test_the_last_release_spends_all() -> None:
    last = Adaptive(4, OFTEN)
    assert last.left == 0
    assert last.smallest_size(HALF, 1, Fraction(2, 3)) == 4
    assert Fraction(2, 3) * (1 - Fraction(1, 4)) == HALF
    outlived = Adaptive(3, OFTEN)
    assert outlived.left > 0, "a series that goes on must not spend all at every release"


@pytest.mark.parametrize("share", [0.001, 0.01, 0.025])
@pytest.mark.parametrize("gaps", [OFTEN, NEVER, LinkGaps()])
def test_nobody_is_asked_for_more_than_the_population_can_bear(
    share: float, gaps: LinkGaps
) -> None:
    """A pair that is linked in every release of the series, each time as cheaply as allowed."""
    survival, budget = 1.0, math.log(2)
    releases = 12
    for out in range(releases):
        seen = LinkGaps(gaps.again, gaps.waiting, out, gaps.people)
        rule = Adaptive(releases, seen, {"s": share}).rule(HALF, "s")
        target = rule.target(0.5, out, survival)
        if 2 * spend(1 / share) <= budget + math.log(survival):
            assert target <= 1 / share * (1 + 1e-9), "until the budget runs short"
        survival *= 1 - 1 / target
        further = rule.reserve / rule.least_spend
        assert further <= releases - 1 - out + 1e-9
        assert survival >= 0.5 * (1 - 1e-9)


@pytest.mark.parametrize("links", [0, 1])
def test_enough_is_kept_for_further_links(links: int) -> None:
    share = 0.025
    survival = 1.0 if links == 0 else 0.7
    rule = Adaptive(12, LinkGaps(), {"s": share}).rule(HALF, "s")
    after = survival * (1 - 1 / rule.target(0.5, links, survival))
    assert rule.reserve > 0
    kept = min(rule.reserve, math.log(survival / 0.5) / 2)
    assert math.log(after / 0.5) >= kept * (1 - 1e-9)


def test_a_share_leaves_room_for_more_holders() -> None:
    for holders in (1, 10, 100, 1000):
        likely = holders + 2 * holders**0.5
        assert likely <= largest_share(holders, 10_000) * 10_000 <= 1.2 * (likely + 2)


def test_a_strategy_that_anybody_may_ask() -> None:
    strategy: Strategy = Adaptive(20)
    assert strategy.replan
    assert strategy.asks_the_same_of_everybody(0)
    assert not strategy.asks_the_same_of_everybody(1)
    with pytest.raises(ValueError, match="at least one release"):
        Adaptive(0)
