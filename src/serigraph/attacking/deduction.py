"""Who must have been published as a holder of a value that stays, and who cannot.

Somebody who has a record in a group that does not show the value never holds it. Where a group
shows as many holders as there are members left, these all hold it, in every release that they are
in; and where all of its holders are known, nobody else does. Each conclusion may allow further
ones. What is left falls into smaller parts, of which every way is summed up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.every_way import sum_every_way
from serigraph.attacking.links import Law, Linked, in_parts


def deduce(part: Linked) -> NDArray[np.float64] | None:
    """The exact chance that each person of a part was ever published as a holder, if the value is
    never lost. None if too much is left open, if somebody may hold it without a record, or if the
    releases contradict each other."""
    if not np.isin(part.recorded, (0.0, 1.0)).all():
        return None
    group, left = part.group, part.count.copy()
    is_open = np.logical_not(((group < 0) & (part.recorded > 0)).any(axis=1))
    chance = np.zeros(len(group))
    while True:
        members = _in_groups(group[is_open], len(left))
        if (left < 0).any() or (members < left).any():
            return None
        holds = is_open & _in_any(group, members == left, left > 0)
        clear = is_open & _in_any(group, left == 0)
        if (holds & clear).any():
            return None
        if not (holds | clear).any():
            break
        chance[holds] = 1.0
        left -= _in_groups(group[holds], len(left))
        is_open &= ~(holds | clear)
    rest = np.flatnonzero(is_open)
    members = _in_groups(group[rest], len(left))
    never_lost = Law(part.law.share, 1.0, 0.0)
    linked = in_parts(rest, group[rest], part.recorded[rest], left, members, never_lost)
    for number in range(linked.parts):
        smaller = linked.part(number)
        chance[smaller.person] = sum_every_way(smaller)
    return None if np.isnan(chance).any() else chance


def _in_groups(group: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """How many of these people are in each group."""
    return np.bincount(group[group >= 0], minlength=groups)


def _in_any(group: NDArray[np.int64], *conditions: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each person is in a group of which all conditions are true."""
    is_meant = np.append(np.logical_and.reduce(conditions), False)
    found: NDArray[np.bool_] = np.any(is_meant[group], axis=1)
    return found
