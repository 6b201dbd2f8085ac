"""Sorting by small numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.model import order_by, order_by_keys, ranked, starts_of
from serigraph.runtime.threads import TOGETHER


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 3)))
def test_equal_numbers_stay_in_their_order(numbers: list[int]) -> None:
    expected = sorted(range(len(numbers)), key=lambda place: numbers[place])
    assert order_by(np.array(numbers, dtype=np.int64)).tolist() == expected


KEYS = st.integers(0, 2**64 - 1) | st.integers(0, 3) | st.integers(2**63, 2**63 + 3)


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1) | st.integers(0, 2), KEYS)))
def test_keys_decide_between_equal_numbers(pairs: list[tuple[int, int]]) -> None:
    numbers = np.array([number for number, _ in pairs], dtype=np.int64)
    keys = np.array([key for _, key in pairs], dtype=np.uint64)
    expected = sorted(range(len(pairs)), key=lambda place: pairs[place])
    assert order_by_keys(keys, numbers).tolist() == expected
    expected = sorted(range(len(pairs)), key=lambda place: pairs[place][1])
    assert order_by_keys(keys).tolist() == expected


@given(
    st.lists(st.integers(-3, 3))
    | st.lists(st.integers(-(2**40), 2**40))
    | st.lists(st.integers(-(2**63), 2**63 - 1))
)
def test_ranks_are_places_among_the_different_ones(numbers: list[int]) -> None:
    different, rank = ranked(np.array(numbers, dtype=np.int64))
    assert different.tolist() == sorted(set(numbers))
    assert [different[place] for place in rank] == numbers


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.uint32])
@pytest.mark.parametrize("times", [1, 100])  # far apart for their number, and not
def test_narrow_numbers_are_ranked_over_their_whole_range(
    kind: type[np.integer], times: int
) -> None:
    low, high = np.iinfo(kind).min, min(np.iinfo(kind).max, np.iinfo(kind).min + 2**16)
    different, rank = ranked(np.repeat(np.array([high, low, low + 3, high], dtype=kind), times))
    assert different.tolist() == [low, low + 3, high]
    assert rank.tolist() == np.repeat([2, 0, 1, 2], times).tolist()


@given(st.lists(st.lists(st.integers(-3, 3) | st.integers(-(2**40), 2**40)), min_size=1))
def test_numbers_in_pieces_have_the_ranks_that_they_have_together(pieces: list[list[int]]) -> None:
    arrays = [np.array(piece, dtype=np.int64) for piece in pieces]
    room = np.full(sum(map(len, pieces)), -1, dtype=np.int32)
    different, rank = ranked(arrays, room)
    expected, places = ranked(np.concatenate(arrays))
    assert different.tolist() == expected.tolist()
    assert room.tolist() == rank.tolist() == places.tolist()


@given(st.lists(st.integers(0, 9)), st.integers(10, 12))
def test_starts_are_where_a_search_finds_them(numbers: list[int], many: int) -> None:
    ascending = np.array(sorted(numbers), dtype=np.int64)
    expected = np.searchsorted(ascending, np.arange(many + 1))
    assert starts_of(ascending, many).tolist() == expected.tolist()


def test_starts_are_the_same_where_threads_share_the_work() -> None:
    many = 5 * TOGETHER + 3
    ascending = np.sort(np.random.default_rng(1).integers(0, many, 1000))
    expected = np.searchsorted(ascending, np.arange(many + 1))
    assert np.array_equal(starts_of(ascending, many), expected)
