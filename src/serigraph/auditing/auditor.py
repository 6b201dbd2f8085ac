"""What an audit asks of an engine: something that reads a series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from serigraph.errors import InputRefused

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
        """Whether the public files say what the ledger says, release by release."""

    def tally(
        self,
        releases: tuple[ReleaseRecord, ...],
        raw: Sequence[Any],
        *,
        known_members: int,
        worst: int,
        progress: Callable[[str], None],
    ) -> tuple[Tally, FoundCrowds]:
        """Every figure of everybody, recomputed from the ledger, and the crowds that holders hide
        in; the ``raw`` table of each release says who holds."""


class Auditing(Protocol):
    """An engine, as far as audits need one."""

    def auditor(self, series: Series) -> AbstractContextManager[Auditor]:
        """What reads this series."""


@dataclass(frozen=True)
class ThisMachine:
    """Audits in the memory of this machine."""

    def auditor(self, series: Series) -> AbstractContextManager[Auditor]:
        from serigraph.auditing.in_memory import AuditorInMemory

        return nullcontext(AuditorInMemory(series))


def refuse_name(engine: object) -> None:
    """``InputRefused`` for an engine that is given by its name."""
    if isinstance(engine, str):
        raise InputRefused(
            "an engine is an object, not a name",
            where="engine",
            remedy="give serigraph.Local() or serigraph.Spark()",
        )
