"""Numbering: groups are numbered consecutively; people who need none join those equal to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.districts import PARTS, Districts
from serigraph.grouping.layout import BEGIN, BOX, END, GROUPS
from serigraph.grouping.sorted_cell import SCATTERING
from serigraph.runtime.compiled import int64, kernel
from serigraph.runtime.threads import parallel_map, slices, threads


@dataclass(frozen=True)
class Grouping:
    """A proposal: the group of every person, and the box of codes of every group."""

    group: NDArray[np.int64]
    low: NDArray[np.int32]  # [group, column]
    high: NDArray[np.int32]
    is_point: NDArray[np.bool_]  # [group] its people need no group, and have equal codes

    @property
    def groups(self) -> int:
        return len(self.low)


@dataclass(frozen=True)
class Formed:
    """Cells that are groups or were dealt into groups, or whose people need none."""

    cells: NDArray[np.int64]
    order: NDArray[np.uint32]
    slot: NDArray[np.uint32]  # for each place in the order, the group within the cell


def number_groups(formed: Formed, drawn: Districts, *, has_boxes: bool) -> Grouping:
    """Number groups consecutively; people who need none are grouped with those of equal codes."""
    cells = formed.cells[np.argsort(formed.cells[:, BEGIN])]
    groups = cells[:, GROUPS]
    is_plain = groups == 0
    dealt, number = cells[~is_plain], int(groups.sum())
    first = np.cumsum(groups) - groups
    places, first[is_plain] = _number_plain(formed, drawn, cells[is_plain], number)
    group = np.empty(len(drawn.people), dtype=np.int64)
    parallel_map(
        lambda part: write_groups(
            formed.order, drawn.people, cells[part], first[part], formed.slot, group
        ),
        slices(len(cells)),
    )
    is_point = np.arange(number + len(places)) >= number
    if not has_boxes:
        nothing = np.empty((len(is_point), 0), dtype=np.int32)
        return Grouping(group, nothing, nothing, is_point)
    points = drawn.input.codes[:, places].T
    low, high = np.split(dealt[:, BOX:], 2, axis=1)
    return Grouping(
        group,
        np.concatenate([low, points]).astype(np.int32),
        np.concatenate([high, points]).astype(np.int32),
        is_point,
    )


def _number_plain(
    formed: Formed, drawn: Districts, cells: NDArray[np.int64], number: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Number the people of plain cells by their quasi-identifiers, from ``number`` on. Returns one
    person's place for each number, and the first number of each cell."""
    begins = drawn.cells[:, BEGIN]
    district = np.searchsorted(begins, cells[:, BEGIN], side="right") - 1
    # Districts are not split: people with equal codes are in the same one.
    parts = np.array_split(np.arange(len(begins)), min(PARTS * threads(), len(begins)))
    bounds = [np.searchsorted(district, part[0]) for part in parts] + [len(cells)]
    people = cells[:, END] - cells[:, BEGIN]

    def number_part(here: slice) -> NDArray[np.uint32]:
        largest = int(np.bincount(district[here], people[here]).max(initial=0))
        table = np.empty(2 << largest.bit_length(), dtype=np.uint32)
        somebody = np.empty(people[here].sum(), dtype=np.uint32)
        codes, order, slot = drawn.input.codes, formed.order, formed.slot
        numbers = number_alike(codes, order, cells[here], district[here], table, slot, somebody)
        return somebody[:numbers].copy()

    found = parallel_map(number_part, map(slice, bounds[:-1], bounds[1:]))
    numbers = [len(somebody) for somebody in found]
    first = number + np.cumsum(numbers) - numbers
    return np.concatenate(found), np.repeat(first, np.diff(bounds))


@kernel
def number_alike(
    codes: NDArray[np.integer],
    order: NDArray[np.uint32],
    cells: NDArray[np.int64],
    district: NDArray[np.int64],
    table: NDArray[np.uint32],
    slot: NDArray[np.uint32],
    somebody: NDArray[np.uint32],
) -> int:
    """Number the people of these cells by their ``codes``, from 0 on, the same number for equal
    codes: in ``slot``, like groups within a cell. Writes ``somebody`` with each number; returns how
    many numbers there are.

    People with equal codes are in the same ``district`` (one number per cell), and the cells of a
    district follow each other: so numbers are looked up in a ``table`` that stays in the
    processor's cache. Its length is a power of two, larger than any district.
    """
    bits = np.uint64(0)
    while len(table) >> int64(bits) > 1:
        bits += np.uint64(1)
    numbers = int64(0)
    for i in range(len(cells)):
        if i == 0 or district[i] != district[i - 1]:
            table[:] = 0  # 0 is free; numbers are stored plus 1
        for k in range(cells[i, BEGIN], cells[i, END]):
            person = order[k]
            mixed = np.uint64(0)
            for e in range(codes.shape[0]):
                mixed = (mixed ^ np.uint64(codes[e, person])) * SCATTERING  # wraps around
            place = int64(mixed >> (np.uint64(64) - bits))
            differ = True
            while differ:
                if table[place] == 0:
                    somebody[numbers] = person
                    numbers += 1
                    table[place] = numbers
                number = int64(table[place]) - 1
                differ = False
                for e in range(codes.shape[0]):
                    differ |= codes[e, person] != codes[e, somebody[number]]
                slot[k] = number
                place = (place + 1) & (len(table) - 1)
    return numbers


@kernel
def write_groups(
    order: NDArray[np.uint32],
    people: NDArray[np.uint32],
    cells: NDArray[np.int64],
    first: NDArray[np.int64],
    slot: NDArray[np.uint32],
    group: NDArray[np.int64],
) -> None:
    """Write the ``group`` of everybody in these cells: the ``first`` one of the cell plus ``slot``.
    The order has places among the people."""
    for i in range(len(cells)):
        for k in range(cells[i, BEGIN], cells[i, END]):
            group[people[order[k]]] = first[i] + slot[k]
