"""Chances of links as a series that is not over shows them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, product
from math import comb
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import LinkGaps, link_chances, relink_hazards
from serigraph.privacy.link_chances import PRIOR_HAZARD, PRIOR_TRIALS
from theorems.strategies import unhurried

Pairs = list[list[int]]  # the releases in which each pair was linked, of those that are out

counts = st.dictionaries(
    st.tuples(st.integers(1, 8), st.integers(1, 8)), st.integers(0, 500), max_size=20
)


def gaps_of(pairs: Pairs, out: int) -> LinkGaps:
    """Counted one pair at a time."""
    again: Counter[tuple[int, int]] = Counter()
    waiting: Counter[tuple[int, int]] = Counter()
    for linked in pairs:
        again.update((link, b - a) for link, (a, b) in enumerate(pairwise(linked), 1))
        waiting[len(linked), out - linked[-1]] += 1
    return LinkGaps(dict(again), dict(waiting), out, len(pairs))


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


def true_chances(chance: float, left: int) -> list[float]:
    """At least 0, 1, 2, ... further links in the releases that are left."""
    exactly = [comb(left, m) * chance**m * (1 - chance) ** (left - m) for m in range(left + 1)]
    return [sum(exactly[links:]) for links in range(left + 1)]


@pytest.mark.parametrize(("chance", "out"), [(0.2, 5), (0.5, 6), (0.8, 6)])
def test_unbiased_for_every_link_that_was_seen_often(chance: float, out: int) -> None:
    """Over many seeds the mean is within four standard errors of the truth, and of the 2 % that the
    prior may add; shares of pairs linked so often by now are far off."""
    seeds, left = 40, 3
    series = [drawn(chance, out, 4000, seed) for seed in range(seeds)]
    estimates = [
        link_chances(relink_hazards(gaps_of(pairs, out), left), 1, left) for pairs in series
    ]
    truth = true_chances(chance, left)
    for link in range(1, left + 1):
        found = [estimate[link] for estimate in estimates]
        assert abs(fmean(found) - truth[link]) < 4 * stdev(found) / seeds**0.5 + 0.02
    in_the_last_two = [[p for p in pairs if p[0] >= out - 1] for pairs in series]
    naive = [fmean(len(p) > 1 for p in pairs) for pairs in in_the_last_two]
    assert fmean(naive) < truth[1] - 0.1, "pairs that had no time to be linked again"


def histories(left: int) -> Iterator[tuple[int, ...]]:
    """Every way to be linked, or not, in the releases that are left."""
    return product((0, 1), repeat=left)


@unhurried
@given(
    st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=4),
    st.integers(1, 5),
    st.integers(0, 4),
)
def test_the_dynamic_programme_sums_up_all_histories(
    hazards: list[list[float]], link: int, left: int
) -> None:
    expected = [0.0] * (left + 1)
    for history in histories(left):
        chance, number, wait = 1.0, link, 0
        for is_linked in history:
            hazard = hazards[min(number, len(hazards)) - 1][wait]
            chance *= hazard if is_linked else 1 - hazard
            number, wait = (number + 1, 0) if is_linked else (number, wait + 1)
        for links in range(sum(history) + 1):
            expected[links] += chance
    found = link_chances([each[:left] for each in hazards], link, left)
    assert found == pytest.approx(expected[: len(found)], abs=1e-9)
    assert max(expected[len(found) :], default=0) < 1e-6


@unhurried
@given(counts, counts, st.integers(0, 12), st.floats(0, 1))
def test_what_any_counts_give(
    again: dict[tuple[int, int], int], waiting: dict[tuple[int, int], int], left: int, base: float
) -> None:
    hazards = relink_hazards(LinkGaps(again, waiting), left, base)
    assert all(0 <= each <= 1 for row in hazards for each in row)
    for link in range(1, len(hazards) + 2):
        chances = link_chances(hazards, link, left)
        assert chances[0] == 1
        assert chances == sorted(chances, reverse=True)
        assert len(chances) <= left + 1


@pytest.mark.parametrize("pairs", [0, 1, 10_000])
def test_after_one_release_nothing_is_known(pairs: int) -> None:
    """All pairs were linked in the only release: what is expected is the prior."""
    (first, *_) = relink_hazards(gaps_of([[1]] * pairs, 1), 3)
    assert first == [PRIOR_HAZARD / 2, PRIOR_HAZARD / 4, PRIOR_HAZARD / 8]


def test_hazards_by_hand() -> None:
    """Ten trials of the prior: 30 of 90 pairs at once, then 12 of 48, of whom 36 still wait."""
    gaps = LinkGaps(again={(1, 1): 30, (1, 2): 12}, waiting={(1, 0): 5, (1, 1): 12, (1, 2): 36})
    first, second = relink_hazards(gaps, 2)
    at_once = (30 + PRIOR_TRIALS / 4) / (90 + PRIOR_TRIALS)
    assert first == pytest.approx([at_once, (12 + PRIOR_TRIALS * at_once / 2) / 58])
    assert second == pytest.approx(first), "nobody has had it: followed as the one before"


def test_what_is_expected_does_not_fall_below_the_chance_of_anybody() -> None:
    (first, *_) = relink_hazards(LinkGaps(), 12, base=0.05)
    assert first == sorted(first, reverse=True)
    assert first[-1] == pytest.approx(0.05, rel=0.01)
