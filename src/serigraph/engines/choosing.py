"""Which engine does the work, and what it does without a release."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from serigraph.auditing.auditor import refuse_name
from serigraph.engines.interface import Engine
from serigraph.engines.one_machine import Local
from serigraph.ledger import Series


def engine_for(engine: Engine, table: Any) -> Engine:
    """The engine that a table is published with: a data frame of Spark is published on Spark."""
    refuse_name(engine)
    if isinstance(engine, Local) and is_spark_frame(table):
        from serigraph.engines.spark.engine import Spark

        return Spark()
    return engine


def is_spark_frame(table: Any) -> bool:
    """Whether this is a data frame of Spark; asks without importing Spark."""
    return type(table).__module__.startswith("pyspark.sql") and hasattr(table, "sparkSession")


def export(
    series: str | os.PathLike[str] | Series,
    folder: str | os.PathLike[str],
    *,
    engine: Engine = Local(),  # noqa: B008 - a frozen record without fields
) -> None:
    """Write the ledger of a series as Parquet, by the published contract.

    With ``engine=Spark(...)`` the executors write it, as folders of files.
    """
    refuse_name(engine)
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    engine.export(opened, Path(folder).absolute())
