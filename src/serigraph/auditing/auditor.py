"""What an audit needs from an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from serigraph.auditing.agreement import Agreement
    from serigraph.auditing.alikeness import FoundCrowds
    from serigraph.auditing.tally import Tally
    from serigraph.ledger import ReleaseRecord, Series


class Auditor(Protocol):
    """Reads the ledger and the public files of one series."""

    def check(self) -> None:
        """Compare everything with its digest; ``LedgerDamaged`` says what differs."""

    def compare(self, releases: tuple[ReleaseRecord, ...]) -> tuple[Agreement, ...]:
        """Whether the public files and the ledger agree, release by release."""

    def tally(
        self,
        releases: tuple[ReleaseRecord, ...],
        raw: Sequence[Any],
        *,
        known_members: int,
        worst: int,
        progress: Callable[[str], None],
    ) -> tuple[Tally, FoundCrowds]:
        """Every figure, recomputed from the ledger, and the crowds; the ``raw`` tables of the
        releases give the holders."""


class Auditing(Protocol):
    """An engine that can audit."""

    def auditor(self, series: Series) -> AbstractContextManager[Auditor]:
        """The auditor of a series."""


@dataclass(frozen=True)
class ThisMachine:
    """Audits in the memory of this machine."""

    def auditor(self, series: Series) -> AbstractContextManager[Auditor]:
        from serigraph.auditing.in_memory import AuditorInMemory

        return nullcontext(AuditorInMemory(series))
