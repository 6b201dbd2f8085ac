"""Digests of many files, checked by the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.versions import of_this_version
from serigraph.errors import LedgerDamaged
from serigraph.ledger.storage import FileDigest, Recorded, check_digests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def comparing_on(session: SparkSession) -> Callable[[list[Recorded]], None]:
    """A function that compares folders with their digests: executors read the files."""

    def compare(folders: list[Recorded]) -> None:
        files = [
            (str(folder), file.name, file.sha256, shown_as)
            for folder, digests, shown_as in folders
            for file in digests
        ]
        if not files:
            return

        def check(rows: Iterator[tuple[str, str, str, str]]) -> Iterator[tuple[str, str, str]]:
            for folder, name, sha256, shown_as in rows:
                try:
                    check_digests(Path(folder), (FileDigest(name, sha256),), shown_as=shown_as)
                except LedgerDamaged as error:
                    yield error.what, error.where, error.remedy

        context = session.sparkContext
        pieces = min(len(files), 4 * context.defaultParallelism)
        with cluster_errors("checking digests", unreadable=LedgerDamaged):
            asked: Any = context.parallelize(files, pieces)
            damaged = asked.mapPartitions(of_this_version(check)).collect()
        found = sorted(damaged, key=lambda each: str(each[1]))
        if found:
            what, where, remedy = found[0]
            raise LedgerDamaged(what, where=where, remedy=remedy)

    return compare
