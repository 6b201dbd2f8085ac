"""Small kernels of grouping, each beside a plain form of itself."""

from __future__ import annotations

from collections import Counter

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouping.cases import Case, cases
from grouping.naive import links_and_survival
from grouping.test_past import facts_of
from model.settings import unhurried
from serigraph.grouping.counts import clear, tally
from serigraph.grouping.dealing import Quota, deal
from serigraph.grouping.districts import arrange, find_leaves
from serigraph.grouping.large_cells import part, round_down
from serigraph.grouping.layout import BOX, COLUMN, RIGHT, SLACK, Cell
from serigraph.grouping.past import find_neediest, largest_targets
from serigraph.grouping.problem import scratch
from serigraph.grouping.sorted_cell import SORTED_AT_ONCE, scattered, sort_codes


@numba.njit
def sorted_by_codes(code):  # type: ignore[no-untyped-def]
    ranked, spare = np.empty_like(code), np.empty_like(code)
    sort_codes(code, ranked, spare, np.empty(SORTED_AT_ONCE + 1, dtype=np.uint32))
    return ranked


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(5, 9), min_size=1))
@unhurried
def test_codes_are_sorted_as_by_numpy(codes: list[int]) -> None:
    code = np.array(codes, dtype=np.uint32)
    assert sorted_by_codes(code).tolist() == np.argsort(code, kind="stable").tolist()


@numba.njit
def parted(f, order, code, size):  # type: ignore[no-untyped-def]
    target = np.empty_like(order)
    left = part(f, order, Cell(0, len(order)), np.int64(0), code, target)
    return left, round_down(f, target, left, np.int64(0), size), target


@numba.njit
def scattered_people(people):  # type: ignore[no-untyped-def]
    return np.array([scattered(person) for person in people])


@unhurried
@given(cases(), st.integers(0, 5), st.integers(1, 4))
def test_a_cell_is_parted_into_whole_groups(problem: Case, code: int, size: int) -> None:
    f = facts_of(problem)
    order = np.arange(len(problem.people), dtype=np.uint32)
    left, whole, target = parted(f, order, code, size)
    ranks = list(zip(f.codes[0].tolist(), scattered_people(order).tolist(), order, strict=True))
    expected = sorted(rank for rank in ranks if rank[0] <= code)
    assert left == len(expected)
    assert whole == left - left % size
    assert sorted(target[:whole]) == sorted(person for *_, person in expected[:whole])
    assert sorted(target) == order.tolist()


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1), st.data())
@unhurried
def test_people_fall_into_their_leaves(people: list[tuple[int, int]], data: st.DataObject) -> None:
    """The tree cuts column 0 behind a code, and its left half column 1 behind another."""
    first, second = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 6))
    codes = np.array(people, dtype=np.int32).T.copy()
    tree = np.zeros((5, BOX + 4), dtype=np.int64)
    tree[0, RIGHT], tree[0, COLUMN], tree[1, BOX + 2] = 4, 0, first
    tree[1, RIGHT], tree[1, COLUMN], tree[2, BOX + 3] = 3, 1, second
    leaf = np.full(len(people), 9, dtype=np.uint32)
    find_leaves(codes, tree, 0, len(people), leaf)
    expected = [4 if x > first else 3 if y > second else 2 for x, y in people]
    assert leaf.tolist() == expected

    start = np.searchsorted(np.sort(leaf), np.arange(5))
    order, held = np.empty(len(people), dtype=np.uint32), np.arange(len(people), dtype=np.int32)
    arranged, arranged_held = np.empty_like(codes), np.empty_like(held)
    arrange(leaf, 0, len(people), start, codes, held, order, arranged, arranged_held)
    assert order.tolist() == np.argsort(leaf, kind="stable").tolist() == arranged_held.tolist()
    assert arranged.tolist() == codes[:, order].tolist()


@unhurried
@given(cases())
def test_the_largest_targets_are_those_of_the_strategies(problem: Case) -> None:
    f = facts_of(problem)
    people = np.arange(len(problem.people), dtype=np.uint32)
    if problem.history.releases == 0:
        return
    asked = np.zeros((len(people), len(f.base)))
    for person, known in enumerate(problem.people):
        for value, threshold in enumerate(problem.thresholds):
            links, survival = links_and_survival(known, value)
            if links:
                rule = problem.demand.rules[value]
                asked[person, value] = rule.target(float(threshold), links, float(survival))
    found = largest_targets(f, scratch(f), people, 0, len(people))
    assert found.tolist() == pytest.approx(asked.max(axis=0).tolist(), rel=1e-6)
    neediest = np.empty(len(people))
    find_neediest(f, scratch(f), 0, len(people), neediest)
    assert neediest.tolist() == pytest.approx(asked.max(axis=1).tolist(), rel=1e-6)


@numba.njit
def dealt(f, s, people, size, slot):  # type: ignore[no-untyped-def]
    everybody = Cell(0, len(people))
    present, touched = tally(f, s, people, everybody)
    groups = deal(f, s, people, everybody, Quota(present, touched, size, 0), f.base, slot)
    clear(s, touched)
    return groups


@unhurried
@given(cases(), st.integers(1, 12))
def test_dealt_groups_are_even_and_hold_what_they_may(problem: Case, size: int) -> None:
    f = facts_of(problem)
    people = np.arange(len(problem.people), dtype=np.uint32)
    slot = np.zeros(len(people), dtype=np.uint32)
    groups = dealt(f, scratch(f), people, size, slot)
    if groups == 0:
        return
    members = Counter(slot.tolist())
    assert sorted(members) == list(range(groups)) == list(range(len(people) // size))
    assert max(members.values()) - min(members.values()) <= 1
    held = Counter(
        (int(slot[number]), value)
        for number, person in enumerate(problem.people)
        for value in person.held
    )
    least = len(people) // groups - f.known
    assert all(count * f.base[value] <= least * (1 + SLACK) for (_, value), count in held.items())
