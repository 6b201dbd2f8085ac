"""How often people hold a value again when they come back, counted from who held what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.privacy.persistence import Recurrence, Return
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True, repr=False)
class Attendance(Undisclosed):
    """Who had a record in a release, and who held what.

    People have a number that stays the same in all releases. ``holder`` and ``value`` are None if
    the release did not record who held what.
    """

    present: NDArray[np.integer]
    holder: NDArray[np.integer] | None
    value: NDArray[np.integer] | None  # of each holder, by its place among the values asked for


def recurrences(attendances: Sequence[Attendance], values: int) -> tuple[Recurrence, ...]:
    """The recurrence of each of some values, over releases from the oldest to the latest.

    What people held in a release that did not record it is not known, and does not count when they
    come back.
    """
    returns: list[list[Return]] = [[] for _ in range(values)]
    people = 1 + max((int(each.present.max(initial=-1)) for each in attendances), default=-1)
    is_known = np.zeros(people, dtype=np.bool_)  # whether it is known what the person held last
    held = np.empty(0, dtype=np.int64)  # pairs of a person and a value, held last; ascending
    for each in attendances:
        back = is_known[each.present]
        is_back = np.zeros(people, dtype=np.bool_)
        is_back[each.present[back]] = True
        comes_back = is_back[held // max(values, 1)]
        before, held = held[comes_back], held[~comes_back]
        is_known[each.present] = each.holder is not None
        if each.holder is None or each.value is None:
            continue
        now = np.sort(each.holder.astype(np.int64) * values + each.value)
        again = now[is_back[now // max(values, 1)]]
        counts = [_by_value(pairs, values) for pairs in (again, before, _common(before, again))]
        for value, (holders, returned, kept) in enumerate(zip(*counts, strict=True)):
            if returned:
                returns[value].append(Return(int(back.sum()), holders, returned, kept))
        held = np.sort(np.concatenate([held, now]), kind="stable")  # merges two ascending runs
    return tuple(Recurrence.of(each) for each in returns)


def _by_value(pairs: NDArray[np.int64], values: int) -> list[int]:
    counts: list[int] = np.bincount(pairs % max(values, 1), minlength=values).tolist()
    return counts


def _common(some: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers that are in both; both ascend, without repetition."""
    if not len(others):
        return others
    place = np.minimum(np.searchsorted(others, some), len(others) - 1)
    common: NDArray[np.int64] = some[others[place] == some]
    return common
