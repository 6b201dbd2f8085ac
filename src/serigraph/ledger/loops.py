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
    value_key: NDArray[np.int64],
    code: NDArray[np.int32],
    group: NDArray[np.uint32],
    count: NDArray[np.uint32],
    group_key: NDArray[np.int64],
    first: int,
    key: NDArray[Any],
    of_group: NDArray[np.uint32],
    is_there: NDArray[np.bool_],
) -> tuple[int, bool]:
    """See ``kernels.list_entries``."""
    end, ascend = first, True
    for part in slices(len(code), longest=TOGETHER):
        of_value = value_key[code[part]]
        named = of_value >= 0
        mine = (of_value + group_key[group[part]] + count[part])[named]
        begin, end = end, end + len(mine)
        key[begin:end], of_group[begin:end] = mine, group[part][named]
        if len(is_there):
            is_there[mine] = True
        groups, keys = (each[max(begin - 1, 0) : end] for each in (of_group, key))
        is_next = groups[1:] > groups[:-1]
        is_same = groups[1:] == groups[:-1]
        ascend &= bool((is_next | is_same & (keys[1:] > keys[:-1])).all())
    return end, ascend


def renumber(key: NDArray[Any], number: NDArray[np.int32], renumbered: NDArray[np.int32]) -> None:
    """See ``kernels.renumber``."""
    for part in slices(len(key), longest=TOGETHER):
        renumbered[part] = number[key[part]]


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
