"""Compares published files with the ledger in pieces: by group, or by what regions hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from serigraph.auditing.agreement import (
    MISSING,
    Agreement,
    bucketised_differences,
    columns_of_sets,
    compared_compositions,
    compared_groups,
    generalised_differences,
    kept_compositions,
    shown_compositions,
    shown_size,
)
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.engines.spark.paths import quoted, shared
from serigraph.engines.spark.polars_tasks import each_partition, number_of_tasks
from serigraph.ledger import ReleaseRecord
from serigraph.ledger.layout import Layout
from serigraph.recoding.output import as_meant
from serigraph.recoding.tables import COUNT, GROUP, VALUE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COMPOSITIONS = "composition string, groups long"
_SIZES, _VALUES = 0, 1  # kinds of rows in one frame
_SHOWN, _KEPT = 0, 1


def compare_on_spark(
    session: SparkSession, layout: Layout, releases: tuple[ReleaseRecord, ...]
) -> tuple[Agreement, ...]:
    """The result of `serigraph.auditing.agreement.compare_files` for each release."""
    from pyspark.sql import functions as sql

    totals = {
        row.release: row
        for row in LedgerFrames(session, layout, releases)
        .groups()
        .groupBy("release")
        .agg(sql.count("*").alias("groups"), sql.sum("present").alias("records"))
        .collect()
    }
    return tuple(
        Agreement(
            release=release.number,
            label=release.label,
            groups=totals[release.number].groups,
            records=totals[release.number].records,
            differences=tuple(_differences(session, layout, release)),
        )
        for release in releases
    )


def _differences(session: SparkSession, layout: Layout, release: ReleaseRecord) -> list[str]:
    found = release.tables(layout.published(release.label))
    sets = columns_of_sets(release, list(found))
    tables = [_read(session, files, sets) for files in found.values()]
    ledger = LedgerFrames(session, layout, [release])
    pieces = number_of_tasks(release.members, ledger.groups())
    match tables:
        case [table]:
            return generalised_differences(_compositions(table, ledger, release, pieces))
        case [members, held]:
            return bucketised_differences(_groups(members, held, ledger, release, pieces))
        case _:
            return [MISSING]


def _read(session: SparkSession, files: Sequence[Path], sets: Collection[str]) -> DataFrame:
    paths = [shared(path) for path in files]
    if files[0].suffix == ".parquet":
        return session.read.parquet(*paths)
    written = session.read.csv(paths, header=True, escape='"', multiLine=True)
    kinds = {each: "array<string>" if each in sets else "string" for each in written.columns}
    schema = ", ".join(f"{quoted(each)} {kind}" for each, kind in kinds.items())
    return each_partition(written, partial(as_meant, sets=sets), schema)


def _compositions(
    table: DataFrame, ledger: LedgerFrames, release: ReleaseRecord, pieces: int
) -> tuple[int, int, int, int]:
    from pyspark.sql import functions as sql

    def shown(rows: pl.DataFrame) -> pl.DataFrame:
        return _counts(shown_compositions(rows, release))

    def kept(rows: pl.DataFrame) -> pl.DataFrame:
        groups = rows.filter(pl.col("kind") == _SIZES).rename({"n": "present"})
        values = rows.filter(pl.col("kind") == _VALUES).rename({"n": "count"})
        return _counts(kept_compositions(groups, values))

    def compared(rows: pl.DataFrame) -> pl.DataFrame:
        sides = [
            rows.filter(pl.col("side") == side).group_by("composition").agg(pl.col("groups").sum())
            for side in (_SHOWN, _KEPT)
        ]
        return pl.DataFrame([compared_compositions(*sides)], schema=list("abcd"), orient="row")

    regions = [quoted(each) for each in release.policy["quasi_identifiers"]]
    of_table = each_partition(table.repartition(pieces, *regions), shown, _COMPOSITIONS)
    of_ledger = each_partition(
        _ledger_rows(ledger, "present").repartition(pieces, "group"), kept, _COMPOSITIONS
    )
    both = of_table.withColumn("side", sql.lit(_SHOWN)).unionByName(
        of_ledger.withColumn("side", sql.lit(_KEPT))
    )
    parts = each_partition(
        both.repartition(pieces, "composition"), compared, "a long, b long, c long, d long"
    )
    a, b, c, d = parts.agg(*(sql.coalesce(sql.sum(name), sql.lit(0)) for name in "abcd")).collect()[
        0
    ]
    return a, b, c, d


def _groups(
    members: DataFrame,
    held: DataFrame,
    ledger: LedgerFrames,
    release: ReleaseRecord,
    pieces: int,
) -> tuple[int, int]:
    from pyspark.sql import functions as sql

    def compared(rows: pl.DataFrame) -> pl.DataFrame:
        def of(side: int, kind: int) -> pl.DataFrame:
            mine = rows.filter((pl.col("side") == side) & (pl.col("kind") == kind))
            return mine.select("group", *(["value"] if kind == _VALUES else []), "n")

        found = compared_groups(
            of(_SHOWN, _SIZES), of(_SHOWN, _VALUES), of(_KEPT, _SIZES), of(_KEPT, _VALUES), release
        )
        return pl.DataFrame([found], schema=list("ab"), orient="row")

    group = sql.col(GROUP).cast("long").alias("group")
    shown = (
        members.groupBy(group)
        .agg(sql.count("*").alias("n"))
        .select(
            sql.lit(_SIZES).alias("kind"), "group", sql.lit(None).cast("string").alias("value"), "n"
        )
        .unionByName(
            held.select(
                sql.lit(_VALUES).alias("kind"),
                group,
                sql.col(VALUE).cast("string").alias("value"),
                sql.col(COUNT).cast("long").alias("n"),
            )
        )
    )
    rows = shown.withColumn("side", sql.lit(_SHOWN)).unionByName(
        _ledger_rows(ledger, shown_size(release)).withColumn("side", sql.lit(_KEPT))
    )
    parts = each_partition(rows.repartition(pieces, "group"), compared, "a long, b long")
    a, b = _sums(parts)
    return a, b


def _sums(parts: DataFrame) -> list[int]:
    from pyspark.sql import functions as sql

    sums = parts.agg(*(sql.coalesce(sql.sum(name), sql.lit(0)) for name in parts.columns))
    return list(sums.collect()[0])


def _ledger_rows(ledger: LedgerFrames, size: str) -> DataFrame:
    """Sizes and values of groups as rows of one frame: ``kind``, ``group``, ``value``, ``n``."""
    from pyspark.sql import functions as sql

    return (
        ledger.groups()
        .select(
            sql.lit(_SIZES).alias("kind"),
            "group",
            sql.lit(None).cast("string").alias("value"),
            sql.col(size).alias("n"),
        )
        .unionByName(
            ledger.values().select(
                sql.lit(_VALUES).alias("kind"), "group", "value", sql.col("count").alias("n")
            )
        )
    )


def _counts(compositions: pl.DataFrame) -> pl.DataFrame:
    return compositions.select("composition", pl.col("groups").cast(pl.Int64))
