"""What earlier releases say about cohorts: who is in which, who retired, who was shown as what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.short_repr import Undisclosed
from serigraph.verification.words import counted, distinct


class CohortTerms(Protocol):
    """How cohorts have to be formed and kept, by the policy."""

    @property
    def size(self) -> int:
        """Of a new cohort, at least."""

    @property
    def least(self) -> int:
        """Members that a cohort needs to go on after somebody has left."""

    @property
    def may_depart(self) -> bool:
        """Whether leaving the registry says nothing about a person's values."""

    @property
    def has_registry(self) -> bool:
        """Whether the people are those of a registry."""

    @property
    def has_one_value(self) -> bool:
        """Whether everybody with a record has one value, so that values exclude each other."""

    @property
    def persists(self) -> Callable[[str], bool]:
        """Whether a protected value does, held by anybody now or not."""

    @property
    def threshold_of(self) -> Callable[[str], Fraction]:
        """The threshold of a value that persists."""


@dataclass(frozen=True, repr=False)
class RecordedCohorts(Undisclosed):
    """People of earlier releases, each once; of values that persist all pairs ever published.

    Not everybody is in a cohort: in releases before a value was said to persist there were none.
    """

    ids: pl.Series
    cohort: NDArray[np.int64]  # of each person, or -1
    retired: NDArray[np.int64]  # the number of the release in which the person retired, or 0
    holder: NDArray[np.int64]  # places in ``ids``; with ``value`` every pair, once
    value: NDArray[np.int64]  # places in ``names``
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        people = len(self.ids)
        if not (
            people == len(self.cohort) == len(self.retired)
            and len(self.holder) == len(self.value)
            and self.cohort.min(initial=0) >= -1
            and self.retired.min(initial=0) >= 0
            and not (self.retired[self.cohort < 0] > 0).any()
            and self.holder.min(initial=0) >= 0
            and self.holder.max(initial=-1) < people
            and self.value.min(initial=0) >= 0
            and self.value.max(initial=-1) < len(self.names)
        ):
            raise ImpossibleState("the recorded cohorts do not fit each other")

    @property
    def formed(self) -> int:
        """New cohorts have numbers from here on."""
        return int(self.cohort.max(initial=-1)) + 1

    @property
    def is_live(self) -> NDArray[np.bool_]:
        return np.asarray((self.cohort >= 0) & (self.retired == 0))

    @staticmethod
    def of_pairs(
        ids: pl.Series,
        cohort: NDArray[np.int64],
        retired: NDArray[np.int64],
        pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
        names: tuple[str, ...],
    ) -> RecordedCohorts:
        """From pairs of a holder and a value of which some may occur several times."""
        holder, value = pairs
        values = max(len(names), 1)
        key = distinct(holder * values + value)
        return RecordedCohorts(ids, cohort, retired, key // values, key % values, names)

    @staticmethod
    def none(ids: pl.Series) -> RecordedCohorts:
        """Nobody; ``ids`` give the type."""
        nobody = np.empty(0, dtype=np.int64)
        return RecordedCohorts(ids.clear(), nobody, nobody, nobody, nobody, ())


def no_cover(
    cohort: NDArray[np.int64],
    live: NDArray[np.int64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    thresholds: Sequence[Fraction],
    *,
    known_members: int,
    has_one_value: bool,
) -> NDArray[np.int64]:
    """How many live members of each cohort are no cover of a transient value.

    ``cohort`` is that of everybody, -1 for none, ``live`` has the members of the release, and
    ``pairs`` who was ever published, then or before, as a holder of which value that persists, some
    of them several times; ``thresholds`` are those of the values.

    Where everybody has one value, those who were ever published are none, as many as may be live;
    those who retired count too, since which members did is for nobody to know. In a cohort that
    shows as many holders as it may nobody is: the records of others may be withheld.

    >>> cohort, live = np.array([0, 0, 1, 1, 2, 2, 2, 2, 2]), np.arange(1, 9)
    >>> pairs, half = (np.array([0, 2, 4]), np.array([0, 0, 0])), [Fraction(1, 2)]
    >>> no_cover(cohort, live, pairs, half, known_members=0, has_one_value=True).tolist()
    [1, 2, 1]
    >>> no_cover(cohort, live, pairs, half, known_members=0, has_one_value=False).tolist()
    [0, 2, 0]
    """
    cohorts, values = int(cohort.max(initial=-1)) + 1, max(len(thresholds), 1)
    members = np.bincount(cohort[live], minlength=cohorts)
    pair = distinct(pairs[0] * values + pairs[1])
    person, value = pair // values, pair % values
    found = np.zeros(cohorts, dtype=np.int64)
    if has_one_value:
        ever = cohort[distinct(person)]
        found = np.minimum(np.bincount(ever[ever >= 0], minlength=cohorts), members)
    is_live = np.zeros(len(cohort), dtype=np.bool_)
    is_live[live] = True
    cell, holders = counted((cohort[person] * values + value)[is_live[person]])
    of_cohort = cell // values
    facts = np.column_stack([cell % values, members[of_cohort], holders])
    kinds, kind = np.unique(facts, axis=0, return_inverse=True)
    is_full = [
        shown + 1 > max(size - known_members, 0) * thresholds[number]  # one more is too many
        for number, size, shown in kinds.tolist()
    ]
    full = of_cohort[np.array(is_full, dtype=np.bool_)[kind.reshape(-1)]]
    found[full] = members[full]
    return found
