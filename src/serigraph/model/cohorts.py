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

    def followed_by(self, changes: CohortChanges, holder: pl.Series, value: pl.Series) -> Cohorts:
        """After one more release; ``holder`` and ``value`` are the pairs of an id and the name of a
        value that persists which it publishes."""
        ids = pl.concat([self.ids, changes.joined])
        order = ids.arg_sort()
        ids = ids.gather(order)
        place = order.to_numpy()
        cohort = np.concatenate([self.cohort, changes.cohort])[place]
        retired = np.concatenate([self.retired, np.zeros(len(changes.joined), np.int64)])[place]
        retired[ids.search_sorted(changes.retired).to_numpy()] = int(retired.max(initial=0)) + 1
        pairs = pl.DataFrame(
            {
                "holder": pl.concat([self.ids.gather(self.holder), holder]),
                "value": pl.concat([self.value, value]),
            }
        ).unique()
        pairs = pairs.filter(pl.col("holder").is_in(ids.implode()))
        return Cohorts(
            ids=ids,
            cohort=cohort,
            retired=retired,
            holder=ids.search_sorted(pairs["holder"]).to_numpy().astype(np.int64),
            value=pairs["value"],
            formed=max(self.formed, int(cohort.max(initial=-1)) + 1),
        )


@dataclass(frozen=True, repr=False)
class CohortChanges(Undisclosed):
    """What a release adds: people who join a new cohort, and members who retire."""

    joined: pl.Series  # ids, ascending: members of the release who were in no cohort before
    cohort: NDArray[np.int64]  # of each of them
    retired: pl.Series  # ids, ascending: members of a cohort, in the table or not
