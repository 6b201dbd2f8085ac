"""The twice factorised past says what the groups held, however sparse the numbers are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.settings import unhurried
from serigraph.model import Exposures, Past, kind_of_numbers

_few = st.integers(0, 4)
_far = st.integers(0, 2**31 - 1)


@st.composite
def compositions(draw: st.DrawFn) -> list[tuple[int, list[tuple[int, int]]]]:
    """Some groups: the size, and a value and a count for each thing held."""
    number = draw(st.sampled_from([_few, _far]))
    held = st.lists(st.tuples(number, number), max_size=5)
    return draw(st.lists(st.tuples(number, held), max_size=6))


@unhurried
@given(compositions())
def test_exposures_are_what_groups_held(groups: list[tuple[int, list[tuple[int, int]]]]) -> None:
    exposures = Exposures.of(
        lengths=[len(held) for _, held in groups],
        value=[value for _, held in groups for value, _ in held],
        count=[count for _, held in groups for _, count in held],
        size=[size for size, _ in groups],
    )
    parts = (exposures.value, exposures.count, exposures.size)
    told = list(zip(*(part.tolist() for part in parts), strict=True))
    entries = [(value, count, size) for size, held in groups for value, count in held]
    assert [told[number] for number in exposures.number.tolist()] == entries
    assert sorted(told) == sorted(set(entries))


GROUPS = np.array([[0, -1], [1, 2], [-1, 2]], dtype=np.int32)


def three_groups() -> Past:
    return Past.of_groups(GROUPS, [1, 2, 1], [0, 0, 1, 1], [1, 1, 2, 1], [4, 5, 6])


def test_a_subset_keeps_the_groups_of_its_people() -> None:
    history = three_groups()
    kept = history.subset(np.array([True, False, True]))
    assert kept.groups.tolist() == [[0, -1], [-1, 5]]
    assert kept.groups.flags.c_contiguous
    assert np.array_equal(kept.lists, history.lists)


def test_what_groups_held_is_found_where_their_lists_begin() -> None:
    history = three_groups()
    assert history.groups.tolist() == [[0, -1], [2, 5], [-1, 5]]
    assert history.lists[[0, 2, 5]].tolist() == [1, 2, 1]
    lengths, exposures = history.held(np.array([5, 2, 5]))
    assert lengths.tolist() == [1, 2, 1]
    assert history.size[exposures].tolist() == [6, 5, 5, 6]
    assert history.value[exposures].tolist() == [1, 0, 1, 1]
    assert [array.tolist() for array in history.held(np.array([], dtype=np.int32))] == [[], []]


def test_groups_that_nobody_is_left_in_get_no_number() -> None:
    history = three_groups()
    number, lengths, exposures = history.numbered()
    assert np.array_equal(number, GROUPS)
    assert (lengths.tolist(), history.size[exposures].tolist()) == ([1, 2, 1], [4, 5, 5, 6])
    number, lengths, exposures = history.subset(np.array([False, True, False])).numbered()
    assert number.tolist() == [[0, 1]]
    assert (lengths.tolist(), history.size[exposures].tolist()) == ([2, 1], [5, 5, 6])


@pytest.mark.parametrize(
    ("exposures", "kind"), [(0, np.uint16), (65_535, np.uint16), (65_536, np.int32)]
)
def test_numbers_tell_how_many_exposures_a_group_has(exposures: int, kind: type) -> None:
    """A group may have all of them."""
    assert kind_of_numbers(exposures) is kind
    assert np.iinfo(kind).max >= exposures
