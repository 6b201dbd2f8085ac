"""Sorting: the people of a cell in the order of each column, kept in order as the cell is cut."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.counts import value_range
from serigraph.grouping.layout import Cell, GroupingInput, Scratch
from serigraph.runtime.compiled import allocating_helper, int64, kernel_helper

SORTED_DIGITS = 10  # bits of a code sorted at a time
SORTED_AT_ONCE = 1 << SORTED_DIGITS
SCATTERING = np.uint64(0x9E3779B97F4A7C15)  # odd, with multiples far apart


class SortedCell(NamedTuple):
    """The people of a cell, numbered locally, in the order of each column.

    A cell that was cut out of it is a range in all of these orders.
    """

    who: NDArray[np.uint32]
    at: NDArray[np.float64]  # [column, person] position
    ranked: NDArray[np.uint32]  # [column, place] -> person
    value: NDArray[np.uint32]  # one that the person holds, by its number in the cell, or none
    more_start: NDArray[np.uint32]
    more: NDArray[np.uint32]  # the person's other values
    base: NDArray[np.float64]  # target of each value for a person without a past; last, of none
    holders: NDArray[np.float64]  # [side, value] among the people of a side counted so far
    is_left: NDArray[np.bool_]  # [person]
    spare: NDArray[np.uint32]
    begin: NDArray[np.int64]  # of each block: the people between two possible cuts
    block_of: NDArray[np.uint32]  # [place]
    block: NDArray[np.float64]  # [end, block]
    width: NDArray[np.float64]  # [side, blocks on that side]
    need: NDArray[np.float64]  # the same
    cuts: NDArray[np.int64]  # [cut, (column, people on the left, last code on the left)]
    score: NDArray[np.float64]


@allocating_helper
def sorted_cell(
    f: GroupingInput, s: Scratch, people: NDArray[np.uint32], cell: Cell, m: int, touched: int
) -> SortedCell:
    """A view of ``m`` of the people of a cell, sampled evenly: each column's order, sorted once.

    Equal codes are in a scattered order. Values are included only if the view has everybody:
    ``touched`` of them, listed in ``s``.
    """
    columns = f.codes.shape[0]
    who = mixed_people(people, cell, m)
    at = np.empty((columns, m), dtype=np.float64)
    ranked = np.empty((columns, m), dtype=np.uint32)
    code = np.empty(m, dtype=np.uint32)
    spare = np.empty(m, dtype=np.uint32)
    place = np.empty(SORTED_AT_ONCE + 1, dtype=np.uint32)
    for e in range(columns):
        for i in range(m):
            code[i] = f.codes[e, who[i]]
            at[e, i] = f.position[f.offset[e] + code[i]]
        sort_codes(code, ranked[e], spare, place)
    base = np.zeros(touched + 1, dtype=np.float64)
    for t in range(touched):
        s.local[s.touched[t]] = t
        base[t] = f.base[s.touched[t]]
    value, more_start, more = values_of(f, s, who, touched)
    return SortedCell(
        who,
        at,
        ranked,
        value,
        more_start,
        more,
        base,
        np.empty((2, touched + 1), dtype=np.float64),
        np.zeros(m, dtype=np.bool_),
        spare,
        np.empty(m + 1, dtype=np.int64),
        np.empty(m, dtype=np.uint32),
        np.empty((2, m), dtype=np.float64),
        np.empty((2, m + 1), dtype=np.float64),
        np.empty((2, m + 1), dtype=np.float64),
        np.empty((columns * m, 3), dtype=np.int64),
        np.empty(columns * m, dtype=np.float64),
    )


@allocating_helper
def mixed_people(people: NDArray[np.uint32], cell: Cell, m: int) -> NDArray[np.uint32]:
    """A sample of ``m`` people of a cell, taken evenly, in a scattered order."""
    who = np.empty(m, dtype=np.uint32)
    length = cell.end - cell.begin
    for i in range(m):
        person = people[cell.begin + (i if m == length else (i * length) // m)]
        other = (scattered(person) * (i + 1)) >> 32  # at or before i
        who[i] = who[other]
        who[other] = person
    return who


@allocating_helper
def values_of(
    f: GroupingInput, s: Scratch, who: NDArray[np.uint32], touched: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """The values that the people ``who`` hold, by their places in the cell's list: one of each, or
    ``touched`` for none, where the others begin, and the others. Without a list nobody has any."""
    m = len(who)
    value = np.empty(m, dtype=np.uint32)
    more_start = np.zeros(m + 1, dtype=np.uint32)
    for i in range(m):
        first, last = value_range(f, who[i])
        last = last if touched > 0 else first
        value[i] = s.local[f.held[first]] if first < last else touched
        more_start[i + 1] = more_start[i] + max(last - first - 1, 0)
    more = np.empty(more_start[m], dtype=np.uint32)
    for i in range(m if len(more) > 0 else 0):
        for k in range(more_start[i + 1] - more_start[i]):
            more[more_start[i] + k] = s.local[f.held[f.held_start[who[i]] + k + 1]]
    return value, more_start, more


@kernel_helper
def scattered(person: int) -> int:
    """A 32-bit number without a pattern, always the same for a ``person``: it mixes cells well and
    yet the same way for the same table, whatever the random draws. The product wraps around."""
    return int64((np.uint64(person) + np.uint64(1)) * SCATTERING >> np.uint64(32))


@kernel_helper
def rank_of(f: GroupingInput, person: int, d: int) -> int:
    """The code of a ``person``, with a scattered number to break ties."""
    return (int64(f.codes[d, person]) << 32) | scattered(person)


@kernel_helper
def sort_codes(
    code: NDArray[np.uint32],
    ranked: NDArray[np.uint32],
    spare: NDArray[np.uint32],
    place: NDArray[np.uint32],
) -> None:
    """Write the people in the order of their ``code`` to ``ranked``; the sort is stable. ``spare``
    is room for as many, ``place`` for SORTED_AT_ONCE and one more.

    A radix sort, lowest digits first.
    """
    low, high = int64(1 << 32), int64(0)
    for i in range(len(code)):
        ranked[i] = i
        low = min(low, int64(code[i]))
        high = max(high, int64(code[i]))
    digits = 0
    while (high - low) >> digits > 0:
        places = min((high - low) >> digits, SORTED_AT_ONCE - 1) + 1
        for k in range(places + 1):
            place[k] = 0
        for i in range(len(code)):
            place[((code[i] - low) >> digits & (SORTED_AT_ONCE - 1)) + 1] += 1
        for k in range(places):
            place[k + 1] += place[k]
        for i in range(len(code)):
            person = ranked[i]
            k = (code[person] - low) >> digits & (SORTED_AT_ONCE - 1)
            spare[place[k]] = person
            place[k] += 1
        for i in range(len(code)):
            ranked[i] = spare[i]
        digits += SORTED_DIGITS


@kernel_helper
def apply_cut(
    view: SortedCell, cell: Cell, cut: int, order: NDArray[np.uint32], begin: int
) -> None:
    """Split the ``cell`` of a view in every column's order, at a ``cut`` of its list; its people go
    to ``order`` from ``begin`` on."""
    d, on_the_left = view.cuts[cut, 0], view.cuts[cut, 1]
    for i in range(cell.begin, cell.end):
        view.is_left[view.ranked[d, i]] = i < cell.begin + on_the_left
        order[begin + i - cell.begin] = view.who[view.ranked[d, i]]
    for e in range(len(view.ranked)):
        x, y = cell.begin, int64(0)
        for i in range(cell.begin, cell.end if e != d else cell.begin):
            person = view.ranked[e, i]  # branch-free: written to both sides, kept on one
            view.ranked[e, x] = view.spare[y] = person
            x += view.is_left[person]
            y += not view.is_left[person]
        for i in range(y):
            view.ranked[e, x + i] = view.spare[i]
