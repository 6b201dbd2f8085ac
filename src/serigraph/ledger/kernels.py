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
    found,
    number_of,
    key_of,
    number,
    run_group,
    run_start,
):
    """Write a number for each entry of a piece whose value is asked for; others have a negative one
    in ``values``. Each entry has a key: the value, which is less than ``per_size``, and the key of
    the group, and the count times ``per_count``. Keys are numbered as they occur, and ``found`` are
    numbered already: ``number_of`` each key, negative if there is none, and the ``key_of`` each
    number. Without room for these, the key itself is written.

    Entries of a group that follow each other are a run, of which group and start are written; so
    many ``runs`` are written already, and behind them where the next one starts. Returns the number
    of runs, that of keys, and whether groups ascend, and values within each, from the last entry
    before. If there are more keys than room for them, that is all that is said.
    """
    end = run_start[runs]
    ascend = True
    is_numbered = len(key_of) > 0
    last_group, last_value = np.int64(-1), np.int64(-1)
    if runs > 0:
        last_group, last_key = np.int64(run_group[runs - 1]), np.int64(number[end - 1])
        last_value = (key_of[last_key] if is_numbered else last_key) % per_size
    for i in range(len(code)):
        value = values[np.uint32(code[i])]
        if value < 0:
            continue
        my_group = np.int64(group[i])
        mine = value + group_key[group[i]] + count[i] * per_count
        if is_numbered:
            if number_of[np.uint64(mine)] < 0:
                if found == len(key_of):
                    return runs, found + 1, ascend
                number_of[np.uint64(mine)] = found
                key_of[found] = mine
                found += 1
            mine = np.int64(number_of[np.uint64(mine)])
        number[np.uint64(end)] = mine
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
    return runs, found, ascend


@kernel
def renumber(number, number_of, renumbered):
    """Write the new number of each number."""
    for i in range(len(number)):
        renumbered[i] = number_of[np.uint64(number[i])]


@kernel
def place_members(person, group, number, place, groups):
    """Write the number of the group of each member to the person's place."""
    for i in range(len(person)):
        groups[place[person[i]]] = number[group[i]]
