"""Pieces of the evidence: all memberships of some people, with what their groups held.

Each membership carries what its group held. That is one row per membership, as in the ledger, and
two shuffles: by group, to join the two factors of the ledger, and by person.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from serigraph.auditing.evidence import Evidence, Memberships
from serigraph.auditing.from_ledger import thresholds_of
from serigraph.auditing.tally import Tally, merged, tally
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.engines.spark.polars_tasks import each_partition, number_of_tasks
from serigraph.ledger import ReleaseRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HELD = pl.List(pl.Struct({"value": pl.Int32, "count": pl.Int64}))
_NOBODY = pl.DataFrame(
    schema={
        "person": pl.Int64,
        "release": pl.Int32,
        "present": pl.Boolean,
        "size": pl.Int64,
        "present_size": pl.Int64,
        "held": _HELD,
    }
)


def tally_on_spark(
    frames: LedgerFrames, releases: Sequence[ReleaseRecord], *, known_members: int, worst: int
) -> Tally:
    """The tally of everybody; its worst cases name people by their number."""
    names = sorted(row.value for row in frames.values().select("value").distinct().collect())
    thresholds = thresholds_of(releases, names)
    labels = tuple(release.label for release in releases)
    first = releases[0].number
    known = tuple(release.known_members for release in releases)

    def counted(rows: pl.DataFrame) -> Tally:
        evidence = _evidence(rows, first, labels, names, thresholds, known)
        return tally(evidence, known_members=known_members, worst=worst)

    def work(rows: pl.DataFrame) -> pl.DataFrame:
        return pl.DataFrame({"tally": [pickle.dumps(counted(rows))]})

    def together(one: Tally, other: Tally) -> Tally:
        return merged(one, other, worst)

    pieces = each_partition(_memberships(frames, releases, names), work, "tally binary")
    found: Tally = pieces.rdd.map(lambda row: pickle.loads(row.tally)).treeAggregate(
        counted(_NOBODY), together, together
    )
    return found


def _memberships(
    frames: LedgerFrames, releases: Sequence[ReleaseRecord], names: Sequence[str]
) -> DataFrame:
    """One row for each membership in a group that held a protected value, people together."""
    from pyspark.sql import functions as sql

    members, groups, values = frames.members(), frames.groups(), frames.values()
    session = members.sparkSession
    pieces = number_of_tasks(sum(release.members for release in releases), members)
    number = session.createDataFrame(list(zip(names, range(len(names)), strict=True)), _NUMBERED)
    known = [release.number for release in releases if release.is_presence_known]
    by_group = ("release", "group")
    held = (
        values.join(sql.broadcast(number), "value")
        .repartition(pieces, *by_group)
        .groupBy(*by_group)
        .agg(sql.sort_array(sql.collect_list(sql.struct("number", "count"))).alias("held"))
    )
    chosen_from = sql.when(sql.col("release").isin(known), sql.col("present"))
    return (
        members.repartition(pieces, *by_group)
        .join(held, list(by_group))
        .join(
            groups.select(
                *by_group,
                chosen_from.otherwise(sql.col("size")).alias("size"),
                sql.col("present").alias("present_size"),
            ).repartition(pieces, *by_group),
            list(by_group),
        )
        .select(
            "person",
            "release",
            "present",
            "size",
            "present_size",
            sql.expr(
                "transform(held, each -> struct(each.number as value, each.count as count))"
            ).alias("held"),
        )
        .repartition(pieces, "person")
    )


_NUMBERED = "value string, number int"


def _evidence(
    rows: pl.DataFrame,
    first_release: int,
    labels: tuple[str, ...],
    names: Sequence[str],
    thresholds: tuple[Fraction, ...],
    known_members: tuple[int, ...],
) -> Evidence:
    """The evidence of the people in the rows; each membership counts as a separate group."""
    ordered = rows.sort("release", "person")
    people = ordered["person"].unique().sort()
    release = ordered["release"].to_numpy() - first_release
    place = people.search_sorted(ordered["person"]).to_numpy()
    first_group = np.searchsorted(release, np.arange(len(labels) + 1)).astype(np.int64)
    group, present = np.arange(len(ordered)), ordered["present"].to_numpy()
    memberships = [
        (place[begin:end], group[begin:end], present[begin:end])
        for begin, end in pairwise(first_group)
    ]
    lengths = ordered["held"].list.len().to_numpy().astype(np.int64)
    entries = ordered["held"].explode().struct.unnest()
    return Evidence(
        ids=people,
        labels=labels,
        members=(0,) * len(labels),  # pieces do not know the total number of people
        values=tuple(names),
        thresholds=thresholds,
        memberships=Memberships.of(len(people), memberships),
        first_group=first_group,
        start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        value=entries["value"].to_numpy().astype(np.int32),
        count=entries["count"].to_numpy().astype(np.int64),
        size=np.repeat(ordered["size"].to_numpy(), lengths),
        present_size=np.repeat(ordered["present_size"].to_numpy(), lengths),
        known_members=known_members,
    )
