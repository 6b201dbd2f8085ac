"""Compiled parts of recalling: what NumPy would need many passes over all memberships for."""

from __future__ import annotations

import numpy as np

from serigraph.compiled import kernel

DONE, OUT_OF_ORDER, FULL = 0, 1, 2
GROUPS, ENTRIES, DIFFERENT, LAST_GROUP, LAST_VALUE = 0, 1, 2, 3, 4


@kernel
def list_exposures(
    group,
    code,
    count,
    value_of,
    size_rank,
    sizes,
    counts,
    kept,
    lengths,
    number,
    slots,
    keys,
    so_far,
):
    """List what groups of a release held of the values that have a number: ``value_of`` their code,
    or -1. Writes the groups that held any, how many each of them held, and the number of each
    exposure. Exposures are numbered as they come by their keys, which are written, too: the value,
    the rank of the group's size below ``sizes``, and the count below ``counts``.

    ``slots``, which are a power of two, are all -1 at first; there are half as many ``keys``. Goes
    on with what was listed ``so_far`` of other pieces of the release; entries are those of this
    one. Says whether it is done, or why not.
    """
    entries = 0
    groups, different = so_far[GROUPS], so_far[DIFFERENT]
    last_group, last_value = so_far[LAST_GROUP], so_far[LAST_VALUE]
    mask = len(slots) - 1
    for i in range(len(group)):
        value = np.int64(value_of[code[i]])
        if value < 0:
            continue
        g = np.int64(group[i])
        if g != last_group:
            if g < last_group:
                return OUT_OF_ORDER
            kept[groups] = g
            lengths[groups] = 0
            groups += 1
            last_group = g
        elif value <= last_value:
            return OUT_OF_ORDER
        last_value = value
        lengths[groups - 1] += 1
        key = (value * sizes + size_rank[g]) * counts + np.int64(count[i])
        slot = (key ^ key >> 17) & mask
        while slots[slot] >= 0 and keys[slots[slot]] != key:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            if different == len(keys):
                return FULL
            keys[different] = key
            slots[slot] = different
            different += 1
        number[entries] = slots[slot]
        entries += 1
    so_far[GROUPS], so_far[ENTRIES], so_far[DIFFERENT] = groups, entries, different
    so_far[LAST_GROUP], so_far[LAST_VALUE] = last_group, last_value
    return DONE


@kernel
def place_groups(person, group, number, place, groups):
    """Write the new number of each member's group to the member's place."""
    for i in range(len(person)):
        groups[place[person[i]]] = number[group[i]]


@kernel
def turn(by_release, begin, end, by_person):
    """Write a row for each of these people from a row for each release."""
    for person in range(begin, end):
        for j in range(len(by_release)):
            by_person[person, j] = by_release[j, person]
