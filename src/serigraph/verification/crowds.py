"""Classes of people whom the series treats alike, and how many of each it has shown as holders.

A class is a cohort and a release of retirement, or no retirement. H of its people were published as
holders of a value, in any release; H/(|K| - c) must not exceed the value's threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.model import ProtectedValue
from serigraph.records import WorstPair
from serigraph.verification.recorded_cohorts import RecordedCohorts
from serigraph.verification.words import counted, distinct


@dataclass(frozen=True)
class Crowds:
    """The classes, numbered from 0 on, and the holders of each value among them."""

    number: NDArray[np.int64]  # the class of each person, or -1
    size: NDArray[np.int64]
    is_touched: NDArray[np.bool_]  # somebody of it is in the release or retires now
    values: int
    cell: NDArray[np.int64]  # class * values + value, ascending, where there is a holder
    holders: NDArray[np.int64]  # in each cell: people, each once

    @staticmethod
    def of(
        cohort: NDArray[np.int64],
        retired: NDArray[np.int64],
        now: int,
        pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
        values: int,
    ) -> Crowds:
        """From everybody's cohort (-1 for none) and release of retirement (``now`` is this one),
        and pairs of a person and a value, some of them several times."""
        is_member = cohort >= 0
        number = np.full(len(cohort), -1, dtype=np.int64)
        kinds, number[is_member], size = np.unique(
            cohort[is_member] * (now + 1) + retired[is_member],
            return_inverse=True,
            return_counts=True,
        )
        when = kinds % (now + 1)
        person, value = pairs
        pair = distinct(person * values + value)
        mine = number[pair // values]
        cell, holders = counted((mine * values + pair % values)[mine >= 0])
        return Crowds(number, size, (when == 0) | (when == now), values, cell, holders)

    def holders_in(self, crowd: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.int64]:
        """H of these classes and values."""
        asked = crowd * self.values + value
        place = np.searchsorted(self.cell, asked)
        found = np.append(self.cell, -1)[place] == asked
        return np.where(found, np.append(self.holders, 0)[place], 0)


def most_allowed(
    size: NDArray[np.int64], protected: Sequence[ProtectedValue], known_members: int
) -> NDArray[np.int64]:
    """The largest H that a class of each size may have: [value, size].

    >>> limits = [ProtectedValue("a", Fraction(1, 2)), ProtectedValue("b", Fraction(9, 100))]
    >>> most_allowed(np.array([1, 8, 13]), limits, 1).tolist()
    [[0, 3, 6], [0, 0, 1]]
    """
    sizes, place = np.unique(size, return_inverse=True)
    others = [max(each - known_members, 0) for each in sizes.tolist()]
    most = [
        [each * value.threshold.numerator // value.threshold.denominator for each in others]
        for value in protected
    ]
    return np.array(most, dtype=np.int64).reshape(len(protected), len(sizes))[:, place]


def check_crowds(
    crowds: Crowds, protected: Sequence[ProtectedValue], known_members: int, where: str
) -> list[WorstPair]:
    """The worst class for each threshold among those that the release touches; refuses a class,
    touched or not, with more holders than its threshold allows."""
    crowd, value = np.divmod(crowds.cell, max(crowds.values, 1))
    facts = np.column_stack([value, crowds.size[crowd], crowds.holders, crowds.is_touched[crowd]])
    worst: dict[Fraction, WorstPair] = {}
    for number, size, holders, is_touched in np.unique(facts, axis=0).tolist():
        mine = protected[number]
        others = max(size - known_members, 0)
        if holders * mine.threshold.denominator > mine.threshold.numerator * others:
            raise GuaranteeExceeded(
                f"{holders} of {size} people who are alike would have been shown as holders of "
                f"value {mine.name!r}, and the threshold is {mine.threshold}"
                + (f" with {known_members} of them known" if known_members else ""),
                where=where,
                remedy="take the value out of the records of new holders; if they were shown "
                "before the value was said to persist, begin a new series",
            )
        probability = Fraction(holders, others)
        known = worst.get(mine.threshold)
        if is_touched and (known is None or probability > known.probability):
            worst[mine.threshold] = WorstPair(mine.name, probability, mine.threshold)
    return list(worst.values())


def check_retirement(
    recorded: RecordedCohorts,
    has_left: NDArray[np.bool_],
    retires: NDArray[np.bool_],
    protected: Sequence[ProtectedValue],
    *,
    known_members: int,
    minimum_size: int,
    where: str,
) -> None:
    """Refuse if members leave their cohort with too few companions to hide among, or with more
    than that takes. ``has_left`` and ``retires`` are about recorded people."""
    live, cohort, cohorts = recorded.is_live, recorded.cohort, recorded.formed
    members, leavers, retiring = (
        np.bincount(cohort[each], minlength=cohorts) for each in (live, has_left, retires)
    )
    is_left = leavers > 0
    needed = np.zeros(cohorts, dtype=np.int64)
    counts = live[recorded.holder]
    counts &= is_left[np.where(counts, cohort[recorded.holder], 0)] if cohorts else False
    values = max(len(protected), 1)
    cell, holders = np.unique(
        cohort[recorded.holder[counts]] * values + recorded.value[counts], return_counts=True
    )
    for number, each in enumerate(protected):
        mine = cell % values == number
        shown, place = np.unique(holders[mine], return_inverse=True)
        threshold = each.threshold
        enough = [
            -(-count * threshold.denominator // threshold.numerator) + known_members
            for count in shown.tolist()
        ]
        np.maximum.at(needed, cell[mine] // values, np.array(enough, dtype=np.int64)[place])
    right = np.where(is_left, np.maximum(needed, leavers), 0)
    is_too_small = is_left & (members - right < np.maximum(needed, minimum_size))
    right = np.where(is_too_small, members, right)
    if (retiring < right).any():
        raise GuaranteeExceeded(
            "too few people retire with somebody who left the registry",
            where=where,
            remedy="let as many members of the cohort retire as its published holders require",
        )
    if (retiring > right).any():
        raise ImpossibleState("more people retire than those who left require", where=where)
