"""Tasks over Polars frames: each gets all rows of its partition at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from serigraph.engines.spark.pieces import batches_of
from serigraph.engines.spark.versions import of_this_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 1_000_000  # per task, about


def number_of_tasks(rows: int, frame: DataFrame) -> int:
    """How many tasks to use for this many rows: the same for every core, none too large for
    memory."""
    cores = frame.sparkSession.sparkContext.defaultParallelism
    return max(-(-rows // (ROWS * cores)), 1) * cores


def each_partition(
    frame: DataFrame, work: Callable[[pl.DataFrame], pl.DataFrame], schema: str
) -> DataFrame:
    """The result of ``work`` on each partition; partitions without rows are skipped."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = list(batches)
        if any(batch.num_rows for batch in rows):
            made = work(pl.DataFrame(pa.Table.from_batches(rows)))
            yield from batches_of(made)

    return frame.mapInArrow(of_this_version(task), schema)
