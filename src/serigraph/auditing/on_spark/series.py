"""The audit of a series on Spark: the same figures, from pieces of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from serigraph.auditing.on_spark.agreement import compare_on_spark
from serigraph.auditing.on_spark.tallies import tally_on_spark
from serigraph.auditing.result import Examined, told
from serigraph.engines.spark.digests import comparing_on
from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.errors import LedgerDamaged
from serigraph.ledger import ReleaseRecord, Series, notes_on_unknown
from serigraph.ledger.layout import Layout
from serigraph.privacy.thresholds import parse_threshold

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def audit_series_on_spark(
    session: SparkSession,
    series: Series,
    releases: tuple[ReleaseRecord, ...],
    *,
    known_members: int,
    worst: int,
    progress: Callable[[str], None],
) -> Examined:
    """What `serigraph.auditing.audit_series` says, with no more of the ledger in one place than
    a task works on."""
    progress("checking digests")
    series.check(comparing_on(session))
    layout = Layout(series.path)
    with cluster_errors("auditing the series", unreadable=LedgerDamaged):
        progress("comparing files")
        agreement = compare_on_spark(session, layout, releases)
        progress("computing")
        frames = LedgerFrames(session, layout, releases)
        found = tally_on_spark(frames, releases, known_members=known_members, worst=worst)
        numbers = [int(each.person) for each in found.worst]
        people = frames.people()
        ids = {row.person: row.id for row in people.filter(people.person.isin(numbers)).collect()}
    named = (replace(each, person=ids[each.person]) for each in found.worst)
    return told(
        replace(found, worst=tuple(named)),
        people=sum(release.newcomers for release in releases),
        threshold=parse_threshold(releases[-1].threshold),
        labels=[release.label for release in releases],
        members=[release.members for release in releases],
        agreement=agreement,
        notes=notes_on_unknown(series.unknown_files()),
    )
