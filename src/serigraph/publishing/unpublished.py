"""A release between verification and commit: what further public files are written from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.engines import Plan, VerifiedRelease
from serigraph.ledger import ReleaseRecord
from serigraph.model import Past
from serigraph.policy import Policy
from serigraph.privacy.strategies import Strategy
from serigraph.publishing.worst_pairs import ClosestPairs
from serigraph.short_repr import Undisclosed
from serigraph.signing import SigningKey
from serigraph.tables.value_list import ValueList


@dataclass(frozen=True, repr=False)
class Unpublished(Undisclosed):
    """A verified release that nobody has seen yet; its tables are in ``folder`` already."""

    folder: Path
    earlier: tuple[ReleaseRecord, ...]
    earlier_pairs: tuple[ClosestPairs, ...]  # of each of them
    label: str
    published_at: datetime
    policy: Policy
    strategy: Strategy
    summary: Mapping[str, object]
    value_list: ValueList  # the policy's values beside those of the table
    signer: SigningKey | None  # of the certificate

    @property
    def number(self) -> int:
        return len(self.earlier) + 1


@dataclass(frozen=True, repr=False)
class LocalDraft(Unpublished):
    """One that was made on this machine, and is still in memory."""

    made: VerifiedRelease
    history: Past  # of the people in ``history_ids``, in their order
    history_ids: pl.Series


@dataclass(frozen=True, repr=False)
class RemoteDraft(Unpublished):
    """One that was made on other machines, and what was measured there, piece by piece."""

    measured: tuple[Any, ...]


Documents = Callable[[Unpublished], None]
Measure = Callable[[VerifiedRelease, Plan, Past], Any]


def measure_nothing(_made: VerifiedRelease, _plan: Plan, _history: Past) -> None:
    """Keep nothing for the documents."""


def without_documents(_release: Unpublished) -> None:
    """Write nothing beside the tables."""
