"""Kernels of the measures.

A query is a row of ``Queries``. They come ascending by ``first`` and ``last``: the counts of the
values in range are carried over from one query to the next. Scratch arrays are passed in: code that
makes arrays takes Numba longer to compile than most of what is done with them.

Parameters that recur: ``entries`` are (person, value) pairs or (group, value) cells, ``queries``
what is asked, ``window`` what is carried over; ``inside`` is scratch space for a mark of each
person, ``estimates`` is where the answers go.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.compiled import kernel, kernel_helper


class Listed(NamedTuple):
    """Consecutive lists, one for each value, or for each group."""

    start: NDArray[np.int64]  # where each begins, and where the last one ends
    item: NDArray[np.integer]
    times: NDArray[np.integer]  # how often the item is in the list


class Asked(NamedTuple):
    """Queries; all ends are included."""

    column: NDArray[np.int64]  # [query, range] the quasi-identifiers asked about
    low: NDArray[np.int64]  # [query, range] their codes
    high: NDArray[np.int64]
    first: NDArray[np.int64]  # value
    last: NDArray[np.int64]


class Window(NamedTuple):
    """How many entries of a range of values belong to each person, or to each group."""

    held: NDArray[np.int32]
    values: NDArray[np.int64]  # the first and the last; (0, -1) before the first query


class Members(NamedTuple):
    """The people of a bucketised release."""

    group: NDArray[np.int64]
    codes: NDArray[np.int32]  # [column, person]
    size: NDArray[np.int64]  # of each group


@kernel_helper
def move_window(window: Window, entries: Listed, first: int, last: int) -> None:
    """Move the window to the values from ``first`` to ``last``."""
    held, start, values = window.held, entries.start, window.values
    for e in range(start[values[0]], start[min(first, values[1] + 1)]):
        held[entries.item[e]] -= entries.times[e]
    for e in range(start[max(first, values[1] + 1)], start[last + 1]):
        held[entries.item[e]] += entries.times[e]
    values[0], values[1] = first, last


@kernel_helper
def mark_inside(
    codes: NDArray[np.int32], queries: Asked, query: int, inside: NDArray[np.uint8]
) -> None:
    """Mark each person whose ``codes`` lie in the ranges of a ``query``."""
    for i in range(len(inside)):
        inside[i] = 1
    for k in range(queries.column.shape[1]):
        of_column = codes[queries.column[query, k]]
        a, b = queries.low[query, k], queries.high[query, k]
        for i in range(len(inside)):
            inside[i] &= np.uint8(of_column[i] >= a) & np.uint8(of_column[i] <= b)


@kernel
def count_people(
    entries: Listed,
    queries: Asked,
    window: Window,
    codes: NDArray[np.int32],
    inside: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> None:
    """Write to ``counts`` how many (person, value) pairs each query asks for, by everybody's
    ``codes``."""
    for q in range(len(queries.first)):
        move_window(window, entries, queries.first[q], queries.last[q])
        mark_inside(codes, queries, q, inside)
        found = np.int64(0)
        for i in range(len(inside)):
            found += window.held[i] * inside[i]
        counts[q] = found


@kernel
def estimate_from_regions(
    entries: Listed,
    queries: Asked,
    window: Window,
    region_low: NDArray[np.int32],
    region_high: NDArray[np.int32],
    per_code: NDArray[np.float64],
    share: NDArray[np.float64],
    estimates: NDArray[np.float64],
) -> None:
    """What each query would count if the people of a group were spread evenly over its region.

    Regions are [column, group], from ``region_low`` to ``region_high``, and so is ``per_code``, the
    share of a region that each of its codes has. ``share`` is scratch space, a number per group.
    """
    groups = region_low.shape[1]
    for q in range(len(queries.first)):
        move_window(window, entries, queries.first[q], queries.last[q])
        for g in range(groups):
            share[g] = window.held[g]
        for k in range(queries.column.shape[1]):
            c = queries.column[q, k]
            a, b = np.int32(queries.low[q, k]), np.int32(queries.high[q, k])
            lows, highs, scale = region_low[c], region_high[c], per_code[c]
            for g in range(groups):
                common = min(highs[g], b) - max(lows[g], a) + 1
                share[g] *= max(common, 0) * scale[g]
        total = 0.0
        for g in range(groups):
            total += share[g]
        estimates[q] = total


@kernel
def estimate_from_members(
    entries: Listed,
    queries: Asked,
    window: Window,
    members: Members,
    expected: NDArray[np.float64],
    inside: NDArray[np.uint8],
    estimates: NDArray[np.float64],
) -> None:
    """What each query would count if the values of a group were dealt to its ``members`` at random.
    ``expected`` is scratch space for the share of a member of each group."""
    for q in range(len(queries.first)):
        first, last = queries.first[q], queries.last[q]
        if first != window.values[0] or last != window.values[1]:
            move_window(window, entries, first, last)
            for g in range(len(members.size)):
                expected[g] = window.held[g] / members.size[g]
        mark_inside(members.codes, queries, q, inside)
        total = 0.0
        for i in range(len(inside)):
            total += inside[i] * expected[members.group[i]]
        estimates[q] = total


@kernel
def density_from_regions(
    codes: NDArray[np.int32],
    start: NDArray[np.int64],
    entries: Listed,
    region_low: NDArray[np.int32],
    region_high: NDArray[np.int32],
    volume: NDArray[np.float64],
    along: int,
) -> NDArray[np.float64]:
    """The number of people that a generalised release puts at the codes and value of each of those
    asked for: their ``codes`` are [column, asked], and those with value v begin at ``start[v]``.

    The regions that hold a value, [column, group] from ``region_low`` to ``region_high`` with as
    many codes as their ``volume``, are swept in the order of one column, ``along``; those already
    passed are dropped.
    """
    density = np.zeros(codes.shape[1])
    active = np.empty(len(entries.item), dtype=np.int64)
    for v in range(len(start) - 1):
        asked = start[v] + np.argsort(codes[along, start[v] : start[v + 1]])
        begin, end = entries.start[v], entries.start[v + 1]
        cells = begin + np.argsort(region_low[along][entries.item[begin:end]])
        upcoming, open_cells = 0, 0
        for e in asked:
            code = codes[along, e]
            while (
                upcoming < len(cells) and region_low[along, entries.item[cells[upcoming]]] <= code
            ):
                active[open_cells] = cells[upcoming]
                open_cells += 1
                upcoming += 1
            at = 0
            while at < open_cells:
                g = entries.item[active[at]]
                if region_high[along, g] < code:
                    open_cells -= 1
                    active[at] = active[open_cells]
                    continue
                is_inside = True
                for c in range(codes.shape[0]):
                    if codes[c, e] < region_low[c, g] or codes[c, e] > region_high[c, g]:
                        is_inside = False
                        break
                if is_inside:
                    density[e] += entries.times[active[at]] / volume[g]
                at += 1
    return density


@kernel
def density_from_members(
    wanted: NDArray[np.int64],
    values: int,
    members: Listed,
    held: Listed,
    size: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The number of people that a bucketised release puts at each ``wanted`` (key, value).

    ``wanted`` holds key * ``values`` + value, ascending. Each group has a list of the keys of its
    ``members``, one of the values ``held``, and a ``size``.
    """
    density = np.zeros(len(wanted))
    for g in range(len(size)):
        for i in range(members.start[g], members.start[g + 1]):
            for e in range(held.start[g], held.start[g + 1]):
                at = members.item[i] * values + held.item[e]
                place = np.searchsorted(wanted, at)
                if place < len(wanted) and wanted[place] == at:
                    density[place] += held.times[e] * members.times[i] / size[g]
    return density
