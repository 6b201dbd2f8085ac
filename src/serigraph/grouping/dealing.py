"""Dealing: the people of a cell are spread over groups that interleave.

Who sits where depends on values and random keys, never on quasi-identifiers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.counts import counts_fit, sort_values
from serigraph.grouping.layout import SLACK, Cell, GroupingInput, Scratch
from serigraph.runtime.compiled import allocating_helper, int64, kernel_helper

EXCHANGES = 400  # tried for a person who fits nowhere
STRIDE = 7919  # a prime: exchanges are tried with people far apart


class Quota(NamedTuple):
    """How to deal a cell."""

    present: int  # people of the cell that count
    touched: int  # number of values they hold; their tally is in ``s``
    size: int  # approximate size of a group
    first: int  # number of the first group


class Dealing(NamedTuple):
    """A cell while its people are dealt to groups; values have numbers local to the cell."""

    start: NDArray[np.uint32]  # where the values of each person begin in the next
    value: NDArray[np.uint32]
    seat: NDArray[np.int64]  # the group of each, or -1
    member: NDArray[np.uint32]  # [group, place]
    members: NDArray[np.int64]  # of each group
    seats: NDArray[np.int64]  # of each group, taken or free
    cap: NDArray[np.int64]  # most holders of each value in a group
    holders: NDArray[np.int32]  # [group, value]


@allocating_helper
def deal(
    f: GroupingInput,
    s: Scratch,
    people: NDArray[np.uint32],
    cell: Cell,
    quota: Quota,
    need: NDArray[np.float64],
    slot: NDArray[np.uint32],
) -> int:
    """Spread a cell over groups by its ``quota``, with ``need`` members for each holder.

    Writes each person's group to ``slot`` and returns the number of groups, or 0 on failure. Looks
    at values and random keys, never at quasi-identifiers or pasts: inside a cell, a person's seat
    reveals nothing about what the person holds.
    """
    groups = int64((cell.end - cell.begin) // quota.size)
    if groups > 0 and not counts_fit(f, s, need, quota.touched, quota.present, quota.size):
        groups = int64(0)
    if groups > 0:
        sort_values(s, quota.touched)  # in place of the people's order, which must not matter
        who = people[cell.begin : cell.end]
        d = dealing_of(f.held_start, f.held, s, who, groups, quota.touched, need, f.known)
        if seat_all(d, in_turn(f.key, s, who, d, quota.touched)):
            for i in range(cell.end - cell.begin):
                slot[cell.begin + i] = quota.first + d.seat[i]
        else:
            groups = int64(0)
    return groups


@allocating_helper
def dealing_of(
    held_start: NDArray[np.int64],
    held: NDArray[np.int32],
    s: Scratch,
    people: NDArray[np.uint32],
    groups: int,
    touched: int,
    need: NDArray[np.float64],
    known: int,
) -> Dealing:
    """A cell of ``people`` before anybody has a seat in one of the ``groups``, which are to
    have ``need`` members for each holder besides the ``known`` ones; ``held_start`` and ``held``
    are those of the input."""
    n = len(people)
    even = n // groups
    seats = np.empty(groups, dtype=np.int64)
    for g in range(groups):
        seats[g] = even + (1 if g < n % groups else 0)
    cap = np.empty(touched, dtype=np.int64)
    for t in range(touched):
        s.local[s.touched[t]] = t
        cap[t] = int(max(even - known, 0) * (1.0 + SLACK) / need[s.touched[t]])
    start = np.zeros(n + 1, dtype=np.uint32)
    for i in range(n):
        start[i + 1] = start[i] + held_start[people[i] + 1] - held_start[people[i]]
    value = np.empty(start[n], dtype=np.uint32)
    for i in range(n):
        first = held_start[people[i]]
        for k in range(start[i + 1] - start[i]):
            value[start[i] + k] = s.local[held[first + k]]
    return Dealing(
        start,
        value,
        np.full(n, -1, dtype=np.int64),
        np.empty((groups, even + 1), dtype=np.uint32),
        np.zeros(groups, dtype=np.int64),
        seats,
        cap,
        np.zeros((groups, touched), dtype=np.int32),
    )


@allocating_helper
def in_turn(
    key: NDArray[np.int64], s: Scratch, people: NDArray[np.uint32], d: Dealing, touched: int
) -> NDArray[np.int64]:
    """The ``people`` of the dealing ``d``, by their numbers in it, in the order in which they are
    seated: holders of the most frequent value first, then of the next, at random, by the ``key`` of
    everybody, within."""
    n = len(people)
    before = np.zeros(n + 2, dtype=np.int64)  # bucket starts of a counting sort
    for t in range(touched):
        before[n - s.holders[s.touched[t]] + 1] += 1
    for k in range(n + 1):
        before[k + 1] += before[k]
    turn = np.empty(touched, dtype=np.int64)
    for t in range(touched):
        k = n - s.holders[s.touched[t]]
        turn[t] = before[k]
        before[k] += 1
    chance = np.empty(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    free = np.zeros(touched + 2, dtype=np.int64)
    for i in range(n):
        chosen = (key[people[i]] >> 1) & ((1 << 31) - 1)
        other = (chosen * (i + 1)) >> 31  # at or before i
        chance[i] = chance[other]
        chance[other] = i
        first[i] = touched
        for h in range(d.start[i], d.start[i + 1]):
            first[i] = min(first[i], turn[d.value[h]])
        free[first[i] + 1] += 1
    for k in range(touched + 1):
        free[k + 1] += free[k]
    ordered = np.empty(n, dtype=np.int64)
    for k in range(n):
        i = chance[k]
        ordered[free[first[i]]] = i
        free[first[i]] += 1
    return ordered


@kernel_helper
def seat_all(d: Dealing, ordered: NDArray[np.int64]) -> bool:
    """Seat the people of the dealing ``d`` as they are ``ordered``; whether all have a seat."""
    groups = len(d.seats)
    g = int64(0)
    k = 0
    is_seated = True
    while is_seated and k < len(ordered):
        i = ordered[k]
        tried = 0
        while d.seat[i] < 0 and tried < groups:
            if d.members[g] < d.seats[g] and may_join(d, i, g):
                join(d, i, g)
            g = g + 1 if g + 1 < groups else int64(0)
            tried += 1
        is_seated = d.seat[i] >= 0 or exchange(d, i, ordered, k)
        k += 1
    return is_seated


@kernel_helper
def may_join(d: Dealing, i: int, g: int) -> bool:
    """Whether person ``i`` of the dealing ``d`` fits into group ``g`` now."""
    fits = True
    for h in range(d.start[i], d.start[i + 1]):
        t = d.value[h]
        fits = fits and d.holders[g, t] < d.cap[t]
    return fits


@kernel_helper
def join(d: Dealing, i: int, g: int) -> None:
    """Seat person ``i`` of the dealing ``d`` in group ``g``."""
    d.seat[i] = g
    d.member[g, d.members[g]] = i
    d.members[g] += 1
    for h in range(d.start[i], d.start[i + 1]):
        d.holders[g, d.value[h]] += 1


@kernel_helper
def leave(d: Dealing, i: int, g: int) -> None:
    """Take person ``i`` of the dealing ``d`` out of group ``g``."""
    d.seat[i] = -1
    k = 0
    while d.member[g, k] != i:
        k += 1
    d.members[g] -= 1
    d.member[g, k] = d.member[g, d.members[g]]
    for h in range(d.start[i], d.start[i + 1]):
        d.holders[g, d.value[h]] -= 1


@kernel_helper
def exchange(d: Dealing, i: int, placed: NDArray[np.int64], number: int) -> bool:
    """Make room for person ``i`` of the dealing ``d`` by moving one of the first ``number`` people
    ``placed``; whether i has a seat then. Which ones are tried does not depend on i, which is a
    place in the cell, and so on quasi-identifiers."""
    k = 0
    while d.seat[i] < 0 and k < min(number, EXCHANGES):
        x = placed[k * STRIDE % number]
        g = d.seat[x]
        leave(d, x, g)
        other = 0 if may_join(d, i, g) else len(d.seats)
        while d.seat[x] < 0 and other < len(d.seats):
            if other != g and d.members[other] < d.seats[other] and may_join(d, x, other):
                join(d, x, other)
                join(d, i, g)
            other += 1
        if d.seat[x] < 0:
            join(d, x, g)
        k += 1
    return bool(d.seat[i] >= 0)
