"""The audit of a series: its ledger, its files, and whether they agree."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from serigraph.auditing.agreement import compare_files
from serigraph.auditing.alikeness import crowds_of_series
from serigraph.auditing.from_ledger import evidence_of
from serigraph.auditing.result import Examined, examine
from serigraph.engines import Engine
from serigraph.errors import InputRefused, SeriesError
from serigraph.ledger import Series, notes_on_unknown
from serigraph.privacy.thresholds import parse_threshold

SERIES_STAGES = ("checking digests", "comparing files", "reading the ledger", "computing")


def audit_series(
    series: str | os.PathLike[str] | Series,
    *,
    raw: Sequence[Any] = (),
    known_members: int = 1,
    worst: int = 10,
    engine: Engine = "local",
    master: str = "",
    spark_settings: Mapping[str, str] | None = None,
    progress: Callable[[str], None] = lambda _stage: None,
) -> Examined:
    """Recompute every probability of a series from its ledger, and compare its files with it.

    ``LedgerDamaged`` if a part or a public file was changed or is missing; whatever else differs
    between files and ledger is in the audit's ``agreement``. ``raw`` are the tables that the
    releases were made from, which say who hides in which crowd. With ``engine="spark"`` the work is
    done in the active Spark session, or in one at ``master`` with ``spark_settings``.
    """
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    releases = opened.releases()
    if not releases:
        opened.check()
        raise SeriesError(
            "there is nothing to audit: no release is out",
            where=str(opened.path),
            remedy="publish a release first",
        )
    if engine == "spark":
        if raw:
            raise InputRefused(
                "who hides in which crowd is found out on one machine",
                remedy="leave the raw tables out, or the engine",
            )
        from serigraph.auditing.on_spark import audit_series_on_spark
        from serigraph.engines.spark.session import spark_session

        with spark_session(master, settings=spark_settings) as session:
            return audit_series_on_spark(
                session,
                opened,
                releases,
                known_members=known_members,
                worst=worst,
                progress=progress,
            )
    progress("checking digests")
    opened.check()
    progress("comparing files")
    agreement = tuple(compare_files(opened, release) for release in releases)
    progress("reading the ledger")
    evidence = evidence_of(opened, releases)
    progress("computing")
    crowds, notes = crowds_of_series(opened, releases, evidence, raw, known_members)
    return examine(
        evidence,
        parse_threshold(releases[-1].threshold),
        known_members=known_members,
        worst=worst,
        agreement=agreement,
        notes=(*notes_on_unknown(opened.unknown_files()), *notes),
        crowds=crowds,
    )
