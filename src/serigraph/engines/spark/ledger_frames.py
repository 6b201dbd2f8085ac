"""The ledger as frames of Spark: every part of every release, read by the executors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from serigraph.engines.spark.paths import shared
from serigraph.ledger import ReleaseRecord
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import GROUPS, MEMBERS, PEOPLE, VALUES, files_of
from serigraph.ledger.storage import storage_errors

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class LedgerFrames:
    """The four kinds of parts of some releases; nothing is read before Spark is asked to."""

    def __init__(
        self, session: SparkSession, layout: Layout, releases: Sequence[ReleaseRecord]
    ) -> None:
        self._session = session
        self._layout = layout
        self._releases = tuple(releases)

    def members(self) -> DataFrame:
        """``release``, ``person`` (a number), ``group``, ``present``."""
        return self._read(MEMBERS, "person long, group long, present boolean")

    def groups(self) -> DataFrame:
        """``release``, ``group``, ``size``, ``present``."""
        return self._read(GROUPS, "group long, size long, present long")

    def values(self) -> DataFrame:
        """``release``, ``group``, ``value``, ``count``."""
        return self._read(VALUES, "group long, value string, count long")

    def people(self) -> DataFrame:
        """``person``, the number given once, and ``id`` as the table has it.

        A number is the place of an id in the files, one file behind the other.
        """
        from pyspark.sql import functions as sql

        id_type = "long" if self._releases[0].id_type == "integer" else "string"
        paths = self._paths(PEOPLE)
        with storage_errors(self._layout.ledger):
            rows = [pq.read_metadata(path).num_rows for path in paths]
        first = [(path, sum(rows[:number])) for number, path in enumerate(map(_key, paths))]
        begin = self._session.createDataFrame(first, "file string, first long")
        frame = self._session.read.schema(f"id {id_type}").parquet(*map(shared, paths))
        return (
            frame.select("id", _file().alias("file"), sql.col("_metadata.row_index").alias("row"))
            .join(sql.broadcast(begin), "file")
            .select((sql.col("first") + sql.col("row")).alias("person"), "id")
        )

    def _read(self, kind: str, schema: str) -> DataFrame:
        from pyspark.sql import functions as sql

        paths = [shared(path) for path in self._paths(kind)]
        frame = self._session.read.schema(schema).parquet(*paths)
        release = sql.substring_index(_file(), "/", 1).cast("int").alias("release")
        return frame.select(release, *(sql.col(name) for name in frame.columns))

    def _paths(self, kind: str) -> list[Path]:
        return [
            self._layout.parts(release.number) / name
            for release in self._releases
            for name in files_of(release, kind)
        ]


def _key(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _file() -> Column:
    """Folder and name of the file that a row comes from: the folder is the release's number.

    Computed for every row of the ledger: regular expressions took most of a release here.
    """
    from pyspark.sql import functions as sql

    return sql.substring_index("_metadata.file_path", "/", -2)
