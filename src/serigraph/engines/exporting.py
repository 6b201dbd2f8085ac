"""The export of a ledger, on one machine or on many."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from serigraph.engines.plan import Engine
from serigraph.ledger import Series


def export(
    series: str | os.PathLike[str] | Series,
    folder: str | os.PathLike[str],
    *,
    engine: Engine = "local",
    master: str = "",
    spark_settings: Mapping[str, str] | None = None,
) -> None:
    """Write the ledger of a series as Parquet, by the published contract.

    With ``engine="spark"`` the executors write it, as folders of files, in the active Spark session
    or in one at ``master`` with ``spark_settings``.
    """
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    if engine == "local":
        opened.export(Path(folder))
        return
    from serigraph.engines.spark.exporting import export_on_spark
    from serigraph.engines.spark.session import spark_session

    with spark_session(master, settings=spark_settings) as session:
        export_on_spark(session, opened, Path(folder).absolute())
