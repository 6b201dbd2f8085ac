"""Earlier releases on disk, read by the verifier itself.

No code is shared with the part of the ledger that recalls the past for grouping: a fault there is
found here. Every byte that matters is compared with the catalog's digest, the sizes of groups are
counted from their members, and what groups held from the holders, where a release records them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import LedgerDamaged
from serigraph.runtime.ordering import ascend
from serigraph.runtime.progress import Report
from serigraph.runtime.threads import parallel_map
from serigraph.short_repr import Undisclosed
from serigraph.verification.attendance import read_attendance
from serigraph.verification.cohorts_on_disk import read_cohorts, read_excluded
from serigraph.verification.committed import (
    CommittedRelease,
    check_holders,
    read_columns,
    read_entries,
    read_ids,
)
from serigraph.verification.earlier import EarlierGroups, groups_by_place, places_among
from serigraph.verification.recorded_cohorts import RecordedCohorts

GROUPS_DIFFER = "the groups of a release do not have the sizes that the ledger gives them"


@dataclass(frozen=True, repr=False)
class LedgerOnDisk(Undisclosed):
    """The releases of a series, as `EarlierReleases`; all of them, oldest first."""

    releases: tuple[CommittedRelease, ...]

    def people(self) -> pl.Series:
        """In the order of their numbers in the ledger."""
        ids = parallel_map(_newcomers, self.releases)
        return pl.concat(ids) if ids else pl.Series(dtype=pl.String)

    def groups_of(
        self, ids: pl.Series, names: Sequence[str], report: Report
    ) -> list[EarlierGroups]:
        if not self.releases or not len(ids):
            return []
        place = places_among(ids, self.people())
        _check_known_once(place, len(ids))
        # Numbers are given in the order in which people arrive: a release whose people all have
        # lower numbers than the first of these has none of them.
        known = list(accumulate(release.newcomers for release in self.releases))
        numbers = np.flatnonzero(place >= 0)
        first = int(numbers[0]) if len(numbers) else len(place)
        excluded: list[NDArray[np.int64] | None] = [None] * len(self.releases)
        if any(release.standing is not None for release in self.releases):
            excluded = read_excluded(self.releases, len(place))
        asked = [
            (release, place[:people], without)
            for release, people, without in zip(self.releases, known, excluded, strict=True)
            if people > first
        ]
        return parallel_map(lambda each: _read_groups(*each, len(ids), names), asked, report)

    def attendance(self, ids: pl.Series) -> NDArray[np.int64]:
        if not self.releases:
            return np.zeros(len(ids), dtype=np.int64)
        place = places_among(ids, self.people())
        _check_known_once(place, len(ids))
        return read_attendance(self.releases, place, len(ids))

    def cohorts(self, persists: Callable[[str], bool]) -> RecordedCohorts:
        return read_cohorts(self.releases, self.people(), persists)


def _check_known_once(place: NDArray[np.int64], people: int) -> None:
    is_known = np.zeros(people + 1, dtype=np.bool_)
    is_known[place] = True
    if np.count_nonzero(is_known[:-1]) != np.count_nonzero(place >= 0):
        raise LedgerDamaged(
            "the ledger knows people twice, by two Unicode forms of one id",
            where="ledger",
            remedy="begin a new series: what these people were exposed to cannot be added up",
        )


def _newcomers(release: CommittedRelease) -> pl.Series:
    """The people who were new in a release."""
    ids = read_ids(release, release.files("people"))
    if len(ids) != release.newcomers:
        raise release.damaged("the people of a release are not those of its record", "people")
    return ids


def _read_groups(
    release: CommittedRelease,
    place: NDArray[np.int64],
    excluded: NDArray[np.int64] | None,
    people: int,
    names: Sequence[str],
) -> EarlierGroups:
    """One release; ``place`` has, by number, the place of everybody known by then among the
    ``people`` asked for, or -1. ``excluded`` people of each group cannot hold the values named."""
    person, group, present = read_columns(
        release, release.files("members"), ["person", "group", "present"]
    )
    is_sound = (
        len(person) == release.members
        and person.max(initial=0) < max(len(place), 1)
        and group.max(initial=0) < max(release.groups, 1)
        and (ascend(person) or len(np.unique(person)) == len(person))
    )
    if not is_sound:
        raise release.damaged("the members of a release are not those of its record", "members")
    size = np.bincount(group, minlength=release.groups)
    shown = np.bincount(group[present], minlength=release.groups)
    number, said, said_shown = read_columns(
        release, release.files("groups"), ["group", "size", "present"]
    )
    if not (
        np.array_equal(number, np.arange(release.groups))
        and np.array_equal(said, size)
        and np.array_equal(said_shown, shown)
    ):
        raise release.damaged(GROUPS_DIFFER, "groups")
    held = read_entries(release, release.files("values"), names)
    left = (shown if release.is_presence_known else size) - release.known_members
    if (
        held.group.max(initial=0) >= max(release.groups, 1)
        or ((held.count < 1) | (held.count > shown[held.group])).any()
        or (held.count > left[held.group]).any()
    ):
        raise release.damaged("the values of a release do not fit its groups", "values")
    held = held.asked()
    if release.files_if_any("holders"):
        check_holders(release, names, person[present], group[present], held)
    if excluded is not None:
        left = left - excluded
        np.maximum.at(left, held.group, held.count)  # where fewer are left, holders are certain
    return EarlierGroups.of(
        groups_by_place(people, place[person], group),
        left,
        held.group,
        held.value,
        held.count,
    )
