"""Who was in which group, as the ledger stores it: people sorted by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.paths import shared
from serigraph.engines.spark.polars_tasks import ROWS
from serigraph.engines.spark.release import MadeOnSpark, SparkRun
from serigraph.engines.spark.tasks import PACKED, File, WriteMembers, unpack
from serigraph.engines.spark.versions import of_this_version
from serigraph.errors import ImpossibleState
from serigraph.ledger import WrittenFile, WrittenParts
from serigraph.ledger.encoding import encode_people
from serigraph.ledger.parts import GROUPS, MEMBERS, PEOPLE, VALUES, numbered
from serigraph.ledger.storage import digest_of, write_durably

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def written_parts(made: MadeOnSpark, ids: pl.Series, run: SparkRun) -> WrittenParts:
    """All parts of the ledger for a release; new people get the next numbers, in the order of their
    ids."""
    from pyspark.sql import functions as f

    drafts = _drafts(made, ids, run)
    many = max(sum(piece.members for piece in made.pieces) // ROWS, 1)
    known = sum(release.newcomers for release in run.releases)
    with cluster_errors("writing the ledger"):
        files = []
        if known:
            returning = _in_order(drafts.filter(f.col("number").isNotNull()), many, "number")
            files += _written(returning, WriteMembers(run.drafts, None))
        new = _in_order(drafts.filter(f.col("number").isNull()), many, "id")
        new = run.kept.keep(new)
        rows = {
            int(row["piece"]): int(row["count"]) for row in new.groupBy("piece").count().collect()
        }
        first = known + np.cumsum([0, *(rows.get(piece, 0) for piece in range(many))])
        task = WriteMembers(run.drafts, dict(enumerate(first.tolist())))
        files += _written(new, task)
        run.kept.release(new)
    newcomers = sum(file.rows for file in files if file.kind == PEOPLE)
    if newcomers != sum(rows.values()):
        raise ImpossibleState("not every new person was given a number")
    if not newcomers:
        files.append(_no_people(ids, run))
    by_kind = {
        MEMBERS: [file for file in files if file.kind == MEMBERS],
        PEOPLE: [file for file in files if file.kind == PEOPLE],
        GROUPS: [file for file in made.files if file.kind == GROUPS],
        VALUES: [file for file in made.files if file.kind == VALUES],
    }
    members = sum(file.rows for file in by_kind[MEMBERS])
    if members != sum(piece.members for piece in made.pieces):
        raise ImpossibleState("the ledger would not hold every member")
    return WrittenParts(
        files=tuple(
            WrittenFile(numbered(kind, number), file.path, file.sha256)
            for kind, of_kind in by_kind.items()
            for number, file in enumerate(of_kind)
        ),
        ids=ids,
        newcomers=newcomers,
        members=members,
        groups=sum(piece.groups for piece in made.pieces),
    )


def _drafts(made: MadeOnSpark, ids: pl.Series, run: SparkRun) -> DataFrame:
    """The members of all partitions, with groups numbered consecutively."""
    from pyspark.sql import functions as f

    id_type = "long" if ids.dtype == pl.Int64 else "string"
    first = np.cumsum([0, *(piece.groups for piece in made.pieces)]).tolist()
    begins = [(piece.node, first[number]) for number, piece in enumerate(made.pieces)]
    offsets = run.session.createDataFrame(begins, "node int, first long")
    paths = [shared(run.drafts / f"{piece.draft}-{MEMBERS}") for piece in made.pieces]
    schema = f"id {id_type}, number long, group long, present boolean, node int"
    drafts = run.session.read.schema(schema).parquet(*paths)
    numbered_through = (f.col("group") + f.col("first")).alias("group")
    return drafts.join(f.broadcast(offsets), "node").select(
        "id", "number", numbered_through, "present"
    )


def _in_order(members: DataFrame, pieces: int, by: str) -> DataFrame:
    from pyspark.sql import functions as f

    in_order = members.repartitionByRange(pieces, by).sortWithinPartitions(by)
    return in_order.withColumn("piece", f.spark_partition_id())


def _written(members: DataFrame, task: WriteMembers) -> list[File]:
    found = unpack(members.mapInArrow(of_this_version(task), PACKED).toArrow())
    return [file for files in found for file in files]


def _no_people(ids: pl.Series, run: SparkRun) -> File:
    content = encode_people(ids)
    path = run.drafts / f"nobody-{PEOPLE}"
    write_durably(path, content)
    return File(PEOPLE, 0, path, digest_of(content), 0)
