"""The compiled survey against plain fractions, with pairs that lie exactly on their threshold."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit import oracle
from serigraph.auditing import exact
from serigraph.auditing.evidence import (
    Assumption,
    Evidence,
    Memberships,
    added_up,
    as_promised,
    members_known,
    presence_known,
)
from serigraph.auditing.figures import localised, survey
from serigraph.errors import ImpossibleState

Group = tuple[list[int], int, dict[int, int]]  # members, absent ones, value -> count


def evidence_of(people: int, releases: list[list[Group]], thresholds: list[Fraction]) -> Evidence:
    memberships = []
    first_group, start = [0], [0]
    value: list[int] = []
    count: list[int] = []
    size: list[int] = []
    present_size: list[int] = []
    for groups in releases:
        of_release: list[tuple[int, int, bool]] = []
        for members, absent, held in groups:
            if not held:
                continue
            number_of_group = len(start) - 1
            of_release += [(who, number_of_group, n >= absent) for n, who in enumerate(members)]
            for number in sorted(held):
                value.append(number)
                count.append(held[number])
                size.append(len(members))
                present_size.append(len(members) - absent)
            start.append(len(value))
        first_group.append(len(start) - 1)
        who, group, present = np.array(of_release, dtype=np.int64).reshape(-1, 3).T
        memberships.append((who, group, present.astype(np.bool_)))
    return Evidence(
        ids=pl.Series([f"p{number}" for number in range(people)]),
        labels=tuple(f"r{number}" for number in range(len(releases))),
        members=(people,) * len(releases),
        values=tuple(f"v{number}" for number in range(len(thresholds))),
        thresholds=tuple(thresholds),
        memberships=Memberships.of(people, memberships),
        first_group=np.array(first_group),
        start=np.array(start),
        value=np.array(value, dtype=np.int32),
        count=np.array(count, dtype=np.int64),
        size=np.array(size, dtype=np.int64),
        present_size=np.array(present_size, dtype=np.int64),
    )


@st.composite
def series(draw: st.DrawFn) -> tuple[int, list[list[Group]], list[Fraction]]:
    people = draw(st.integers(2, 9))
    # Thresholds that products of small fractions often hit exactly.
    thresholds = draw(
        st.lists(
            st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(7, 16), Fraction(1, 3)]),
            min_size=1,
            max_size=3,
        )
    )
    releases = []
    for _ in range(draw(st.integers(1, 4))):
        order = draw(st.permutations(range(people)))
        cut = draw(st.integers(1, people))
        groups: list[Group] = []
        for members in (sorted(order[:cut]), sorted(order[cut:])):
            if not members:
                continue
            absent = draw(st.integers(0, len(members) - 1))
            held = draw(
                st.dictionaries(
                    st.integers(0, len(thresholds) - 1),
                    st.integers(1, len(members) - absent),
                    max_size=len(thresholds),
                )
            )
            groups.append((members, absent, held))
        releases.append(groups)
    return people, releases, thresholds


def plain(
    releases: list[list[Group]], *, only_present: bool = False, known: int = 0
) -> list[dict[oracle.Pair, Fraction]]:
    alone = []
    for groups in releases:
        found: dict[oracle.Pair, Fraction] = {}
        for members, absent, held in groups:
            n = len(members) - absent if only_present else len(members)
            for person in members[absent:] if only_present else members:
                for value, count in held.items():
                    found[f"p{person}", f"v{value}"] = Fraction(count, max(n - known, count))
        alone.append(found)
    return alone


def above(found: dict[oracle.Pair, Fraction], thresholds: list[Fraction]) -> set[oracle.Pair]:
    return {pair for pair, p in found.items() if p > thresholds[int(pair[1][1:])]}


ASSUMPTIONS = [
    (as_promised, {}, False),
    (presence_known, {"only_present": True}, False),
    (added_up, {}, True),
    (lambda evidence: members_known(evidence, 1), {"known": 1}, False),
]


@pytest.mark.parametrize(("assume", "options", "adds"), ASSUMPTIONS)
@given(given=series())
@settings(max_examples=120, deadline=None)
def test_survey_against_fractions(assume, options, adds, given) -> None:  # type: ignore[no-untyped-def]
    people, releases, thresholds = given
    evidence = evidence_of(people, releases, thresholds)
    assumption: Assumption = assume(evidence)
    alone = plain(releases, **options)
    whole = survey(evidence, assumption)
    for number in range(1, len(releases) + 1):
        expected = oracle.combined(alone[:number], adds=adds)
        exceeding = above(expected, thresholds)
        found = whole.after[number - 1]
        assert found.pairs == len(expected)
        assert found.people == len({person for person, _ in expected})
        assert found.mean * max(found.pairs, 1) == pytest.approx(float(sum(expected.values())))
        assert found.pairs_above == len(exceeding)
        assert found.people_above == len({person for person, _ in exceeding})
        assert float(found.largest) == pytest.approx(float(max(expected.values(), default=0)))
        shares = {pair: p / thresholds[int(pair[1][1:])] for pair, p in expected.items()}
        parts = Counter(
            10 if share > 1 else max(math.ceil(10 * share) - 1, 0) for share in shares.values()
        )
        assert sum(found.by_probability) == len(expected)
        assert list(found.by_share_of_threshold) == [parts[part] for part in range(11)]
        if found.worst is None:
            assert not expected
        else:
            assert float(found.worst.share) == pytest.approx(float(max(shares.values())))
            assert found.worst.threshold == thresholds[int(found.worst.value[1:])]
        single = localised(evidence, assumption, number - 1)
        mine = alone[number - 1]
        assert single.pairs == len(mine)
        assert single.largest == max(mine.values(), default=Fraction(0))
        assert single.pairs_above == len(above(mine, thresholds))
        assert single.people_above == len({person for person, _ in above(mine, thresholds)})
    assert whole.after[-1].largest == max(
        oracle.combined(alone, adds=adds).values(), default=Fraction(0)
    )


def test_floats_would_refuse_what_is_exactly_on_the_threshold() -> None:
    """Sizes 4, 11 and 45 give exactly 1/3."""
    releases: list[list[Group]] = [[(list(range(size)), 0, {0: 1})] for size in (4, 11, 45)]
    evidence = evidence_of(45, releases, [Fraction(1, 3)])
    found = survey(evidence, as_promised(evidence)).after[-1]
    assert found.largest == Fraction(1, 3)
    assert found.pairs_above == 0
    tighter = evidence_of(45, releases, [Fraction(1, 3) - Fraction(1, 10**12)])
    assert survey(tighter, as_promised(tighter)).after[-1].people_above == 4


def test_the_release_at_which_a_pair_crosses_its_threshold() -> None:
    releases: list[list[Group]] = [[([0, 1, 2, 3], 0, {0: 1})] for _ in range(4)]
    # 1/4, 7/16, 37/64: on the threshold after two releases, above it after three.
    evidence = evidence_of(4, releases, [Fraction(7, 16)])
    found = survey(evidence, as_promised(evidence))
    assert [each.pairs_above for each in found.after] == [0, 0, 4, 4]
    assert found.crossing.tolist() == [2, 2, 2, 2]
    close = np.array([[0, 0]])
    assert exact.crossings(evidence, as_promised(evidence), close).tolist() == [2]


def test_arrays_that_do_not_fit() -> None:
    evidence = evidence_of(2, [[([0, 1], 0, {0: 1})]], [Fraction(1, 2)])
    with pytest.raises(ImpossibleState):
        Evidence(**{**_fields(evidence), "count": evidence.count[:0]})


def _fields(evidence: Evidence) -> dict[str, object]:
    return {name: getattr(evidence, name) for name in evidence.__dataclass_fields__}
