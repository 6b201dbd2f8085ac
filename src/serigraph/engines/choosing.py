"""The engines, and the choice between them.

Engines are small records: what one needs is imported when it starts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serigraph.arguments import refuse_name
from serigraph.auditing.auditor import ThisMachine
from serigraph.errors import InputRefused
from serigraph.ledger import Series

if TYPE_CHECKING:
    from serigraph.auditing import Auditor
    from serigraph.engines.interface import Engine, Measure, Workplace
    from serigraph.runtime.progress import Progress


@dataclass(frozen=True)
class Local(ThisMachine):
    """This machine alone."""

    def workplace(
        self, series: Series, _table: Any, *, wait: float, measure: Measure, progress: Progress
    ) -> AbstractContextManager[Workplace]:
        from serigraph.engines.one_machine import workplace

        return workplace(series, wait=wait, measure=measure, progress=progress)

    def export(self, series: Series, folder: Path, *, confidential: bool) -> None:
        series.export(folder, confidential=confidential)


@dataclass(frozen=True)
class Spark:
    """A cluster: the active session, or one started at ``master`` with ``settings``.

    Paths of tables are those that Spark reads, and driver and executors must share the folder of a
    series. ``partition_people`` is roughly how many people a task gets; 0 suits most machines.
    """

    master: str = ""  # empty: this machine
    settings: Mapping[str, str] = field(default_factory=dict)
    partition_people: int = 0

    def workplace(
        self, series: Series, table: Any, *, wait: float, measure: Measure, progress: Progress
    ) -> AbstractContextManager[Workplace]:
        from serigraph.engines.spark.engine import workplace

        return workplace(series, table, self, wait=wait, measure=measure)

    def auditor(self, series: Series) -> AbstractContextManager[Auditor]:
        from serigraph.engines.spark.engine import auditor

        _refuse_records(series)
        return auditor(series, self)

    def export(self, series: Series, folder: Path, *, confidential: bool) -> None:
        from serigraph.engines.spark.engine import export

        if confidential:
            raise InputRefused(
                "Spark does not export the confidential parts of a ledger",
                remedy="export on this machine, or without them",
            )
        _refuse_records(series)
        export(series, folder, self)


def _refuse_records(series: Series) -> None:
    """Refuse a series whose releases Spark cannot read."""
    if any(release.shows_records for release in series.releases()):
        raise InputRefused(
            "a series with several sensitive columns, or with plain ones, is read on one machine",
            where=str(series.path),
            remedy="omit --engine (engine in Python)",
        )


def engine_for(engine: Engine, table: Any) -> Engine:
    """The engine to publish a table with: Spark for a Spark data frame."""
    refuse_name(engine)
    return Spark() if isinstance(engine, Local) and is_spark_frame(table) else engine


def no_drafts() -> InputRefused:
    """The refusal to draft a release on a cluster."""
    return InputRefused(
        "releases are drafted on one machine, not on Spark",
        remedy="draft it with --engine local, or publish it without a draft",
    )


def is_spark_frame(table: Any) -> bool:
    """Whether this is a Spark data frame; does not import Spark."""
    return type(table).__module__.startswith("pyspark.sql") and hasattr(table, "sparkSession")


def export(
    series: str | os.PathLike[str] | Series,
    folder: str | os.PathLike[str],
    *,
    confidential: bool = False,
    engine: Engine = Local(),  # noqa: B008 - a frozen record without fields
) -> None:
    """Write the ledger of a series as Parquet, by the published contract.

    If ``confidential``, also who was published as a holder of what, and cohorts. With
    ``engine=Spark(...)`` the executors write it, as folders of files.
    """
    refuse_name(engine)
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    engine.export(opened, Path(folder).absolute(), confidential=confidential)
