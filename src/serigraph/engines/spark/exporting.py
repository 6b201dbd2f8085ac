"""The ledger for other readers, written by the executors: folders of Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from serigraph.engines.spark.digests import comparing_on
from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.errors import LedgerDamaged
from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.exporting import exporting, write_terms
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import EXCLUDED, GROUPS, MEMBERS, VALUES
from serigraph.ledger.recovery import check_parts
from serigraph.ledger.storage import make_private, sync_tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def export_on_spark(session: SparkSession, series: Series, folder: Path) -> None:
    """What ``Series.export`` writes, in as many files as there are tasks.

    ``members.parquet`` and the like are then folders, which Parquet readers open by the same path.
    Driver and executors must share the folder.
    """
    layout, releases = Layout(series.path), series.releases()
    with exporting(folder) as unfinished:
        check_parts(layout, releases, comparing_on(session))
        with cluster_errors("exporting the ledger", unreadable=LedgerDamaged):
            for name, frame in _frames(session, layout, releases).items():
                _write(frame, unfinished / name)
            held = _held(session, layout, releases)
        write_terms(unfinished, releases, held)


def _frames(
    session: SparkSession, layout: Layout, releases: tuple[ReleaseRecord, ...]
) -> dict[str, DataFrame]:
    from pyspark.sql import functions as sql

    ledger = LedgerFrames(session, layout, releases)
    release = sql.col("release").cast("long").alias("release")
    members = (
        ledger.members()
        .join(ledger.people(), "person")
        .select(release, sql.col("id").cast("string").alias("person"), "group", "present")
    )
    return {
        MEMBERS: members,
        GROUPS: ledger.groups().select(release, "group", "size", "present", EXCLUDED),
        VALUES: ledger.values().select(release, "group", "value", "count"),
    }


def _held(
    session: SparkSession, layout: Layout, releases: tuple[ReleaseRecord, ...]
) -> dict[int, set[str]]:
    """The protected values in the groups of each release."""
    held: dict[int, set[str]] = {release.number: set() for release in releases}
    values = LedgerFrames(session, layout, releases).values()
    for row in values.select("release", "value").distinct().collect():
        held[row.release].add(row.value)
    return held


def _write(frame: DataFrame, folder: Path) -> None:
    frame.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(
        f"file://{folder}", compression="zstd"
    )
    for checksum in folder.glob(".*.crc"):  # Hadoop's, which readers mistake for data
        checksum.unlink()
    make_private(folder)
    sync_tree(folder)
