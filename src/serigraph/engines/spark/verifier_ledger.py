"""The earlier releases for the verifier's tasks, by a separate join.

Nothing here comes from the past that grouping gets: files are read by the verifier's reader, which
compares them with their digests, memberships are joined to people by id, the sizes of groups are
counted from their members, and what groups held from the holders, where a release records them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from serigraph.engines.spark.pieces import batches_of
from serigraph.engines.spark.versions import of_this_version
from serigraph.errors import LedgerDamaged
from serigraph.verification import (
    CommittedRelease,
    LedgerOnDisk,
    RememberedRelease,
    RememberedReleases,
)
from serigraph.verification.cohorts_on_disk import read_pairs
from serigraph.verification.committed import Part, read_columns, read_entries, read_ids
from serigraph.verification.on_disk import GROUPS_DIFFER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GROUP = 32  # bits of a group's number in its key, below the release's number

Read = Callable[[CommittedRelease, Path, int, int], pl.DataFrame]


@dataclass(frozen=True)
class _ReadFiles:
    """Reads the files that a frame names: the ``release``, the ``name``, and the ``first`` row."""

    releases: tuple[CommittedRelease, ...]
    read: Read

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.to_pylist():
                release = self.releases[file["release"]]
                path = release.folder / file["name"]
                yield from batches_of(self.read(release, path, file["release"], file["first"]))


def _people(release: CommittedRelease, path: Path, _number: int, first: int) -> pl.DataFrame:
    ids = read_ids(release, [path]).alias("id").to_frame()
    return ids.select(pl.int_range(pl.len()).alias("person") + first, "id")


def _members(release: CommittedRelease, path: Path, number: int, _first: int) -> pl.DataFrame:
    person, group, present = read_columns(release, [path], ["person", "group", "present"])
    return pl.DataFrame(
        {
            "person": person.astype(np.int64),
            "was": _key(number, group),
            "present": present,
            "counts": present if release.is_presence_known else np.ones_like(present),
        }
    )


def _groups(release: CommittedRelease, path: Path, number: int, _first: int) -> pl.DataFrame:
    group, size, present = read_columns(release, [path], ["group", "size", "present"])
    return pl.DataFrame(
        {
            "was": _key(number, group),
            "said": size.astype(np.int64),
            "said_present": present.astype(np.int64),
        }
    )


def _values(
    names: tuple[str, ...], release: CommittedRelease, path: Path, number: int, _first: int
) -> pl.DataFrame:
    held = read_entries(release, [path], names).asked()
    return pl.DataFrame(
        {
            "was": _key(number, held.group),
            "value": held.value,
            "count": held.count.astype(np.int64),
        }
    )


def _damaged_holders(
    names: tuple[str, ...], release: CommittedRelease, _path: Path, number: int, _first: int
) -> pl.DataFrame:
    """What is wrong with the holders of a release, if anything is."""
    try:
        read_pairs(release, names)
    except LedgerDamaged as error:
        return pl.DataFrame({"release": [number], "what": [error.what]})
    return pl.DataFrame(schema={"release": pl.Int64, "what": pl.String})


def _key(number: int, group: np.ndarray) -> np.ndarray:
    return number << _GROUP | group.astype(np.int64)


@dataclass(frozen=True)
class VerifierFrames:
    """The ledger as frames, for the verifier alone; read lazily."""

    session: SparkSession
    ledger: LedgerOnDisk

    def memberships(self, id_type: str) -> DataFrame:
        """``id``, and in ``member_of`` the keys of all groups the person was in."""
        from pyspark.sql import functions as f

        rows = [pq.read_metadata(path).num_rows for _, path in self._files("people")]
        first = [0, *accumulate(rows)]
        people = self._read("people", _people, f"person long, id {id_type}", first)
        keys = self._all_members().groupBy("person").agg(f.collect_list("was").alias("member_of"))
        found = people.join(keys.hint("merge"), "person").groupBy("id")
        return found.agg(f.flatten(f.collect_list("member_of")).alias("member_of"))

    def compositions(self, names: Sequence[str]) -> DataFrame:
        """What groups held of some values: ``was``, the key of a group, its ``size`` as the
        adversary of the release counts it, lists ``value`` (places in ``names``) and ``count``, and
        whether the ledger's record of the group is correct (``is_right``)."""
        from pyspark.sql import functions as f

        held = self._read(
            "values", partial(_values, tuple(names)), "was long, value int, count long"
        )
        together = held.groupBy("was").agg(f.collect_list(f.struct("value", "count")).alias("held"))
        counted = (
            self._all_members()
            .groupBy("was")
            .agg(
                f.count_if("counts").alias("size"),
                f.count(f.lit(1)).alias("people"),
                f.count_if("present").alias("shown"),
            )
        )
        said = self._read("groups", _groups, "was long, said long, said_present long")
        is_right = (f.col("people") == f.col("said")) & (f.col("shown") == f.col("said_present"))
        return (
            together.join(counted.hint("merge"), "was", "left")
            .join(said.hint("merge"), "was", "left")
            .select(
                "was",
                f.coalesce("size", f.lit(0)).alias("size"),
                f.col("held.value").alias("value"),
                f.col("held.count").alias("count"),
                f.coalesce(is_right, f.lit(False)).alias("is_right"),
            )
        )

    def check_holders(self, names: Sequence[str]) -> None:
        """Compare who held these values with what groups held, in every release that records it: a
        task for each, since such a release was made on one machine."""
        if not any(release.files_if_any("holders") for release in self.ledger.releases):
            return
        read = partial(_damaged_holders, tuple(names))
        for found in self._read("holders", read, "release long, what string").take(1):
            raise self.ledger.releases[found["release"]].damaged(found["what"], "holders")

    def _all_members(self) -> DataFrame:
        schema = "person long, was long, present boolean, counts boolean"
        return self._read("members", _members, schema)

    def _files(self, part: Part) -> list[tuple[int, Path]]:
        return [
            (number, path)
            for number, release in enumerate(self.ledger.releases)
            for path in (release.files_if_any if part == "holders" else release.files)(part)
        ]

    def _read(
        self, part: Part, read: Read, schema: str, first: Sequence[int] | None = None
    ) -> DataFrame:
        found = self._files(part)
        begin = [0] * len(found) if first is None else first
        rows = [(number, path.name, at) for (number, path), at in zip(found, begin, strict=False)]
        context = self.session.sparkContext
        pieces = min(len(rows), 4 * context.defaultParallelism)
        named = self.session.createDataFrame(
            context.parallelize(rows, pieces), "release int, name string, first long"
        )
        task = _ReadFiles(self.ledger.releases, read)
        return named.mapInArrow(of_this_version(task), schema)


