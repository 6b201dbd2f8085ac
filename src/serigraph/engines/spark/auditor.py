"""The audit of a series on Spark: the same figures, from pieces of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from serigraph.auditing.agreement import Agreement
from serigraph.auditing.alikeness import FoundCrowds
from serigraph.auditing.tally import Tally
from serigraph.engines.spark.agreement import compare_on_spark
from serigraph.engines.spark.digests import comparing_on
from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.engines.spark.tallies import tally_on_spark
from serigraph.errors import InputRefused, LedgerDamaged
from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import COHORTS, has_part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DOING = "auditing the series"


@dataclass(frozen=True)
class AuditorOnSpark:
    """Reads a series; a task sees only its piece of the ledger."""

    session: SparkSession
    series: Series

    def check(self) -> None:
        self.series.check(comparing_on(self.session))

    def compare(self, releases: tuple[ReleaseRecord, ...]) -> tuple[Agreement, ...]:
        with cluster_errors(_DOING, unreadable=LedgerDamaged):
            return compare_on_spark(self.session, Layout(self.series.path), releases)

    def tally(
        self,
        releases: tuple[ReleaseRecord, ...],
        raw: Sequence[Any],
        *,
        known_members: int,
        worst: int,
        progress: Callable[[str], None],
    ) -> tuple[Tally, FoundCrowds]:
        if raw:
            raise InputRefused(
                "who hides in which crowd is found out on one machine",
                remedy="leave the raw tables out, or the engine",
            )
        if any(has_part(release, COHORTS) for release in releases):
            raise InputRefused(
                "values that persist are audited on one machine", remedy="leave the engine out"
            )
        progress("computing")
        frames = LedgerFrames(self.session, Layout(self.series.path), releases)
        with cluster_errors(_DOING, unreadable=LedgerDamaged):
            found = tally_on_spark(frames, releases, known_members=known_members, worst=worst)
            numbers = [int(each.person) for each in found.worst]
            people = frames.people()
            rows = people.filter(people.person.isin(numbers)).collect()
        ids = {row.person: row.id for row in rows}
        named = (replace(each, person=ids[each.person]) for each in found.worst)
        return replace(found, worst=tuple(named)), ((), ())
