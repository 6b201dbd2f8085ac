"""Cohorts: people who stay together in every release, so that values may persist.

A cohort is formed without looking at values and never changes, except that members retire: they
are not in any later release. Members of a cohort who retire in the same release stay alike for
ever, and so do those who remain. So a class of people who are alike is a cohort and a release of
retirement, 0 for those who remain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.short_repr import Undisclosed


@dataclass(frozen=True, repr=False)
class Cohorts(Undisclosed):
    """Everybody who was ever in a cohort, and who was ever published as a holder of what."""

    ids: pl.Series  # Int64 or String, ascending
    cohort: NDArray[np.int64]  # of each person
    retired: NDArray[np.int64]  # the number of the release in which the person retired, or 0
    holder: NDArray[np.int64]  # places in ``ids``; with ``value`` every pair ever published, once
    value: pl.Series  # String
    formed: int  # cohorts so far; they are numbered from 0 on

    @staticmethod
    def none(ids: pl.Series) -> Cohorts:
        """Before the first release; ``ids`` give the type."""
        nobody = np.empty(0, dtype=np.int64)
        return Cohorts(ids.clear(), nobody, nobody, nobody, pl.Series(dtype=pl.String), formed=0)


@dataclass(frozen=True, repr=False)
class CohortChanges(Undisclosed):
    """What a release adds: people who join a new cohort, and members who retire."""

    joined: pl.Series  # ids, ascending: members of the release who were in no cohort before
    cohort: NDArray[np.int64]  # of each of them
    retired: pl.Series  # ids, ascending: members of a cohort, in the table or not
