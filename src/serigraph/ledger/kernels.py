"""Compiled loops over all that past releases said; ``loops`` has them without Numba."""

from __future__ import annotations

import numpy as np

from serigraph.compiled import kernel


@kernel
def list_entries(value_key, code, group, count, group_key, first, key, of_group, is_there):
    """Write a key for each entry of a piece whose value is asked for, and its group. The key is the
    sum of the count and the keys of value and group; values that are not asked for have a negative
    one. Keys that occur are marked, if there is a mark for each.

    Writes from place ``first`` on; returns the place behind the last entry, and whether groups
    ascend, and keys within each, from the entry before ``first`` on.
    """
    end = first
    ascend = True
    marks = len(is_there) > 0
    last_group, last_key = np.int64(-1), np.int64(-1)
    if first > 0:
        last_group, last_key = np.int64(of_group[first - 1]), np.int64(key[first - 1])
    for i in range(len(code)):
        of_value = value_key[code[i]]
        if of_value < 0:
            continue
        mine, my_group = of_value + group_key[group[i]] + count[i], np.int64(group[i])
        key[end] = mine
        of_group[end] = my_group
        if marks:
            is_there[mine] = True
        ascend &= last_group < my_group or (last_group == my_group and last_key < mine)
        last_group, last_key = my_group, mine
        end += 1
    return end, ascend


@kernel
def renumber(key, number, renumbered):
    """Write the number of each key; both may lie in the same array."""
    for i in range(len(key)):
        renumbered[i] = number[key[i]]


@kernel
def place_members(person, group, number, place, groups):
    """Write the number of the group of each member to the person's place."""
    for i in range(len(person)):
        groups[place[person[i]]] = number[group[i]]
