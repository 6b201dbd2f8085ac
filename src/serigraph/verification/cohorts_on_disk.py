"""The cohorts of earlier releases, read by the verifier itself and followed release by release.

Who was published as a holder is compared with what the groups of the release held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.runtime.threads import parallel_map
from serigraph.verification.committed import (
    CommittedRelease,
    Standing,
    check_holders,
    has_column,
    read_columns,
    read_entries,
    read_names,
)
from serigraph.verification.recorded_cohorts import RecordedCohorts, no_cover
from serigraph.verification.words import distinct


@dataclass(frozen=True)
class _Changes:
    """What one release did to cohorts, by the numbers of people in the ledger."""

    has_cohorts: bool
    joined: NDArray[np.int64]
    cohort: NDArray[np.int64]
    retired: NDArray[np.int64]
    holder: NDArray[np.int64]
    value: NDArray[np.int64]


def read_cohorts(
    releases: Sequence[CommittedRelease], ids: pl.Series, persists: Callable[[str], bool]
) -> RecordedCohorts:
    """The cohorts after all of these releases; ``ids`` are those of everybody, by number."""
    shown = parallel_map(_names, releases)
    names = tuple(sorted(filter(persists, set().union(*shown))))
    cohort = np.full(len(ids), -1, dtype=np.int64)
    retired = np.zeros(len(ids), dtype=np.int64)
    known = list(accumulate(release.newcomers for release in releases))
    changes = parallel_map(lambda each: _read(each, names), releases)
    formed = 0
    for number, (release, change, people) in enumerate(
        zip(releases, changes, known, strict=True), 1
    ):
        if formed and not change.has_cohorts:
            raise release.damaged("a release does not continue the cohorts", "cohorts")
        if max(each.max(initial=-1) for each in (change.joined, change.retired)) >= people:
            raise release.damaged("people in the cohorts of a release are unknown", "cohorts")
        if (
            (cohort[change.joined] >= 0).any()
            or change.cohort.min(initial=formed) < formed
            or len(distinct(change.joined)) < len(change.joined)
        ):
            raise release.damaged("people joined a cohort who could not", "cohorts")
        cohort[change.joined] = change.cohort
        if (
            (cohort[change.retired] < 0).any()
            or (retired[change.retired] > 0).any()
            or len(distinct(change.retired)) < len(change.retired)
        ):
            raise release.damaged("people retired who could not", "retired")
        retired[change.retired] = number
        formed = max(formed, int(change.cohort.max(initial=-1)) + 1)
    nobody = np.empty(0, dtype=np.int64)
    return RecordedCohorts.of_pairs(
        ids,
        cohort,
        retired,
        (
            np.concatenate([nobody, *(change.holder for change in changes)]),
            np.concatenate([nobody, *(change.value for change in changes)]),
        ),
        names,
    )


def _names(release: CommittedRelease) -> list[str]:
    """The values that a release shows."""
    return read_names(release, "values").to_list()


def _read(release: CommittedRelease, names: Sequence[str]) -> _Changes:
    nobody = np.empty(0, dtype=np.int64)
    joined, cohort, retired = nobody, nobody, nobody
    has_cohorts = bool(release.files_if_any("cohorts"))
    if has_cohorts:
        columns = read_columns(release, release.files("cohorts"), ["person", "cohort"])
        joined, cohort = (column.astype(np.int64) for column in columns)
        (left,) = read_columns(release, release.files("retired"), ["person"])
        retired = left.astype(np.int64)
    elif not release.files_if_any("holders"):
        return _Changes(False, nobody, nobody, nobody, nobody, nobody)
    holder, value = read_pairs(release, names)
    return _Changes(has_cohorts, joined, cohort, retired, holder, value)


def read_pairs(
    release: CommittedRelease, names: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Who was published as a holder of the values named; refuses other holders than the groups of
    the release had."""
    person, group, present = read_columns(
        release, release.files("members"), ["person", "group", "present"]
    )
    held = read_entries(release, release.files("values"), names).asked()
    holder, value = check_holders(release, names, person[present], group[present], held)
    return holder.astype(np.int64), value.astype(np.int64)


def read_excluded(
    releases: Sequence[CommittedRelease], people: int
) -> list[NDArray[np.int64] | None]:
    """For each of these releases how many of each group are no cover of a transient value, counted
    from holders and cohorts; None where cohorts do not stand. ``people`` are all there are.

    Refuses a release that says otherwise.
    """
    # A value that persists in one release does so in all later ones.
    latest = next((each.standing for each in reversed(releases) if each.standing), None)
    if latest is None:
        return [None] * len(releases)
    shown = [read_names(release, "holders") for release in releases if release.standing]
    names = sorted(filter(latest.persists, pl.concat(shown).unique()))
    cohort = np.full(people, -1, dtype=np.int64)
    pair = np.empty(0, dtype=np.int64)
    found: list[NDArray[np.int64] | None] = []
    for release in releases:
        if release.standing is None:
            found.append(None)
            continue
        change = _read(release, names)
        if max(each.max(initial=0) for each in (change.joined, change.holder)) >= people:
            raise release.damaged("people in a release are unknown", "members")
        cohort[change.joined] = change.cohort
        pair = distinct(np.concatenate([pair, change.holder * max(len(names), 1) + change.value]))
        found.append(_no_cover(release, release.standing, cohort, pair, names))
    return found


def _no_cover(
    release: CommittedRelease,
    standing: Standing,
    cohort: NDArray[np.int64],
    pair: NDArray[np.int64],
    names: Sequence[str],
) -> NDArray[np.int64]:
    """How many of each group of a release are no cover of a transient value; ``pair`` has everybody
    published by then as a holder of a value, whose place is among the names."""
    person, group = read_columns(release, release.files("members"), ["person", "group"])
    if person.max(initial=0) >= len(cohort) or group.max(initial=0) >= release.groups:
        raise release.damaged("people in a release are unknown", "members")
    if cohort[person].min(initial=0) < 0:
        raise release.damaged("a member of a release is in no cohort", "cohorts")
    holder, value = np.divmod(pair, max(len(names), 1))
    asked = np.array([standing.persists(name) for name in names], dtype=np.bool_)[value]
    bound = no_cover(
        cohort,
        person,
        (holder[asked], value[asked]),
        [standing.threshold_of(name) for name in names],
        known_members=release.known_members,
        has_one_value=standing.has_one_value,
    )
    number, somebody = np.unique(cohort[person], return_index=True)
    excluded = np.zeros(release.groups, dtype=np.int64)
    np.add.at(excluded, group[somebody], bound[number])
    files = release.files("groups")
    if has_column(release, files[0], "excluded"):
        (said,) = read_columns(release, files, ["excluded"])
        if not np.array_equal(said, excluded):
            raise release.damaged("people of a group are excluded who should not be", "groups")
    return excluded
