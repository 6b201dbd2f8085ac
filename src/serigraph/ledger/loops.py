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
    key: NDArray[Any],
    run_group: NDArray[np.uint32],
    run_start: NDArray[np.int64],
    marks: NDArray[np.bool_],
) -> tuple[int, bool]:
    """See ``kernels.list_entries``."""
    ascend = True
    for part in slices(len(code), longest=TOGETHER):
        value = values[code[part]]
        named = value >= 0
        value, groups = value[named], group[part][named]
        mine = value + group_key[groups] + count[part][named].astype(np.int64) * per_count
        begin = int(run_start[runs])
        key[begin : begin + len(mine)] = mine
        if len(marks):
            marks[mine] = True
        before = [run_group[runs - 1]] if runs else []
        groups = np.concatenate([np.array(before, dtype=groups.dtype), groups])
        value = key[begin - len(before) : begin + len(mine)] % per_size
        is_next = groups[1:] != groups[:-1]
        ascend &= bool((np.where(is_next, groups[1:] > groups[:-1], value[1:] > value[:-1])).all())
        first = np.flatnonzero(np.append(not before, is_next)[: len(groups)])
        end = runs + len(first)
        run_group[runs:end] = groups[first]
        run_start[runs:end] = begin - len(before) + first
        run_start[end] = begin + len(mine)
        runs = end
    return runs, ascend


def renumber(
    number: NDArray[np.integer],
    start: NDArray[np.int64],
    length: NDArray[np.integer],
    number_of: NDArray[np.integer],
    renumbered: NDArray[np.integer],
) -> None:
    """See ``kernels.renumber``."""
    entry = np.repeat(start - (np.cumsum(length) - length), length) + np.arange(len(renumbered))
    renumbered[:] = number_of[number[entry]]


def find_neighbourhoods(
    person: NDArray[np.uint32],
    group: NDArray[np.uint32],
    lives: NDArray[np.uint16],
    near: NDArray[np.uint16],
) -> None:
    """See ``kernels.find_neighbourhoods``."""
    np.maximum.at(near, group, lives[person])


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
