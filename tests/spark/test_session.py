"""Spark starts with what the machine has, and its executors are asked who they are."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from benchmarks import speed_data as data

import serigraph
from publishing.series_digest import digest_of_series
from serigraph.engines.spark.session import spark_session
from serigraph.engines.spark.versions import of_this_version
from serigraph.errors import TableError
from serigraph.ledger import Series

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_task_runs_on_every_kind_of_cluster(spark: SparkSession) -> None:
    def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"id": [2 * each for each in batch["id"].to_pylist()]})

    rows = spark.range(6, numPartitions=3).mapInArrow(of_this_version(doubled), "id long").collect()
    assert sorted(row.id for row in rows) == [0, 2, 4, 6, 8, 10]


def test_an_active_session_is_used_and_left_open(spark: SparkSession) -> None:
    def use() -> int:
        with spark_session("spark://nobody.invalid:7077") as session:
            assert session.sparkContext is spark.sparkContext
            return session.range(3).count()

    assert use() == 3
    with ThreadPoolExecutor(1) as elsewhere:  # where the session is not the active one
        assert elsewhere.submit(use).result() == 3
    assert spark.range(3).count() == 3


@pytest.mark.parametrize("spark", ["local[2]"], indirect=True)
@pytest.mark.usefixtures("spark")
def test_a_table_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    people, table = data.table(3_000, 1), tmp_path / "table"
    table.mkdir()
    for number in range(3):
        people.slice(number * 1_000, 1_000).write_parquet(table / f"part-{number}.parquet")
    broken = table / "part-1.parquet"
    broken.write_bytes(broken.read_bytes()[:5_000])
    series = Series.create(tmp_path / "series", {"policy.toml": data.policy().encode()})
    before = digest_of_series(series.path)
    for path, named in ((table, "part-1.parquet"), (tmp_path / "elsewhere", "elsewhere")):
        with pytest.raises(TableError) as refused:
            serigraph.publish(path, series, engine=serigraph.Spark())
        assert named in str(refused.value)
        assert digest_of_series(series.path) == before
