"""Compiled parts of recalling: what NumPy would need many passes over all memberships for."""

from __future__ import annotations

import numpy as np

from serigraph.compiled import kernel

OUT_OF_ORDER, FULL = -1, -2


@kernel
def list_exposures(
    group, code, count, value_of, size_rank, sizes, counts, kept, lengths, number, slots, keys
):
    """List what the groups of a release held of the values that have a number: ``value_of`` their
    code, or -1. Writes the groups that held any, how many each of them held, and the number of each
    exposure. Exposures are numbered as they come by their keys, which are written, too: the value,
    the rank of the group's size below ``sizes``, and the count below ``counts``.

    ``slots``, which are a power of two, are all -1; there are half as many ``keys``. Returns how
    many groups, exposures and different keys there are, or why it stopped.
    """
    groups = 0
    exposures = 0
    different = 0
    last_group = -1
    last_value = -1
    mask = len(slots) - 1
    for i in range(len(group)):
        value = value_of[code[i]]
        if value < 0:
            continue
        g = int(group[i])
        if g != last_group:
            if g < last_group:
                return OUT_OF_ORDER, 0, 0
            kept[groups] = g
            lengths[groups] = 0
            groups += 1
            last_group = g
        elif value <= last_value:
            return OUT_OF_ORDER, 0, 0
        last_value = value
        lengths[groups - 1] += 1
        key = (int(value) * sizes + size_rank[g]) * counts + int(count[i])
        slot = (key ^ key >> 17) & mask
        while slots[slot] >= 0 and keys[slots[slot]] != key:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            if different == len(keys):
                return FULL, 0, 0
            keys[different] = key
            slots[slot] = different
            different += 1
        number[exposures] = slots[slot]
        exposures += 1
    return groups, exposures, different


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
