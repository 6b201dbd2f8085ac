"""Loops over all that past releases said, in NumPy: for commands that need no other compiled code,
since Numba's start takes longer than most of them. ``kernels`` has the same, compiled."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.threads import TOGETHER, slices


def fastest() -> ModuleType:
    """This module, or the compiled one where Numba was started for something else."""
    if "numba" not in sys.modules:
        return sys.modules[__name__]
    from serigraph.ledger import kernels

    return kernels


def list_entries(
    values: NDArray[np.int64],
    code: NDArray[np.int32],
    group: NDArray[np.uint32],
    count: NDArray[np.uint32],
    group_key: NDArray[np.int64],
    per_size: int,
    per_count: int,
    runs: int,
    found: int,
    number_of: NDArray[np.int32],
    key_of: NDArray[np.int64],
    lists: NDArray[np.integer],
    run_group: NDArray[np.uint32],
    run_begin: NDArray[np.integer],
) -> tuple[int, int, bool]:
    """See ``kernels.list_entries``."""
    ascend = True
    for part in slices(len(code), longest=TOGETHER):
        value = values[code[part]]
        named = value >= 0
        value, groups = value[named], group[part][named]
        mine = value + group_key[groups] + count[part][named].astype(np.int64) * per_count
        if not len(mine):
            continue
        if len(key_of):
            new = np.unique(mine[number_of[mine] < 0])
            first, found = found, found + len(new)
            if found > len(key_of):
                return runs, len(key_of) + 1, ascend
            number_of[new] = np.arange(first, found)
            key_of[first:found] = new
            mine = number_of[mine]
        end, last_group, last_value = int(run_begin[runs]), -1, -1
        if runs:
            last_group, last = int(run_group[runs - 1]), int(lists[end - 1])
            last_value = int(key_of[last] if len(key_of) else last) % per_size
        group_before = np.concatenate([[last_group], groups[:-1]])
        is_next = groups != group_before
        value_before = np.concatenate([[last_value], value[:-1]])
        ascend &= bool((np.where(is_next, groups > group_before, value > value_before)).all())
        last, runs = runs, runs + int(is_next.sum())
        if runs > len(run_group):
            return last, len(key_of) + 1, ascend
        place = end + np.arange(len(mine)) + np.cumsum(is_next)
        lists[place] = mine
        run_group[last:runs] = groups[is_next]
        run_begin[last:runs] = place[is_next] - 1
        run_begin[runs] = place[-1] + 1
        changed = run_begin[max(last - 1, 0) : runs + 1].astype(np.int64)
        lists[changed[:-1]] = np.diff(changed) - 1
    return runs, found, ascend


def renumber(
    lists: NDArray[np.integer],
    begin: NDArray[np.integer],
    number_of: NDArray[np.integer],
    renumbered: NDArray[np.integer],
) -> None:
    """See ``kernels.renumber``."""
    lengths = lists[begin[:-1]].copy()  # may lie where they are written to
    for part in slices(len(lists), longest=TOGETHER):
        renumbered[part] = number_of.take(lists[part], mode="clip")
    renumbered[begin[:-1]] = lengths


def place_members(
    person: NDArray[np.uint32],
    group: NDArray[np.uint32],
    begin: NDArray[np.integer],
    place: NDArray[Any],
    groups: NDArray[np.integer],
) -> None:
    """See ``kernels.place_members``."""
    for part in slices(len(person), longest=TOGETHER):
        groups[place[person[part]]] = begin[group[part]]
