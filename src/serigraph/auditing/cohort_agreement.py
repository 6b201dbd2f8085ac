"""Whether the ledger's parts on cohorts agree with each other and with its groups.

Nobody is in two cohorts, a cohort stays in one group, nobody who retired is a member again, and the
published holders are those that the groups count. Where values are shown once, a cohort retires in
the release that forms it, and nobody else of it has a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import (
    COHORTS,
    HOLDERS,
    MEMBERS,
    RETIRED,
    VALUES,
    has_part,
    read_part,
)
from serigraph.runtime.ordering import distinct


def compare_cohorts(
    series: Series, releases: Sequence[ReleaseRecord]
) -> dict[int, tuple[str, ...]]:
    """What disagrees in each release, by its number; releases that agree are left out."""
    layout = Layout(series.path)
    roll = _Roll.of(sum(release.newcomers for release in releases))
    found = {}
    for release in releases:
        problems: list[str] = []
        if has_part(release, COHORTS):
            problems += roll.follow(layout, release)
        elif release.has_persisting_values:
            problems.append("values persist, and the ledger has no cohorts of this release")
        if has_part(release, HOLDERS):
            problems += _compare_holders(layout, release, roll)
        if problems:
            found[release.number] = tuple(problems)
    return found


@dataclass(frozen=True)
class _Roll:
    """Work arrays over the people of the ledger, written over release by release."""

    cohort: NDArray[np.int64]  # or -1
    joined: NDArray[np.int64]  # the number of a release, or 0
    retired: NDArray[np.int64]

    @staticmethod
    def of(people: int) -> _Roll:
        joined, retired = np.zeros((2, people), dtype=np.int64)
        return _Roll(np.full(people, -1, dtype=np.int64), joined, retired)

    def follow(self, layout: Layout, release: ReleaseRecord) -> Iterator[str]:
        """Let people join and retire as a release says, and compare its members."""
        joins, person = read_part(layout, release, COHORTS), _people(layout, release, RETIRED)
        joining = joins["person"].to_numpy().astype(np.int64)
        twice = int(np.count_nonzero(self.cohort[joining] >= 0)) + _repeated(joining)
        if twice:
            yield f"{twice:,} people joined a second cohort"
        formed = int(self.cohort.max(initial=-1)) + 1
        if int(joins["cohort"].min() if len(joining) else formed) < formed:  # type: ignore[arg-type]
            yield "people joined a cohort that was formed before"
        self.cohort[joining] = joins["cohort"].to_numpy()
        self.joined[joining] = release.number
        wrong = int(np.count_nonzero((self.cohort[person] < 0) | (self.retired[person] > 0)))
        if wrong + _repeated(person):
            yield f"{wrong + _repeated(person):,} people retired twice, or from no cohort"
        self.retired[person] = release.number
        stay = int(np.count_nonzero(self.retired[joining] == 0))
        if stay and not release.hides_presence:
            yield f"{stay:,} people joined a cohort that shows a value once, and did not retire"
        yield from self._members(layout, release)

    def _members(self, layout: Layout, release: ReleaseRecord) -> Iterator[str]:
        members = read_part(layout, release, MEMBERS)
        person = members["person"].to_numpy().astype(np.int64)
        # Where a value is shown once, people join and retire in the same release.
        is_last = (self.joined[person] == release.number) & (self.retired[person] == release.number)
        gone = int(np.count_nonzero((self.retired[person] > 0) & ~is_last))
        if gone:
            yield f"{gone:,} people who had retired are members"
        cohort, group = self.cohort[person], members["group"].to_numpy().astype(np.int64)
        is_in = cohort >= 0
        pairs = distinct(cohort[is_in] << 32 | group[is_in]) >> 32
        split = len(pairs) - len(distinct(pairs))
        if split:
            yield f"{split:,} cohorts are split between groups"
        if not release.hides_presence:
            return
        outside = int(np.count_nonzero(~is_in))
        if outside:
            yield f"{outside:,} members are in no cohort"
        is_here = np.zeros(int(self.cohort.max(initial=-1)) + 1, dtype=np.bool_)
        is_here[cohort[is_in]] = True
        live = (self.cohort >= 0) & (self.retired == 0)
        live[live] = is_here[self.cohort[live]]
        live[person] = False
        missing = int(np.count_nonzero(live))
        if missing:
            yield f"{missing:,} members of cohorts are missing"


def _compare_holders(layout: Layout, release: ReleaseRecord, roll: _Roll) -> Iterator[str]:
    held = read_part(layout, release, HOLDERS).with_columns(pl.col("value").cast(pl.String))
    members = read_part(layout, release, MEMBERS).filter("present")
    counted = (
        held.join(members.select("person", "group"), on="person", how="left")
        .group_by("group", "value")
        .agg(pl.col("person").n_unique().cast(pl.Int64).alias("holders"))
    )
    shown = read_part(layout, release, VALUES).with_columns(pl.col("value").cast(pl.String))
    both = shown.join(counted, on=["group", "value"], how="full", coalesce=True, nulls_equal=True)
    differing = both.select(pl.col("count").cast(pl.Int64).ne_missing(pl.col("holders")).sum())
    if differing.item():
        yield f"{differing.item():,} counts of holders differ between people and groups"
    names = held["value"].unique().to_list()
    persists = [
        name
        for name, kind in zip(names, release.persistence_of(names), strict=True)
        if kind != "transient"
    ]
    person = held.filter(pl.col("value").is_in(persists))["person"].unique().to_numpy()
    alone = int(np.count_nonzero(roll.cohort[person] < 0))
    if alone:
        yield f"{alone:,} holders of values that persist are in no cohort"
    if release.hides_presence:
        return
    again = int(np.count_nonzero(roll.joined[person] < release.number)) - alone
    if again:
        yield f"{again:,} people are shown again with a value that may be shown once"
    showing = members.filter(pl.col("person").is_in(person)).select("group")
    records = members.join(showing, on="group", how="semi")
    beside = int((~records["person"].is_in(person)).sum())
    if beside:
        yield f"{beside:,} records stand beside a value that may be shown once"


def _is_presence_hidden(release: ReleaseRecord) -> bool:
    """Whether cohorts stand: nobody knows who of a registry is in the table."""
    return bool(release.summary.get("has_registry")) and not release.is_presence_known


def _people(layout: Layout, release: ReleaseRecord, part: str) -> NDArray[np.int64]:
    return read_part(layout, release, part)["person"].to_numpy().astype(np.int64)


def _repeated(people: NDArray[np.int64]) -> int:
    return len(people) - len(distinct(people))
