"""Compiled loops over all that past releases said; ``loops`` has them without Numba."""

from __future__ import annotations

import numpy as np

from serigraph.runtime.compiled import kernel


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
    lists,
    run_group,
    run_begin,
):
    """Write a number for each entry of a piece whose value is asked for; others have a negative one
    in ``values``. Each entry has a key: the value, which is less than ``per_size``, and the key of
    the group, and the count times ``per_count``. Keys are numbered as they occur, and ``found`` are
    numbered already: ``number_of`` each key, negative if there is none, and the ``key_of`` each
    number. Without room for these, the key itself is written.

    Entries of a group that follow each other are a run. They are written to ``lists``, behind their
    number, and it is written of which group they are and where that begins; so many ``runs`` are
    written already, and behind them where the next one begins. Returns the number of runs, that of
    keys, and whether groups ascend, and values within each, from the last entry before. Where there
    is no room for all of them, or for all runs, more keys are said to be there than there is room
    for; nothing else counts then.
    """
    end = np.int64(run_begin[runs])
    begin = end
    ascend = True
    is_numbered = len(key_of) > 0
    last_group, last_value = np.int64(-1), np.int64(-1)
    if runs > 0:
        begin = np.int64(run_begin[runs - 1])
        last_group, last_key = np.int64(run_group[runs - 1]), np.int64(lists[end - 1])
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
                    return runs, len(key_of) + 1, ascend
                number_of[np.uint64(mine)] = found
                key_of[found] = mine
                found += 1
            mine = np.int64(number_of[np.uint64(mine)])
        if my_group == last_group:
            ascend &= last_value < value
        else:
            ascend &= last_group < my_group
            if runs == len(run_group):
                return runs, len(key_of) + 1, ascend
            lists[np.uint64(begin)] = end - begin - 1
            begin = end
            run_group[np.uint64(runs)] = my_group
            run_begin[np.uint64(runs)] = begin
            runs += 1
            end += 1
        lists[np.uint64(end)] = mine
        last_group, last_value = my_group, value
        end += 1
    if runs > 0:
        lists[np.uint64(begin)] = end - begin - 1
    run_begin[runs] = end
    return runs, found, ascend


@kernel
def renumber(lists, begin, number_of, renumbered):
    """Write lists anew that begin at these places, behind the last of which they end, with the new
    number of each number."""
    for g in range(len(begin) - 1):
        renumbered[np.uint64(begin[g])] = lists[np.uint64(begin[g])]
        for i in range(np.uint64(begin[g] + 1), np.uint64(begin[g + 1])):
            renumbered[i] = number_of[np.uint64(lists[i])]


@kernel
def place_members(person, group, begin, place, groups):
    """Write where the list of each member's group begins to the person's place."""
    for i in range(len(person)):
        groups[place[person[i]]] = begin[group[i]]
