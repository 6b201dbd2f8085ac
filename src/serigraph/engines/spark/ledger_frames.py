"""The ledger as Spark frames: every part of every release, read by the executors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.paths import shared
from serigraph.engines.spark.recalling import RecallCompositions, RecallMembers
from serigraph.engines.spark.versions import of_this_version
from serigraph.ledger import ReleaseRecord
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import (
    EXCLUDED,
    GROUPS,
    MEMBERS,
    PEOPLE,
    VALUES,
    files_of,
    forms_of,
    open_part,
)
from serigraph.ledger.storage import storage_errors
from serigraph.privacy.link_chances import LEARNED_FROM, LinkGaps

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class LedgerFrames:
    """The four kinds of part that every release has; read lazily."""

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
        """``release``, ``group``, ``size``, ``present``, ``excluded``."""
        rows = self._read(GROUPS, "group long, size long, present long, excluded long")
        return rows.fillna(0, [EXCLUDED])

    def values(self) -> DataFrame:
        """``release``, ``group``, ``value`` (normalised as tables are), ``count``."""
        rows = self._read(VALUES, "group long, value string, count long")
        return rows.replace(self._renamed, subset=["value"]) if self._renamed else rows

    def people(self) -> DataFrame:
        """``person``, the number given once, and ``id`` as the table has it.

        A number is the place of an id in all files together.
        """
        from pyspark.sql import functions as sql

        id_type = "long" if self._releases[0].id_type == "integer" else "string"
        paths = self._paths(PEOPLE)
        first = zip(map(_key, paths), self._first_numbers(paths), strict=False)
        begin = self._session.createDataFrame(list(first), "file string, first long")
        frame = self._session.read.schema(f"id {id_type}").parquet(*map(shared, paths))
        return (
            frame.select("id", _file().alias("file"), sql.col("_metadata.row_index").alias("row"))
            .join(sql.broadcast(begin), "file")
            .select((sql.col("first") + sql.col("row")).alias("person"), "id")
        )

    def memberships(self, id_type: str) -> DataFrame:
        """A person's ``id`` and ``number``, and ``was``: the key of a group the person was in."""
        people = self._paths(PEOPLE)
        task = RecallMembers(
            pl.Int64() if id_type == "long" else pl.String(),
            tuple(people),
            tuple(self._first_numbers(people)),
        )
        files = [
            (release.number, str(self._layout.parts(release.number) / name))
            for release in self._releases
            for name in files_of(release, MEMBERS)
        ]
        named = self._named(files, "release int, path string")
        return named.mapInArrow(of_this_version(task), f"id {id_type}, number long, was long")

    def compositions(self, protected: Sequence[str]) -> DataFrame:
        """What groups held of some values: ``was``, the key of a group, its ``size`` as the
        adversary of the release counts it, and lists ``value`` (places in ``protected``) and
        ``count``."""
        files = [
            (
                release.number,
                "present" if release.is_presence_known else "size",
                *(str(self._layout.parts(release.number) / name) for name in names),
            )
            for release in self._releases
            for names in zip(files_of(release, GROUPS), files_of(release, VALUES), strict=True)
        ]
        named = self._named(files, "release int, size string, groups string, values string")
        return named.mapInArrow(
            of_this_version(RecallCompositions(tuple(protected))),
            "was long, size long, value array<int>, count array<long>",
        )

    def shown_values(self) -> list[str]:
        """The result of ``Series.protected_names``, collected by the executors."""
        if not self._releases:
            return []
        with cluster_errors("reading the values of earlier releases"):
            return [row.value for row in self.values().select("value").distinct().collect()]

    def link_gaps(self) -> LinkGaps:
        """The result of ``Series.link_gaps``, counted by the executors."""
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        if not self._releases:
            return LinkGaps()
        recent = LedgerFrames(self._session, self._layout, self._releases[-LEARNED_FROM:])
        of_pair = Window.partitionBy("person", "value").orderBy("release")
        following = sql.lead("release").over(of_pair)
        until = sql.coalesce(following, sql.lit(self._releases[-1].number))
        links = recent.members().join(recent.values(), ["release", "group"])
        links = links.select(
            sql.row_number().over(of_pair).alias("link"),
            (until - sql.col("release")).alias("gap"),
            following.isNull().alias("is_last"),
        )
        counted = links.groupBy("link", "gap", "is_last").agg(sql.count("*").alias("pairs"))
        with cluster_errors("counting the links so far"):
            rows = counted.collect()
            people = recent.members().select("person").distinct().count()
        return LinkGaps.of(
            ((row.link, row.gap, row.is_last, row.pairs) for row in rows),
            len(self._releases),
            people,
        )

    @cached_property
    def _renamed(self) -> dict[Any, Any]:
        """Values that an older ledger has in another form, with the form that tables have."""
        rows = self._read(VALUES, "group long, value string, count long")
        renamed: dict[Any, Any] = {}
        for (_,), found in pl.DataFrame(
            rows.select("release", "value").distinct().toArrow()
        ).group_by("release"):
            names = found["value"]
            renamed |= dict(zip(names, forms_of(names), strict=True))
        return {name: form for name, form in renamed.items() if name != form}

    def _named(self, files: list[Any], schema: str) -> DataFrame:
        """Files for tasks to read, spread over them."""
        context = self._session.sparkContext
        pieces = min(len(files), 4 * context.defaultParallelism)
        return self._session.createDataFrame(context.parallelize(files, pieces), schema)

    def _first_numbers(self, people: list[Path]) -> list[int]:
        """The number of the first person in each file, and the first free number."""
        with storage_errors(self._layout.ledger):
            rows = [_rows(path) for path in people]
        return [0, *accumulate(rows)]

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


def _rows(path: Path) -> int:
    with open_part(path) as file:
        return int(file.metadata.num_rows)


def _key(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _file() -> Column:
    """Folder and name of the file that a row comes from: the folder is the release's number.

    Computed for every row of the ledger: regular expressions took most of a release's time here.
    """
    from pyspark.sql import functions as sql

    return sql.substring_index("_metadata.file_path", "/", -2)
