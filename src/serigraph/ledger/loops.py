"""Loops over all that past releases said, in NumPy: for commands that need no other compiled code,
since Numba's start takes longer than most of them. ``kernels`` has the same, compiled."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.threads import TOGETHER, slices


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
    number: NDArray[np.integer],
    run_group: NDArray[np.uint32],
    run_start: NDArray[np.integer],
) -> tuple[int, int, bool]:
    """See ``kernels.list_entries``."""
    ascend = True
    for part in slices(len(code), longest=TOGETHER):
        value = values[code[part]]
        named = value >= 0
        value, groups = value[named], group[part][named]
        mine = value + group_key[groups] + count[part][named].astype(np.int64) * per_count
        if len(key_of):
            new = np.unique(mine[number_of[mine] < 0])
            first, found = found, found + len(new)
            if found > len(key_of):
                return runs, found, ascend
            number_of[new] = np.arange(first, found)
            key_of[first:found] = new
            mine = number_of[mine]
        begin = int(run_start[runs])
        number[begin : begin + len(mine)] = mine
        before = [run_group[runs - 1]] if runs else []
        groups = np.concatenate([np.array(before, dtype=groups.dtype), groups])
        key: NDArray[Any] = number[begin - len(before) : begin + len(mine)]
        value = (key_of[key] if len(key_of) else key) % per_size
        is_next = groups[1:] != groups[:-1]
        ascend &= bool((np.where(is_next, groups[1:] > groups[:-1], value[1:] > value[:-1])).all())
        starts = np.flatnonzero(np.append(not before, is_next)[: len(groups)])
        end = runs + len(starts)
        run_group[runs:end] = groups[starts]
        run_start[runs:end] = begin - len(before) + starts
        run_start[end] = begin + len(mine)
        runs = end
    return runs, found, ascend


def renumber(
    number: NDArray[np.integer], number_of: NDArray[np.integer], renumbered: NDArray[np.integer]
) -> None:
    """See ``kernels.renumber``."""
    for part in slices(len(number), longest=TOGETHER):
        renumbered[part] = number_of[number[part]]


def place_members(
    person: NDArray[np.uint32],
    group: NDArray[np.uint32],
    number: NDArray[np.int32],
    place: NDArray[Any],
    groups: NDArray[np.int32],
) -> None:
    """See ``kernels.place_members``."""
    for part in slices(len(person), longest=TOGETHER):
        groups[place[person[part]]] = number[group[part]]
