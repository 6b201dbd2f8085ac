"""What reads a series for an audit: here, or wherever an engine does it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from serigraph.auditing.agreement import Agreement, compare_files
from serigraph.auditing.from_ledger import evidence_of
from serigraph.auditing.tally import Tally, tally
from serigraph.errors import InputRefused
from serigraph.ledger import ReleaseRecord, Series


class Auditor(Protocol):
    """Reads the ledger and the public files of one series."""

    def check(self) -> None:
        """Compare everything with its digest; ``LedgerDamaged`` says what differs."""

    def compare(self, releases: tuple[ReleaseRecord, ...]) -> tuple[Agreement, ...]:
        """Whether the public files say what the ledger says, release by release."""

    def tally(
        self,
        releases: tuple[ReleaseRecord, ...],
        *,
        known_members: int,
        worst: int,
        progress: Callable[[str], None],
    ) -> Tally:
        """Every figure of everybody, recomputed from the ledger."""


class Auditing(Protocol):
    """An engine, as far as audits need one."""

    def auditor(self, series: Series) -> AbstractContextManager[Auditor]:
        """What reads this series."""


@dataclass(frozen=True)
class ThisMachine:
    """Audits in the memory of this machine."""

    def auditor(self, series: Series) -> AbstractContextManager[Auditor]:
        return nullcontext(_InMemory(series))


@dataclass(frozen=True)
class _InMemory:
    series: Series

    def check(self) -> None:
        self.series.check()

    def compare(self, releases: tuple[ReleaseRecord, ...]) -> tuple[Agreement, ...]:
        return tuple(compare_files(self.series, release) for release in releases)

    def tally(
        self,
        releases: tuple[ReleaseRecord, ...],
        *,
        known_members: int,
        worst: int,
        progress: Callable[[str], None],
    ) -> Tally:
        progress("reading the ledger")
        evidence = evidence_of(self.series, releases)
        progress("computing")
        return tally(evidence, known_members=known_members, worst=worst)


def refuse_name(engine: object) -> None:
    """``InputRefused`` for an engine that is given by its name."""
    if isinstance(engine, str):
        raise InputRefused(
            "an engine is an object, not a name",
            where="engine",
            remedy="give serigraph.Local() or serigraph.Spark()",
        )
