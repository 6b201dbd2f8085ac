"""A release between verification and commit: what further public files are written from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from serigraph.engines import Made
from serigraph.ledger import ReleaseRecord
from serigraph.policy import Policy
from serigraph.population import History
from serigraph.privacy.strategies import Strategy


@dataclass(frozen=True)
class Unpublished:
    """A verified release that nobody has seen yet; its tables are in ``folder`` already."""

    folder: Path
    earlier: tuple[ReleaseRecord, ...]
    label: str
    published_at: datetime
    policy: Policy
    strategy: Strategy
    made: Made
    history: History  # of the people in ``history_ids``, in their order
    history_ids: pl.Series
    summary: Mapping[str, object]

    @property
    def number(self) -> int:
        return len(self.earlier) + 1


Documents = Callable[[Unpublished], None]


def without_documents(_release: Unpublished) -> None:
    """Write nothing beside the tables."""
