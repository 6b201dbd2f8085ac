"""A series as an audit reads it on one machine: whole, in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from serigraph.auditing.agreement import Agreement, compare_files
from serigraph.auditing.alikeness import FoundCrowds, crowds_of_series
from serigraph.auditing.cohort_agreement import compare_cohorts
from serigraph.auditing.cohorts import alike_after_releases
from serigraph.auditing.from_ledger import evidence_of
from serigraph.auditing.tally import Tally, tally
from serigraph.ledger import ReleaseRecord, Series


@dataclass(frozen=True)
class AuditorInMemory:
    """Reads one series; see ``Auditor``."""

    series: Series

    def check(self) -> None:
        self.series.check()

    def compare(self, releases: tuple[ReleaseRecord, ...]) -> tuple[Agreement, ...]:
        found = compare_cohorts(self.series, releases)
        return tuple(
            compare_files(self.series, release).with_differences(found.get(release.number, ()))
            for release in releases
        )

    def tally(
        self,
        releases: tuple[ReleaseRecord, ...],
        raw: Sequence[Any],
        *,
        known_members: int,
        worst: int,
        progress: Callable[[str], None],
    ) -> tuple[Tally, FoundCrowds]:
        progress("reading the ledger")
        evidence = evidence_of(self.series, releases)
        progress("computing")
        alike = alike_after_releases(self.series, releases)
        found = tally(evidence, known_members=known_members, worst=worst, alike=alike)
        return found, crowds_of_series(self.series, releases, evidence, raw, known_members)
