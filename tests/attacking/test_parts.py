"""What attacks are made of, on examples that can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from serigraph.attacking.evidence import Evidence, Seen, Truth
from serigraph.attacking.intersection import Intersection, ever_published
from serigraph.attacking.scoring import interval, promised, run


def release(group: list[int], counts: dict[int, int]) -> Seen:
    size = np.bincount(group)
    return Seen(
        label="",
        group=np.array(group),
        size=size,
        recorded=np.ones(len(size)),
        shown_group=np.array(list(counts)),
        shown_value=np.zeros(len(counts), dtype=np.int64),
        shown_count=np.array(list(counts.values())),
    )


def evidence(*releases: Seen) -> Evidence:
    return Evidence(len(releases[0].group), ("s",), (Fraction(1, 2),), releases, 0)


def test_one_release_tells_what_its_counts_say() -> None:
    one = evidence(release([0, 0, 0, 0, 1, 1], {0: 1, 1: 1}))
    found = ever_published(one, 0, 1.0, np.random.default_rng(1))
    assert found.person.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.chance == pytest.approx([1 / 4] * 4 + [1 / 2] * 2)


def test_who_is_suspected_twice_holds_a_value_that_stays() -> None:
    both = evidence(release([0, 0, 0, 1, 1, 1], {0: 1}), release([0, 1, 1, 0, 0, 1], {0: 1}))
    found = ever_published(both, 0, 1.0, np.random.default_rng(1))
    assert found.person.tolist() == [0, 1, 2, 3, 4]
    assert found.chance[0] > 0.999
    assert found.chance[1:].max() < 0.001


def test_a_finding_says_how_many_bets_rest_on_an_approximation() -> None:
    both = evidence(release([0, 0, 0, 1, 1, 1], {0: 1}), release([0, 1, 1, 0, 0, 1], {0: 1}))
    wide = replace(both.releases[0], size=np.array([6, 3]))  # regions overlap
    told = replace(both, releases=(wide, both.releases[1]))
    for seen, expected in ((both, 0), (told, 1)):
        truth = Truth(seen, (np.array([0]), np.array([0])), (np.ones(6, bool), np.ones(6, bool)))
        finding = run(Intersection("it", 0.8), seen, truth, np.random.default_rng(1))
        assert finding.approximate == expected
        assert [each[:11] for each in finding.doubts()] == ["it: 1 of 1 "] * expected


def test_the_promise_multiplies_releases() -> None:
    both = evidence(release([0, 0, 0, 1, 1, 1], {0: 1}), release([0, 1, 1, 0, 0, 1], {0: 1}))
    truth = Truth(both, (np.array([0]), np.array([0])), (np.ones(6, bool), np.ones(6, bool)))
    people = np.arange(6)
    said = promised(truth, people, np.zeros(6, dtype=np.int64), None)
    assert said == pytest.approx([5 / 9, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 0])


def test_other_worlds_have_the_same_releases() -> None:
    one = evidence(release([0, 0, 0, 1, 1, 1], {0: 1, 1: 2}))
    truth = Truth(one, (np.array([1, 3, 4]),), (np.array([True, True, False, True, True, True]),))
    draw = np.random.default_rng(1)
    seen = set()
    for _ in range(50):
        (pairs,) = truth.permuted(draw).published
        assert np.bincount(one.releases[0].group[pairs]).tolist() == [1, 2]
        assert 2 not in pairs  # has no record
        seen.add(tuple(pairs.tolist()))
    assert len(seen) == 6


def test_the_interval_is_exact() -> None:
    low, high = interval(0, 20)
    assert low == 0
    assert (1 - high) ** 20 == pytest.approx(0.025)
    assert interval(20, 20) == pytest.approx((1 - high, 1))
