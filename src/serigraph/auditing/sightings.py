"""What each release tells of each person: in which group it was, and what the group showed.

`Evidence` leaves out groups without protected values, which tell that their members are clear;
these are in it. The two kinds of audit read it from what they have at hand anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.evidence import Evidence
from serigraph.auditing.from_releases import Matched
from serigraph.auditing.reading import ReadRelease
from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import COHORTS, GROUPS, MEMBERS, VALUES, has_part, read_part
from serigraph.runtime.ordering import distinct
from serigraph.short_repr import Undisclosed

NOT_TOLD = -1  # instead of a number of records


@dataclass(frozen=True, repr=False)
class Sightings(Undisclosed):
    """One release: people by their place in the evidence, nobody twice; values by their index.

    An adversary who knows who is present sees those alone who have a record; where values persist,
    those who were in the table, some of whose records are withheld.
    """

    person: NDArray[np.int64]
    group: NDArray[np.int64]  # of each person
    present: NDArray[np.bool_]  # whether each has a record; not for the adversary to see
    members: NDArray[np.int64]  # of each group: the people to choose from
    records: NDArray[np.int64]  # how many of them have one; NOT_TOLD where the release hides it
    shown_group: NDArray[np.int64]  # of each entry, ascending by value
    shown_value: NDArray[np.int64]
    shown_count: NDArray[np.int64]
    are_exact: bool = True  # whether everybody is known to be in just this group


def sightings_in_ledger(
    series: Series, releases: Sequence[ReleaseRecord], evidence: Evidence
) -> list[Sightings]:
    """What the releases of a series tell, as its ledger has it."""
    layout = Layout(series.path)
    number = _numbered(evidence.values)
    found = []
    for release in releases:
        people, groups = read_part(layout, release, MEMBERS), read_part(layout, release, GROUPS)
        sees_records = release.is_presence_known and not has_part(release, COHORTS)
        if sees_records:
            people = people.filter("present")
        shown = (
            read_part(layout, release, VALUES)
            .with_columns(pl.col("value").cast(pl.String))
            .join(number, on="value")
            .sort("index")
        )
        records = groups["present"].to_numpy().astype(np.int64)
        found.append(
            Sightings(
                person=people["person"].to_numpy().astype(np.int64),
                group=people["group"].to_numpy().astype(np.int64),
                present=people["present"].to_numpy(),
                members=records if sees_records else groups["size"].to_numpy().astype(np.int64),
                records=records,
                shown_group=shown["group"].to_numpy().astype(np.int64),
                shown_value=shown["index"].to_numpy(),
                shown_count=shown["count"].to_numpy().astype(np.int64),
            )
        )
    return found


def sightings_in_releases(
    releases: Sequence[ReadRelease],
    matched: Sequence[Matched],
    evidence: Evidence,
    *,
    has_raw: bool,
) -> list[Sightings]:
    """What releases of any tool tell; ``has_raw`` says whether tables tell who has a record.

    Where regions overlap, the set of groups that a person may be in stands for a group.
    """
    number = _numbered(evidence.values)
    found = []
    for release, each in zip(releases, matched, strict=True):
        place = evidence.ids.search_sorted(each.ids).to_numpy().astype(np.int64)
        entries = each.entries.join(number, on="value").select("group", "index", "count")
        person, group = each.person, each.group
        tells_presence = has_raw or release.ids is not None
        is_exact = len(distinct(person)) == len(person)
        if is_exact:
            members = np.bincount(group, minlength=len(each.size))
            is_told = tells_presence or release.group is None
            records = each.present_size.astype(np.int64)
        else:
            person, group, entries = _sets_of_groups(person, group, entries)
            members = records = np.bincount(group)
            is_told = tells_presence and bool(each.present.all())
        entries = entries.sort("index")
        found.append(
            Sightings(
                person=place[person],
                group=group,
                present=each.present[person],
                members=members,
                records=records if is_told else np.full(len(members), NOT_TOLD),
                shown_group=entries["group"].cast(pl.Int64).to_numpy(),
                shown_value=entries["index"].to_numpy(),
                shown_count=entries["count"].to_numpy().astype(np.int64),
                are_exact=is_exact,
            )
        )
    return found


def _numbered(values: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {"value": pl.Series(values, dtype=pl.String), "index": np.arange(len(values))}
    )


def _sets_of_groups(
    person: NDArray[np.int64], group: NDArray[np.int64], entries: pl.DataFrame
) -> tuple[NDArray[np.int64], NDArray[np.int64], pl.DataFrame]:
    """Each person once, with the number of the set of groups that it may be in; a set shows what
    any of its groups shows."""
    sets = (
        pl.DataFrame({"person": person, "group": group})
        .sort("person", "group")
        .group_by("person", maintain_order=True)
        .agg("group")
    )
    distinct = sets.select("group").unique(maintain_order=True).with_row_index("set")
    numbered = sets.join(distinct, on="group", how="left", maintain_order="left")
    shown = (
        distinct.explode("group")
        .join(entries, on="group")
        .group_by("set", "index")
        .agg(pl.col("count").sum())
        .rename({"set": "group"})
    )
    return numbered["person"].to_numpy(), numbered["set"].cast(pl.Int64).to_numpy(), shown
