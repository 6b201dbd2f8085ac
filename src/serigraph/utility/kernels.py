"""Compiled parts of the measures. All in one module: Numba's cache does not see other ones change.

Entries are (person, value) pairs or (group, value) cells, sorted by value; ``start[v]`` is the
first entry of value v, so that a range of values is a range of entries. A query is one row of
``column`` (the quasi-identifiers asked about), of ``low`` and ``high`` (their ranges of codes), and
a range of values from ``first`` to ``last``, all ends included. Queries come ascending by ``first``
and ``last``: the counts of the values in range are carried on from one query to the next.

Answers are written where the last argument says, and all room that is needed comes from outside: to
make arrays takes Numba longer to compile than most of what is done with them.
"""

from __future__ import annotations

import numpy as np

from serigraph.runtime.compiled import kernel, kernel_helper


@kernel_helper
def move_window(held, owner, count, start, window, first, last):
    """Let ``held`` count what each owner has of the values first..last; it had the window's, which
    is (0, -1) before the first query."""
    for e in range(start[window[0]], start[min(first, window[1] + 1)]):
        held[owner[e]] -= count[e]
    for e in range(start[max(first, window[1] + 1)], start[last + 1]):
        held[owner[e]] += count[e]
    window[0], window[1] = first, last


@kernel_helper
def mark_inside(codes, column, low, high, inside):
    """Say of each person whether its codes lie in a query's ranges."""
    for i in range(len(inside)):
        inside[i] = 1
    for k in range(len(column)):
        of_column = codes[column[k]]
        a, b = low[k], high[k]
        for i in range(len(inside)):
            inside[i] &= np.uint8(of_column[i] >= a) & np.uint8(of_column[i] <= b)


@kernel
def count_people(
    person, count, start, codes, column, low, high, first, last, held, window, inside, counts
):
    """How many (person, value) pairs each query asks for."""
    for q in range(len(first)):
        move_window(held, person, count, start, window, first[q], last[q])
        mark_inside(codes, column[q], low[q], high[q], inside)
        found = 0
        for i in range(len(inside)):
            found += held[i] * inside[i]
        counts[q] = found


@kernel
def estimate_from_regions(
    group,
    count,
    start,
    region_low,
    region_high,
    per_code,
    column,
    low,
    high,
    first,
    last,
    held,
    window,
    share,
    estimates,
):
    """What each query would count if the people of a group were spread evenly over its region.

    Regions are [column, group], and so is the share of a region that each of its codes has.
    """
    groups = region_low.shape[1]
    for q in range(len(first)):
        move_window(held, group, count, start, window, first[q], last[q])
        for g in range(groups):
            share[g] = held[g]
        for k in range(column.shape[1]):
            c = column[q, k]
            a, b = np.int32(low[q, k]), np.int32(high[q, k])
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
    group,
    count,
    start,
    member_group,
    member_codes,
    size,
    column,
    low,
    high,
    first,
    last,
    held,
    window,
    expected,
    inside,
    estimates,
):
    """What each query would count if the values of a group were dealt to its members at random."""
    for q in range(len(first)):
        if first[q] != window[0] or last[q] != window[1]:
            move_window(held, group, count, start, window, first[q], last[q])
            for g in range(len(size)):
                expected[g] = held[g] / size[g]
        mark_inside(member_codes, column[q], low[q], high[q], inside)
        total = 0.0
        for i in range(len(inside)):
            total += inside[i] * expected[member_group[i]]
        estimates[q] = total


@kernel
def density_from_regions(
    codes, start, cell_group, cell_count, cell_start, region_low, region_high, volume, along
):
    """The number of people that a generalised release puts at the codes and value of each entry.

    The regions that hold a value are swept in the order of one column, ``along``: those that were
    passed are dropped.
    """
    density = np.zeros(codes.shape[1])
    active = np.empty(len(cell_group), dtype=np.int64)
    for v in range(len(start) - 1):
        entries = start[v] + np.argsort(codes[along, start[v] : start[v + 1]])
        begin, end = cell_start[v], cell_start[v + 1]
        cells = begin + np.argsort(region_low[along][cell_group[begin:end]])
        upcoming, open_cells = 0, 0
        for e in entries:
            code = codes[along, e]
            while upcoming < len(cells) and region_low[along, cell_group[cells[upcoming]]] <= code:
                active[open_cells] = cells[upcoming]
                open_cells += 1
                upcoming += 1
            at = 0
            while at < open_cells:
                g = cell_group[active[at]]
                if region_high[along, g] < code:
                    open_cells -= 1
                    active[at] = active[open_cells]
                    continue
                inside = True
                for c in range(codes.shape[0]):
                    if codes[c, e] < region_low[c, g] or codes[c, e] > region_high[c, g]:
                        inside = False
                        break
                if inside:
                    density[e] += cell_count[active[at]] / volume[g]
                at += 1
    return density


@kernel
def density_from_members(
    wanted, values, member_start, member_key, member_count, size, held_start, held, held_count
):
    """The number of people that a bucketised release puts at each wanted (key, value).

    ``wanted`` holds key * values + value, ascending; the keys of group g and how many members
    have each are at ``member_start[g]``, what g holds is at ``held_start[g]``.
    """
    density = np.zeros(len(wanted))
    for g in range(len(size)):
        for i in range(member_start[g], member_start[g + 1]):
            for e in range(held_start[g], held_start[g + 1]):
                at = member_key[i] * values + held[e]
                place = np.searchsorted(wanted, at)
                if place < len(wanted) and wanted[place] == at:
                    density[place] += held_count[e] * member_count[i] / size[g]
    return density
