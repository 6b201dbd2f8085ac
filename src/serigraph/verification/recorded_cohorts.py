"""What earlier releases say about cohorts: who is in which, who retired, who was shown as what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.model import ProtectedValue
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True)
class CohortTerms:
    """How cohorts have to be formed and kept."""

    size: int  # of a new cohort, at least
    may_depart: bool  # leaving the registry says nothing about a person's values
    # Values that were shown before and that nobody holds now, persisting or not: who was published
    # as a holder of them still counts.
    shown_before: tuple[ProtectedValue, ...]


@dataclass(frozen=True, repr=False)
class RecordedCohorts(Undisclosed):
    """People of earlier releases, each once; for some values all pairs ever published.

    Not everybody is in a cohort: in releases before a value was said to persist there were none.
    """

    ids: pl.Series
    cohort: NDArray[np.int64]  # of each person, or -1
    retired: NDArray[np.int64]  # the number of the release in which the person retired, or 0
    holder: NDArray[np.int64]  # places in ``ids``; with ``value`` every pair, once
    value: NDArray[np.int64]  # places among the names asked for
    shown: frozenset[str]  # the values that anybody was ever published as a holder of

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
        shown: frozenset[str],
    ) -> RecordedCohorts:
        """From pairs of a holder and a value of which some may occur several times."""
        holder, value = pairs
        values = int(value.max(initial=0)) + 1
        key = np.unique(holder * values + value)
        return RecordedCohorts(ids, cohort, retired, key // values, key % values, shown)

    @staticmethod
    def none(ids: pl.Series) -> RecordedCohorts:
        """Nobody; ``ids`` give the type."""
        nobody = np.empty(0, dtype=np.int64)
        return RecordedCohorts(ids.clear(), nobody, nobody, nobody, nobody, frozenset())
