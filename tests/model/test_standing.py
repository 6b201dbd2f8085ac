"""Where a series stands, beside a walk through the ledger in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.settings import unhurried
from serigraph.model import Past, link_gaps, standing
from serigraph.privacy.link_chances import LinkGaps

THRESHOLDS = [Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)]

Held = dict[int, tuple[int, int]]  # by value: holders and people


@st.composite
def pasts(draw: st.DrawFn) -> tuple[list[list[int]], list[Held]]:
    """Past groups of people, -1 for none, and what each group held."""
    held = draw(
        st.lists(
            st.dictionaries(st.integers(0, 2), st.integers(1, 4)).map(
                lambda counts: {value: (count, 4) for value, count in counts.items()}
            ),
            min_size=1,
            max_size=4,
        )
    )
    releases = draw(st.integers(1, 4))
    rows = st.lists(st.integers(-1, len(held) - 1), min_size=releases, max_size=releases)
    return draw(st.lists(rows, min_size=1, max_size=6)), held


def history_of(people: list[list[int]], held: list[Held]) -> Past:
    return Past.of_groups(
        np.array(people, dtype=np.int32),
        [len(group) for group in held],
        [value for group in held for value in sorted(group)],
        [group[value][0] for group in held for value in sorted(group)],
        [4] * len(held),
    )


@unhurried
@given(pasts())
def test_everybody_stands_where_a_walk_through_the_ledger_says(
    past: tuple[list[list[int]], list[Held]],
) -> None:
    people, held = past
    found = standing(history_of(people, held), THRESHOLDS)
    spent: Counter[tuple[int, int]] = Counter()
    links: Counter[tuple[int, int]] = Counter()
    for person, groups in enumerate(people):
        largest = Fraction(0)
        for value, threshold in enumerate(THRESHOLDS):
            survivals = [
                1 - Fraction(*held[group][value])
                for group in groups
                if group >= 0 and value in held[group]
            ]
            if survivals:
                survival = math.prod(survivals)
                share = math.log(max(survival, 1e-300)) / math.log(1 - threshold)
                spent[value, min(max(math.ceil(share * 10 - 1e-9) - 1, 0), 9)] += 1
                links[value, len(survivals)] += 1
                largest = max(largest, 1 - survival)
        assert found.largest_by_person[person] == pytest.approx(float(largest))
    assert {(v, t): n for (v, t), n in np.ndenumerate(found.spent) if n} == spent
    assert {(v, t): n for (v, t), n in np.ndenumerate(found.links) if n} == links
    assert found.pairs == sum(spent.values())


@unhurried
@given(pasts())
def test_gaps_are_counted_from_link_to_link(past: tuple[list[list[int]], list[Held]]) -> None:
    people, held = past
    again: Counter[tuple[int, int]] = Counter()
    waiting: Counter[tuple[int, int]] = Counter()
    for groups, value in product(people, range(len(THRESHOLDS))):
        linked = [n for n, group in enumerate(groups) if group >= 0 and value in held[group]]
        again.update((link, b - a) for link, (a, b) in enumerate(pairwise(linked), 1))
        if linked:
            waiting[len(linked), len(groups) - 1 - linked[-1]] += 1
    found = link_gaps(history_of(people, held), len(THRESHOLDS))
    releases = len(people[0]) if people else 0
    known = (releases, len(people)) if releases else ()
    assert found == LinkGaps(dict(again), dict(waiting), *known)


def test_nobody_stands_anywhere_before_the_first_release() -> None:
    found = standing(Past.none(3), [])
    assert (found.pairs, found.largest_by_person.tolist()) == (0, [0.0, 0.0, 0.0])
    assert link_gaps(Past.none(3), 0) == LinkGaps()
