"""Compiled loops over all that past releases said; ``loops`` has them without Numba."""

from __future__ import annotations

import numpy as np

from serigraph.compiled import kernel


@kernel
def list_entries(
    values,
    code,
    group,
    count,
    group_key,
    per_size,
    per_count,
    runs,
    key,
    run_group,
    run_start,
    marks,
):
    """Write a key for each entry of a piece whose value is asked for; others have a negative one
    in ``values``. The key is the value, which is less than ``per_size``, and the key of the group,
    and the count times ``per_count``. Keys that occur are marked, if there is a mark for each.

    Entries of a group that follow each other are a run, of which group and start are written; so
    many ``runs`` are written already, and behind them where the next one starts. Returns the number
    of runs, and whether groups ascend, and values within each, from the last entry before.
    """
    end = run_start[runs]
    ascend = True
    is_marked = len(marks) > 0
    last_group, last_value = np.int64(-1), np.int64(-1)
    if runs > 0:
        last_group, last_value = np.int64(run_group[runs - 1]), np.int64(key[end - 1]) % per_size
    for i in range(len(code)):
        value = values[np.uint32(code[i])]
        if value < 0:
            continue
        my_group = np.int64(group[i])
        mine = value + group_key[group[i]] + count[i] * per_count
        key[np.uint64(end)] = mine
        if is_marked:
            marks[np.uint64(mine)] = True
        if my_group == last_group:
            ascend &= last_value < value
        else:
            ascend &= last_group < my_group
            run_group[np.uint64(runs)] = my_group
            run_start[np.uint64(runs)] = end
            runs += 1
        last_group, last_value = my_group, value
        end += 1
    run_start[runs] = end
    return runs, ascend


@kernel
def renumber(number, start, length, number_of, renumbered):
    """Write the new number of each number, list by list, each of which has a start and a length."""
    at = np.uint64(0)
    for g in range(len(start)):
        for i in range(np.uint64(start[g]), np.uint64(start[g] + length[g])):
            renumbered[at] = number_of[np.uint64(number[i])]
            at += np.uint64(1)


@kernel
def find_neighbourhoods(person, group, lives, near):
    """Write for each group the last of the neighbourhoods that its members live in."""
    for i in range(len(person)):
        near[group[i]] = max(near[group[i]], lives[person[i]])


@kernel
def place_members(person, group, number, place, groups):
    """Write the number of the group of each member to the person's place."""
    for i in range(len(person)):
        groups[place[person[i]]] = number[group[i]]
