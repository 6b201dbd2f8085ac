"""Strata: a cell of people with a past is dealt in parts, those who need large groups apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.counts import clear, group_size, holders_in, size_for, tally
from serigraph.grouping.dealing import Quota, deal
from serigraph.grouping.layout import (
    FAILED,
    FEW,
    PAST_BATCH,
    PLAIN,
    SLACK,
    VALID,
    Cell,
    GroupingInput,
    Scratch,
)
from serigraph.grouping.past import find_past, own_target
from serigraph.grouping.sorted_cell import SORTED_AT_ONCE, sort_codes
from serigraph.runtime.compiled import allocating_helper, int64, kernel_helper

SIMILAR = 1.25  # targets within this factor are dealt together
NEED_STEPS, LARGEST_NEED = 64.0, 4e9  # how finely targets are sorted
DEVIATIONS = 3.0  # above the number that chance puts into a stratum


@allocating_helper
def deal_cell(
    f: GroupingInput,
    s: Scratch,
    people: NDArray[np.uint32],
    cell: Cell,
    last_resort: bool,
    slot: NDArray[np.uint32],
) -> tuple[int, int]:
    """Deal a cell into groups that are as small as possible; returns its state and their number.

    A small cell is not dealt into groups larger than necessary: it is better merged with a
    neighbour, unless that is no longer possible (``last_resort``), or would tell where holders are.
    """
    present, touched = tally(f, s, people, cell)
    length = cell.end - cell.begin
    state, groups = int64(PLAIN), int64(0)
    if touched > 0 or f.minimum_size > 1:
        size = group_size(f, s, touched)
        largest = length if last_resort or f.blind else min(size, length)
        if f.past.shape[1] > 0:
            groups = deal_strata(f, s, people, cell, touched, slot)
            largest = int64(0)
        while groups == 0 and size <= largest:
            quota = Quota(present, touched, size, 0)
            groups = deal(f, s, people, cell, quota, f.base, slot)
            size = max(size + 1, size + size // 5)
            # As many groups as before would be the same, and fail again.
            while (
                length // size == length // quota.size and present // size == present // quota.size
            ):
                size += 1
        state = int64(VALID if groups > 0 else FAILED)
    clear(s, touched)
    return state, groups


@allocating_helper
def deal_strata(
    f: GroupingInput,
    s: Scratch,
    people: NDArray[np.uint32],
    cell: Cell,
    touched: int,
    slot: NDArray[np.uint32],
) -> int:
    """Deal a cell of people with a past: those who need large groups separately from the others.

    Strata depend only on people's pasts and on the cell's counts. In each, every member's budget
    allows every value of the cell in every group, so that who holds a value does not affect who
    sits where. If chance has put too many holders into a stratum, the cell is dealt as one, in
    groups as large as necessary. Returns the number of groups, or 0.
    """
    a, b = cell.begin, cell.end
    target = sort_by_needs(f, s, people, cell, touched)
    ends = np.empty(b - a + 1, dtype=np.int64)
    strata = int64(0)
    if size_for(f, target[b - 1 - a] * (1.0 - SLACK)) <= b - a:
        strata = part_strata(f, s, people, cell, touched, target, ends)
    values, holders = np.empty(touched, dtype=np.uint32), np.empty(touched, dtype=np.int64)
    for t in range(touched):
        values[t], holders[t] = s.touched[t], s.holders[s.touched[t]]
    clear(s, touched)
    groups = int64(0)
    if strata > 1:
        groups = deal_each(f, s, people, target, ends, strata, slot)
    if groups == 0 and strata > 0:
        ends[0], ends[1] = b, a
        groups = deal_each(f, s, people, target, ends, int64(1), slot)
    for t in range(touched):
        s.touched[t], s.holders[values[t]] = values[t], holders[t]
    return groups


@allocating_helper
def deal_each(
    f: GroupingInput,
    s: Scratch,
    people: NDArray[np.uint32],
    target: NDArray[np.float64],
    ends: NDArray[np.int64],
    strata: int,
    slot: NDArray[np.uint32],
) -> int:
    """Deal each of the ``strata``: they lie between ``ends``, which descend. ``target`` has what
    each of the cell's people requires, ascending. A single stratum may get groups larger than
    necessary, and so may all if cuts are blind: what a stratum holds does not change who is in it.
    Returns the number of groups, or 0 if a stratum cannot be dealt."""
    a = ends[strata]
    groups = int64(0)
    found = int64(1)
    k = 0
    while found > 0 and k < strata:
        stratum = Cell(ends[k + 1], ends[k])
        length = stratum.end - stratum.begin
        highest = target[stratum.end - 1 - a]
        need = np.full(len(f.base), highest) if strata > 1 else s.need
        size = whole_size(f, highest * (1.0 - SLACK))
        present, touched = tally(f, s, people, stratum)
        found = int64(0)
        while found == 0 and size <= length:
            quota = Quota(present, touched, size, groups)
            found = deal(f, s, people, stratum, quota, need, slot)
            grows = strata == 1 or f.blind
            size = max(size + 1, size + size // 5) if grows else length + 1
        clear(s, touched)
        groups += found
        k += 1
    return groups if found > 0 else int64(0)


@kernel_helper
def whole_size(f: GroupingInput, target: float) -> int:
    """The size of a group that meets a ``target``."""
    return max(f.minimum_size, int(size_for(f, np.ceil(target))))


@kernel_helper
def part_strata(
    f: GroupingInput,
    s: Scratch,
    people: NDArray[np.uint32],
    cell: Cell,
    touched: int,
    target: NDArray[np.float64],
    ends: NDArray[np.int64],
) -> int:
    """Split a cell whose people are sorted by ``target``; writes the ``ends`` of the strata, which
    descend, and behind them where the last one begins. Returns their number."""
    a, b = cell.begin, cell.end
    _, apart = holders_in(f, people, cell)
    strata, end = int64(0), b
    while end > a:
        size = whole_size(f, target[end - 1 - a] * (1.0 - SLACK))
        similar = int64(0)
        while end - similar > a and size_for(f, target[end - similar - 1 - a]) * SIMILAR > size:
            similar += 1
        begin = end - stratum_room(f, s, touched, b - a, size, similar, apart)
        if begin > a:  # the rest must be valid too
            below = whole_size(f, target[begin - 1 - a])
            if begin - a < stratum_room(f, s, touched, b - a, below, below, apart):
                begin = a
        ends[strata] = end
        strata += 1
        end = max(begin, a)
    ends[strata] = a
    return strata


@kernel_helper
def stratum_room(
    f: GroupingInput,
    s: Scratch,
    touched: int,
    length: int,
    size: int,
    least: int,
    apart: int,
) -> int:
    """How many people a stratum needs that has at least ``least`` of the cell's ``length`` people,
    so that groups of ``size`` have room for its holders: for all that the cell has of a value or,
    if these are many and cuts need not be blind, for well more than chance puts there. Holders of
    sets need ``apart`` groups in any case."""
    room = max(least, size)
    is_enough = False
    while not is_enough and room < length:
        asked = float(apart)
        for t in range(touched):
            holders = s.holders[s.touched[t]]
            mean = holders * room / length
            likely = max(mean + DEVIATIONS * np.sqrt(mean), float(FEW))
            asked = max(asked, float(holders) if f.blind else min(float(holders), likely))
        is_enough = room // size >= asked
        room += 0 if is_enough else size
    return room


@allocating_helper
def sort_by_needs(
    f: GroupingInput, s: Scratch, people: NDArray[np.uint32], cell: Cell, touched: int
) -> NDArray[np.float64]:
    """Sort the people of a cell by the largest target that their past requires for any touched
    value; returns these targets, ascending, and writes the largest one of each value. Does not look
    at who holds a value."""
    for t in range(touched):
        s.need[s.touched[t]] = 0.0
    n = cell.end - cell.begin
    target = np.empty(n)
    code = np.empty(n, dtype=np.uint32)
    for i in range(n):
        first = cell.begin + i
        if i % PAST_BATCH == 0:
            find_past(f, s, people, Cell(first, min(first + PAST_BATCH, cell.end)))
        target[i] = own_target(f, s, touched, i % PAST_BATCH)
        code[i] = np.uint32(min(target[i] * NEED_STEPS, LARGEST_NEED))
    ranked, spare = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    sort_codes(code, ranked, spare, np.empty(SORTED_AT_ONCE + 1, dtype=np.uint32))
    ordered = np.empty(n)
    highest = 0.0
    for i in range(n):
        spare[i] = people[cell.begin + ranked[i]]
        highest = max(highest, target[ranked[i]])  # targets are unordered within a step
        ordered[i] = highest
    for i in range(n):
        people[cell.begin + i] = spare[i]
    return ordered
