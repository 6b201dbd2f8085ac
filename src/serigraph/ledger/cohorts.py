"""What the ledger knows of cohorts, and of the people who were published as holders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import LedgerDamaged
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import (
    COHORTS,
    HOLDERS,
    MEMBERS,
    RETIRED,
    has_part,
    read_files,
    read_holders,
    read_numbers,
    read_part,
    read_people,
)
from serigraph.ledger.release import ReleaseRecord
from serigraph.model import Attendance, Cohorts, KeptValues, recurrences
from serigraph.runtime.threads import parallel_map
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True, repr=False)
class PublishedHolders(Undisclosed):
    """The people with a record in a release, by their numbers in the ledger."""

    release: int
    present: NDArray[np.uint32]  # ascending
    held: pl.DataFrame | None  # ``person`` and ``value``; None if the release did not record it


def recall_holders(
    layout: Layout, releases: tuple[ReleaseRecord, ...]
) -> Iterator[PublishedHolders]:
    """Who had a record in each release, and who was published as a holder; oldest first."""
    for release in releases:
        members = read_part(layout, release, MEMBERS)
        yield PublishedHolders(
            release=release.number,
            present=members["person"].filter(members["present"]).to_numpy(),
            held=read_part(layout, release, HOLDERS) if has_part(release, HOLDERS) else None,
        )


def recall_kept_values(
    releases: Iterable[PublishedHolders], names: Sequence[str], latest: Attendance | None = None
) -> KeptValues:
    """How often people held the values named again, over some releases and then ``latest``."""
    kind = pl.Enum(names)
    seen, unrecorded = [], []
    for release in releases:
        holder = value = None
        if release.held is None:
            unrecorded.append(release.release)
        else:
            code = release.held["value"].cast(pl.String).cast(kind, strict=False).to_physical()
            asked = code.is_not_null()
            holder = release.held["person"].filter(asked).to_numpy()
            value = code.filter(asked).to_numpy()
        seen.append(Attendance(release.present, holder, value))
    if latest is not None:
        seen.append(latest)
    found = recurrences(seen, len(names))
    return KeptValues(dict(zip(names, found, strict=True)), tuple(unrecorded))


def recall_cohorts(
    layout: Layout, releases: tuple[ReleaseRecord, ...], names: Sequence[str]
) -> Cohorts:
    """Everybody who was ever in a cohort, and who of them was ever published as a holder of the
    values named, also before joining."""
    cohort, retired = _membership(layout, releases)
    ids = read_people(layout, releases)["id"]
    member = np.flatnonzero(cohort >= 0)
    if not len(member):
        return Cohorts.none(ids)
    ids = ids.gather(member)
    order = ids.arg_sort()
    member = member[order.to_numpy()]
    holder, value = _published(layout, releases, member, names)
    return Cohorts(
        ids=ids.gather(order),
        cohort=cohort[member],
        retired=retired[member],
        holder=holder,
        value=pl.Series(names, dtype=pl.String).gather(value),
        formed=int(cohort.max()) + 1,
    )


def _membership(
    layout: Layout, releases: tuple[ReleaseRecord, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each number of the ledger the cohort, or -1, and the release of retirement, or 0."""
    people = sum(release.newcomers for release in releases)
    cohort, retired = np.full(people, -1, dtype=np.int64), np.zeros(people, dtype=np.int64)
    for release in releases:
        if not has_part(release, COHORTS):
            continue
        joined = read_files(layout, release, COHORTS)
        person = read_numbers(joined, "person")
        left = read_numbers(read_files(layout, release, RETIRED), "person")
        is_twice = (cohort[person] >= 0).any() or retired[left].any()
        cohort[person] = read_numbers(joined, "cohort")
        if is_twice or (cohort[left] < 0).any():
            raise LedgerDamaged(
                "people joined a cohort twice, or retired twice or from none",
                where=layout.name_of(layout.parts(release.number)),
                remedy="begin a new series: what was shown of these people cannot be added up",
            )
        retired[left] = release.number
    return cohort, retired


def _published(
    layout: Layout,
    releases: tuple[ReleaseRecord, ...],
    member: NDArray[np.int64],
    names: Sequence[str],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every pair of a member, by its place, and a value, by its place in ``names``, that was ever
    published, once and ascending."""
    index = {name: number for number, name in enumerate(names)}
    place = np.full(sum(release.newcomers for release in releases), -1, dtype=np.int64)
    place[member] = np.arange(len(member))

    def pairs(release: ReleaseRecord) -> list[NDArray[np.int64]]:
        if not has_part(release, HOLDERS):
            return []
        found = []
        for person, code, held in read_holders(read_files(layout, release, HOLDERS)):
            of_code = np.array([index.get(name, -1) for name in held], dtype=np.int64)
            value, at = of_code[code], place[person]
            counts = (value >= 0) & (at >= 0)
            found.append(at[counts] * len(names) + value[counts])
        return found

    pieces = [piece for found in parallel_map(pairs, releases) for piece in found]
    pair = np.concatenate([np.empty(0, dtype=np.int64), *pieces])
    pair.sort()  # np.unique takes a hundred times as long
    return np.divmod(pair[np.diff(pair, prepend=-1) > 0], max(len(names), 1))


def recall_attendance(
    layout: Layout, releases: tuple[ReleaseRecord, ...], number: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For people by their numbers in the ledger, -1 if it does not know them, which releases they
    were members of: people with the same releases have the same figure, 0 if there are none."""
    people = sum(release.newcomers for release in releases)
    pattern = np.zeros(people + 1, dtype=np.int64)  # the last is for those it does not know
    for release in releases:
        is_member = np.zeros(len(pattern), dtype=np.int64)
        is_member[read_numbers(read_files(layout, release, MEMBERS), "person")] = 1
        # Ranked anew with each release, so that no figure grows beyond the number of people.
        pattern = np.unique(pattern * 2 + is_member, return_inverse=True)[1]
    return np.asarray(pattern[number])
