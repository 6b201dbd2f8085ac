"""The twice factorised past says what the groups held, however sparse the numbers are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.settings import unhurried
from serigraph.model import Compositions, Past

_few = st.integers(0, 4)
_far = st.integers(0, 2**31 - 1)

Group = tuple[int, list[tuple[int, int]]]  # the size, and a value and a count for each thing held


@st.composite
def compositions(draw: st.DrawFn) -> list[Group]:
    number = draw(st.sampled_from([_few, _far]))
    held = st.lists(st.tuples(number, number), max_size=5)
    return draw(st.lists(st.tuples(number, held), max_size=6))


def arrays_of(groups: list[Group]) -> Compositions:
    return Compositions.of(
        lengths=[len(held) for _, held in groups],
        value=[value for _, held in groups for value, _ in held],
        count=[count for _, held in groups for _, count in held],
        size=[size for size, _ in groups],
    )


def entries_of(held: Compositions) -> list[list[tuple[int, int, int]]]:
    """The value, the count and the size of everything that each group held."""
    kinds = list(
        zip(held.value.tolist(), held.count.tolist(), held.size.tolist(), strict=True),
    )
    assert len(set(kinds)) == len(kinds)
    start = held.start.tolist()
    return [
        [kinds[number] for number in held.exposure[begin:end].tolist()]
        for begin, end in pairwise(start)
    ]


def plain(groups: list[Group]) -> list[list[tuple[int, int, int]]]:
    return [[(value, count, size) for value, count in held] for size, held in groups]


@unhurried
@given(compositions())
def test_compositions_are_what_groups_held(groups: list[Group]) -> None:
    held = arrays_of(groups)
    assert entries_of(held) == plain(groups)
    assert held.groups == len(groups)
    dtypes = [held.start.dtype, held.value.dtype, held.count.dtype, held.size.dtype]
    assert dtypes == [np.int64, np.int32, np.int64, np.int64]


@unhurried
@given(st.lists(compositions(), min_size=1, max_size=4))
def test_pieces_behind_each_other_are_one(pieces: list[list[Group]]) -> None:
    joined = Compositions.concatenated([arrays_of(piece) for piece in pieces])
    assert entries_of(joined) == [group for piece in pieces for group in plain(piece)]
    assert np.array_equal(joined.value, arrays_of([g for piece in pieces for g in piece]).value)


GROUPS = np.array([[0, -1], [1, 2], [-1, 2]], dtype=np.int32)
HELD = [(4, [(0, 1)]), (5, [(0, 1), (1, 2)]), (6, [(1, 1)])]


def three_groups() -> Past:
    return Past.of_groups(GROUPS, [1, 2, 1], [0, 0, 1, 1], [1, 1, 2, 1], [4, 5, 6])


def test_what_groups_held_is_found_by_their_numbers() -> None:
    past = three_groups()
    assert np.array_equal(past.group, GROUPS)
    assert entries_of(past.held) == plain(HELD)
    lengths, exposures = past.held.of_groups(np.array([2, 1, 2]))
    assert lengths.tolist() == [1, 2, 1]
    assert past.held.size[exposures].tolist() == [6, 5, 5, 6]
    assert past.held.value[exposures].tolist() == [1, 0, 1, 1]
    nothing = past.held.of_groups(np.array([], dtype=np.int32))
    assert [array.tolist() for array in nothing] == [[], []]


def test_exposures_come_person_by_person_and_release_by_release() -> None:
    past = three_groups()
    person, release, exposure = past.exposures(slice(1, 3))
    assert person.tolist() == [0, 0, 0, 1]
    assert release.tolist() == [0, 0, 1, 1]
    assert past.held.size[exposure].tolist() == [5, 5, 6, 6]
    assert past.held.survival[exposure].tolist() == [1 - 1 / 5, 1 - 2 / 5, 1 - 1 / 6, 1 - 1 / 6]


def test_a_subset_keeps_the_groups_of_its_people() -> None:
    past = three_groups()
    kept = past.subset(np.array([True, False, True]))
    assert kept.group.tolist() == [[0, -1], [-1, 2]]
    assert kept.group.flags.c_contiguous
    assert kept.held is past.held


def test_groups_that_nobody_is_left_in_get_no_number() -> None:
    past = three_groups()
    assert np.array_equal(past.compacted().group, GROUPS)
    alone = past.subset(np.array([False, True, False])).compacted()
    assert alone.group.tolist() == [[0, 1]]
    assert entries_of(alone.held) == plain(HELD[1:])


def test_who_was_in_a_group_that_held_nothing_was_in_none() -> None:
    past = Past.of_groups(np.array([[0, 1], [1, -1]]), [0, 1], [0], [1], [4, 5])
    assert past.group.tolist() == [[-1, 1], [1, -1]]


def test_releases_come_one_behind_the_other() -> None:
    past = three_groups()
    columns = [Compositions.of([1, 2], [0, 0, 1], [1, 1, 2], [4, 5]), arrays_of(HELD[2:])]
    joined = Past.of_releases(np.ascontiguousarray(GROUPS.T), columns)
    assert np.array_equal(joined.group, past.group)
    assert entries_of(joined.held) == entries_of(past.held)
    first = Past.of_groups(GROUPS[:, :1], [1, 2], [0, 0, 1], [1, 1, 2], [4, 5])
    grown = first.followed_by(np.array([-1, 0, 0]), columns[1])
    assert np.array_equal(grown.group, past.group)
    assert entries_of(grown.held) == entries_of(past.held)
    assert first.group.shape == (3, 1)  # as it was


def test_releases_that_had_nobody_come_before() -> None:
    past = three_groups()
    assert past.after(0) is past
    assert past.after(2).group.tolist() == [[-1, -1, *row] for row in GROUPS.tolist()]
    assert past.after(2).releases == 4


@pytest.mark.parametrize(
    ("exposures", "kind"), [(1, np.uint16), (65_536, np.uint16), (65_537, np.int32)]
)
def test_exposures_have_narrow_numbers_while_they_can(exposures: int, kind: type) -> None:
    value = np.arange(exposures)
    held = Compositions.of([exposures], value, np.ones_like(value), [exposures])
    assert held.exposure.dtype == kind
    assert np.array_equal(held.value[held.exposure], value)
