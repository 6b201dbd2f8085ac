"""How often people hold a value again when they come back, counted from who held what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.model.people import Population
from serigraph.policy import Persistence
from serigraph.privacy.persistence import Recurrence, Return
from serigraph.runtime.ordering import ascend
from serigraph.short_repr import Undisclosed

_BITS = 32  # of a pair, for the value
_LOW = (1 << _BITS) - 1


@dataclass(frozen=True, repr=False)
class Attendance(Undisclosed):
    """Who had a record in a release, and who held what.

    People have a number that stays the same in all releases. ``holder`` and ``value`` are None if
    the release did not record who held what.
    """

    present: NDArray[np.integer]
    holder: NDArray[np.integer] | None
    value: NDArray[np.integer] | None  # of each holder, by its place among the values asked for


@dataclass(frozen=True)
class ValueOverTime:
    """What a policy assumes of a value over time, and what people who came back held.

    The figures depend on who holds the value: they are for the publisher alone.
    """

    name: str
    persistence: Persistence
    returned: int  # held it in the last release that they were in
    kept: int  # of these, hold it again
    by_chance: float | None  # the share that chance would give; None if nobody has come back
    contradicts: bool  # holders keep it more often than chance, beyond the margin and luck
    is_telling: bool  # enough people came back to find out a value that every fifth keeps

    def words(self) -> str:
        """
        >>> print(ValueOverTime("HIV", "transient", 8, 6, 0.1, True, True).words())
        of 8 who came back 6 hold it again (75.0 %, by chance 10.0 %)
        """
        if self.by_chance is None:
            return "nobody who held it has come back"
        return (
            f"of {self.returned:,} who came back {self.kept:,} "
            f"{'holds' if self.kept == 1 else 'hold'} it again "
            f"({100 * self.kept / self.returned:.1f} %, by chance {100 * self.by_chance:.1f} %)"
        )


@dataclass(frozen=True)
class KeptValues:
    """How often people hold each of some values again when they come back."""

    found: Mapping[str, Recurrence]
    unrecorded: tuple[int, ...] = ()  # releases that did not record who held what

    def over_time(self, persistence_of: Callable[[str], Persistence]) -> tuple[ValueOverTime, ...]:
        """All values, ascending; they share the luck allowed."""
        measured = sum(each.returned > 0 for each in self.found.values())
        return tuple(
            ValueOverTime(
                name=name,
                persistence=persistence_of(name),
                returned=each.returned,
                kept=each.kept,
                by_chance=None if each.chance is None else float(each.chance),
                contradicts=each.contradicts_independence(measured),
                is_telling=each.is_telling(measured),
            )
            for name, each in sorted(self.found.items())
        )


def attendance_of(
    population: Population, number: NDArray[np.int64], names: Sequence[str]
) -> Attendance:
    """Who has a record in a release, by these numbers, and who holds which of the values named."""
    place = {name: code for code, name in enumerate(names)}
    code = np.array([place.get(name, -1) for name in population.protected_names], dtype=np.int64)
    value = code[population.held]
    holder = np.repeat(number, np.diff(population.held_start))
    is_asked = value >= 0
    return Attendance(number[population.present], holder[is_asked], value[is_asked])


def recurrences(attendances: Sequence[Attendance], values: int) -> tuple[Recurrence, ...]:
    """The recurrence of each of some values, over releases from the oldest to the latest.

    What people held in a release that did not record it is not known, and does not count when they
    come back.
    """
    returns: list[list[Return]] = [[] for _ in range(values)]
    people = 1 + max((int(each.present.max(initial=0)) for each in attendances), default=0)
    is_known = np.zeros(people, dtype=np.bool_)  # whether it is known what the person held last
    held = np.empty(0, dtype=np.int64)  # pairs of a person and a value, held last; ascending
    for each in attendances:
        back = each.present[is_known[each.present]]
        is_back = np.zeros(people, dtype=np.bool_)
        is_back[back] = True
        comes_back = is_back[held >> _BITS]
        before, held = held[comes_back], held[~comes_back]
        is_known[each.present] = each.holder is not None
        if each.holder is None or each.value is None:
            continue
        now = each.holder.astype(np.int64) << _BITS | each.value.astype(np.int64)
        if not ascend(now):
            now.sort()
        again = now[is_back[now >> _BITS]]
        counts = [_by_value(pairs, values) for pairs in (again, before, _common(before, again))]
        for value, (holders, returned, kept) in enumerate(zip(*counts, strict=True)):
            if returned:
                returns[value].append(Return(len(back), holders, returned, kept))
        held = np.sort(np.concatenate([held, now]), kind="stable")  # merges two ascending runs
    return tuple(Recurrence.of(each) for each in returns)


def _by_value(pairs: NDArray[np.int64], values: int) -> list[int]:
    counts: list[int] = np.bincount(pairs & _LOW, minlength=values).tolist()
    return counts


def _common(some: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers that are in both; both ascend, without repetition."""
    both = np.sort(np.concatenate([some, others]), kind="stable")
    common: NDArray[np.int64] = both[1:][both[1:] == both[:-1]]
    return common
