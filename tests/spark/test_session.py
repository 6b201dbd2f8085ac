"""Spark starts with what the machine has, and its executors are asked who they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from serigraph.engines.spark.session import spark_session
from serigraph.engines.spark.versions import of_this_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_task_runs_on_every_kind_of_cluster(spark: SparkSession) -> None:
    def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"id": [2 * each for each in batch["id"].to_pylist()]})

    rows = spark.range(6, numPartitions=3).mapInArrow(of_this_version(doubled), "id long").collect()
    assert sorted(row.id for row in rows) == [0, 2, 4, 6, 8, 10]


def test_an_active_session_is_used_and_left_open(spark: SparkSession) -> None:
    with spark_session("spark://nobody.invalid:7077") as session:
        assert session is spark
    assert spark.range(3).count() == 3
