"""Chances of links as a series that is not over shows them."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import comb
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import (
    ConstantRatio,
    LinkGaps,
    OptimalSchedule,
    learned_link_chances,
    relink_hazards,
)
from theorems.strategies import unhurried

HALF = Fraction(1, 2)
Pairs = list[list[int]]  # the releases in which each pair was linked, of those that are out

counts = st.dictionaries(
    st.tuples(st.integers(1, 8), st.integers(0, 8)), st.integers(0, 500), max_size=20
)


def gaps_of(pairs: Pairs, out: int) -> LinkGaps:
    """Counted one pair at a time."""
    again: Counter[tuple[int, int]] = Counter()
    waiting: Counter[tuple[int, int]] = Counter()
    for linked in pairs:
        again.update((link, b - a) for link, (a, b) in enumerate(pairwise(linked), 1))
        waiting[len(linked), out - linked[-1]] += 1
    return LinkGaps(dict(again), dict(waiting))


def drawn(chance: float, out: int, pairs: int, seed: int) -> Pairs:
    """Pairs first linked in any release, and then in each with the same chance, until the last one
    that is out: what comes later is not seen."""
    draw = random.Random(seed)
    found = []
    for _ in range(pairs):
        first = draw.randint(1, out)
        later = [each for each in range(first + 1, out + 1) if draw.random() < chance]
        found.append([first, *later])
    return found


def true_chances(chance: float, releases: int) -> list[float]:
    """At least j - 1 further links in all further releases of the plan."""
    left = releases - 1
    exactly = [comb(left, m) * chance**m * (1 - chance) ** (left - m) for m in range(releases)]
    return [sum(exactly[links:]) for links in range(releases)]


@pytest.mark.parametrize(("chance", "out"), [(0.2, 4), (0.5, 5), (0.8, 6)])
def test_unbiased_for_every_link_that_was_seen_often(chance: float, out: int) -> None:
    """Over many seeds the mean is within four standard errors of the truth, and of the 2 % that the
    prior may add; shares of pairs linked so often by now are far off."""
    seeds, plan = 40, 6
    series = [drawn(chance, out, 4000, seed) for seed in range(seeds)]
    estimates = [learned_link_chances(gaps_of(pairs, out), plan) for pairs in series]
    shares = [[fmean(len(p) > link for p in pairs) for link in range(plan)] for pairs in series]
    truth = true_chances(chance, plan)
    for link in range(1, min(out - 1, 4)):
        found = [estimate[link] for estimate in estimates]
        error = 4 * stdev(found) / seeds**0.5 + 0.02
        assert abs(fmean(found) - truth[link]) < error
        assert fmean(each[link] for each in shares) < truth[link] - 5 * error


@unhurried
@given(counts, counts, st.integers(1, 12))
def test_what_any_counts_give(
    again: dict[tuple[int, int], int], waiting: dict[tuple[int, int], int], releases: int
) -> None:
    gaps = LinkGaps({key: n for key, n in again.items() if key[1]}, waiting)
    chances = learned_link_chances(gaps, releases)
    assert len(chances) == releases
    assert chances[0] == 1
    assert list(chances) == sorted(chances, reverse=True)
    assert OptimalSchedule(chances).link_chances == chances
    assert all(0 <= each <= 1 for hazards in relink_hazards(gaps, releases) for each in hazards)


@pytest.mark.parametrize("pairs", [0, 1, 10_000])
def test_after_one_release_nothing_is_known(pairs: int) -> None:
    """All pairs were linked in the only release: the plan is the one without learning."""
    chances = learned_link_chances(gaps_of([[1]] * pairs, 1), 20)
    assert chances == (1.0,) * 20
    learned = OptimalSchedule(chances).preview(HALF, 20)
    assert learned == pytest.approx(ConstantRatio(20).preview(HALF, 20))


def test_a_link_long_ago_is_not_never_again() -> None:
    """The longer and the more pairs wait, the smaller is the chance; it is never nothing."""
    second = [
        learned_link_chances(LinkGaps(waiting={(1, since): 1000}), 20)[1] for since in range(4)
    ]
    assert second[0] == 1 > second[1] > second[2] >= second[3] > 0
    few = learned_link_chances(LinkGaps(waiting={(1, 1): 2}), 20)[1]
    assert few > 0.99, "two pairs say little"


def test_hazards_by_hand() -> None:
    """Ten trials of the prior: 30 of 90 pairs at once, then 12 of 48, of whom 36 still wait."""
    gaps = LinkGaps(again={(1, 1): 30, (1, 2): 12}, waiting={(1, 0): 5, (1, 1): 12, (1, 2): 36})
    first, second = relink_hazards(gaps, 3)
    assert first == pytest.approx([40 / 100, (12 + 4) / 58])
    assert second == [1, 1]
    assert learned_link_chances(gaps, 3) == pytest.approx((1, 0.4 + 0.6 * 16 / 58, 0.4), abs=1e-6)


def test_a_pair_beyond_all_others_finds_budget_left() -> None:
    """Nobody went further than three links: further ones are planned for as if they came."""
    seen = drawn(0.3, 3, 5000, seed=1)
    ratios = OptimalSchedule(learned_link_chances(gaps_of(seen, 3), 20)).preview(HALF, 20)
    assert ratios[0] < ratios[10] < 2 * ConstantRatio(20).preview(HALF, 1)[0]


def test_a_plan_has_a_release() -> None:
    with pytest.raises(ValueError, match="at least one release"):
        learned_link_chances(LinkGaps(), 0)
