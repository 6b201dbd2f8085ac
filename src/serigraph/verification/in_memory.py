"""Earlier releases outside a ledger: rehearsals, studies, and rows collected by Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.model import Cohorts
from serigraph.runtime.progress import Report
from serigraph.short_repr import Undisclosed
from serigraph.verification.attendance import patterns
from serigraph.verification.earlier import EarlierGroups, groups_by_place, places_among
from serigraph.verification.recorded_cohorts import RecordedCohorts


@dataclass(frozen=True, repr=False)
class RememberedRelease(Undisclosed):
    """One release: its members, and what its groups held. Groups are numbered from 0 on."""

    ids: pl.Series
    group: NDArray[np.integer]  # of each member
    size: NDArray[np.int64]  # of each group: the people the adversary has to choose from
    value_group: NDArray[np.integer]  # one entry per value and group
    value_name: pl.Series
    value_count: NDArray[np.integer]

    def __post_init__(self) -> None:
        if not (
            len(self.ids) == len(self.group)
            and self.group.min(initial=0) >= 0
            and len(self.value_group) == len(self.value_name) == len(self.value_count)
        ):
            raise ImpossibleState("the arrays of an earlier release do not fit each other")

    def groups_of(self, ids: pl.Series, names: Sequence[str]) -> EarlierGroups:
        named = self.value_name.cast(pl.String).cast(pl.Enum(list(names)), strict=False)
        asked = named.is_not_null().to_numpy()
        return EarlierGroups.of(
            groups_by_place(len(ids), places_among(ids, self.ids), self.group),
            self.size,
            self.value_group[asked],
            named.to_physical().drop_nulls().to_numpy().astype(np.int32),
            self.value_count[asked],
        )


@dataclass(frozen=True, repr=False)
class RememberedReleases(Undisclosed):
    """Releases in memory, as `EarlierReleases`."""

    releases: tuple[RememberedRelease, ...] = ()
    standing: Cohorts | None = None  # None if there are no cohorts

    def people(self) -> pl.Series:
        ids = [release.ids for release in self.releases]
        return pl.concat(ids).unique() if ids else pl.Series(dtype=pl.String)

    def groups_of(
        self, ids: pl.Series, names: Sequence[str], report: Report
    ) -> list[EarlierGroups]:
        found = []
        for number, release in enumerate(self.releases, 1):
            found.append(release.groups_of(ids, names))
            report(number, len(self.releases))
        return found

    def attendance(self, ids: pl.Series) -> NDArray[np.int64]:
        return patterns(
            len(ids), (places_among(release.ids, ids) >= 0 for release in self.releases)
        )

    def cohorts(self, persists: Callable[[str], bool]) -> RecordedCohorts:
        standing = self.standing
        if standing is None:
            return RecordedCohorts.none(self.people())
        names = tuple(name for name in standing.value.unique().sort() if persists(name))
        value = standing.value.cast(pl.String).cast(pl.Enum(names), strict=False)
        asked = value.is_not_null().to_numpy()
        place = value.to_physical().drop_nulls().to_numpy().astype(np.int64)
        return RecordedCohorts.of_pairs(
            *(standing.ids, standing.cohort, standing.retired),
            (standing.holder[asked], place),
            names,
        )
