"""Compiled parts of recalling: what NumPy would need many passes over all memberships for."""

from __future__ import annotations

from serigraph.compiled import kernel


@kernel
def list_exposures(group, code, count, value_of, size_rank, count_rank, kept, lengths, key):
    """List what the groups of a release held of the values that have a number: ``value_of`` their
    code, or -1. Writes the groups that held any, how many each of them held, and every exposure as
    one number: its value, the rank of the group's size, the rank of its count.

    Returns how many groups and exposures there are, or -1 if they do not ascend by group and value.
    """
    sizes = int(size_rank.max()) + 1 if len(size_rank) > 0 else 0
    counts = int(count_rank[-1]) + 1 if len(count_rank) > 0 else 0
    groups = 0
    exposures = 0
    last_group = -1
    last_value = -1
    for i in range(len(group)):
        value = value_of[code[i]]
        if value < 0:
            continue
        g = int(group[i])
        if g != last_group:
            if g < last_group:
                return -1, -1
            kept[groups] = g
            lengths[groups] = 0
            groups += 1
            last_group = g
        elif value <= last_value:
            return -1, -1
        last_value = value
        lengths[groups - 1] += 1
        key[exposures] = (int(value) * sizes + size_rank[g]) * counts + count_rank[count[i]]
        exposures += 1
    return groups, exposures


@kernel
def place_groups(person, group, number, place, groups):
    """Write the new number of each member's group to the member's place."""
    for i in range(len(person)):
        groups[place[person[i]]] = number[group[i]]