def earlier_releases(
    people: pl.DataFrame, compositions: pl.DataFrame, names: Sequence[str]
) -> RememberedReleases:
    """A task's releases for its people, from ``id`` and ``member_of``, and from the compositions of
    those of their groups that held any of the values named."""
    if not compositions["is_right"].all():
        raise LedgerDamaged(
            GROUPS_DIFFER,
            where="ledger",
            remedy="restore the series from a backup; nothing is published until then",
        )
    numbered = compositions.with_columns((pl.col("was") // 2**_GROUP).alias("release"))
    members = people.select("id", pl.col("member_of").alias("was")).explode("was")
    return RememberedReleases(
        tuple(
            _release(groups.with_row_index("group"), members, names)
            for groups in numbered.partition_by("release", maintain_order=True)
        )
    )


def _release(
    groups: pl.DataFrame, members: pl.DataFrame, names: Sequence[str]
) -> RememberedRelease:
    inside = members.join(groups.select("was", "group"), on="was")
    held = groups.select("group", "value", "count").explode("value", "count")
    return RememberedRelease(
        ids=inside["id"],
        group=inside["group"].to_numpy(),
        size=groups["size"].to_numpy(),
        value_group=held["group"].to_numpy(),
        value_name=pl.Series(list(names), dtype=pl.String).gather(held["value"]),
        value_count=held["count"].to_numpy(),
    )
