"""A release on its way to the public: before its commit, and after it."""

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
from serigraph.publishing.figures import ClosestPairs, pair_of
from serigraph.short_repr import ShortRepr, Undisclosed
from serigraph.signing import SigningKey
from serigraph.tables.value_list import ValueList

STAGES = (
    "reading",
    "preparing",
    "recalling",
    "ordering",
    "forming groups",
    "verifying",
    "recoding",
    "writing",
    "committing",
)


@dataclass(frozen=True, repr=False)
class Unpublished(Undisclosed):
    """A verified release between verification and commit, which nobody has seen yet; its tables are
    in ``folder`` already, and further public files are written from it."""

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
    measured: tuple[Any, ...]  # what was kept for the documents, piece by piece

    @property
    def number(self) -> int:
        return len(self.earlier) + 1


Documents = Callable[[Unpublished], None]


def without_documents(_release: Unpublished) -> None:
    """Write nothing beside the tables."""


def measure_nothing(_made: VerifiedRelease, _plan: Plan, _past: Past, _ids: pl.Series) -> None:
    """Keep nothing for the documents."""


@dataclass(frozen=True, repr=False)
class Published(ShortRepr):
    """What became of a table: the release, where its files are, and what they hold."""

    record: ReleaseRecord
    folder: Path
    tables: Mapping[str, pl.DataFrame]
    notes: tuple[str, ...]
    value_list: ValueList  # the policy's values beside those of the table

    @property
    def figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = self.record.summary
        return figures

    def _facts(self) -> dict[str, object]:
        return {
            "release": f"{self.record.number}, {self.record.label}",
            "people": self.figures["present"],
            "groups": self.figures["groups"],
            "probability at worst": pair_of(self.figures["worst_in_release"]),
            "over the series": pair_of(self.figures["worst_in_series"]),
            "tables": ", ".join(self.tables),
            "notes": len(self.notes),
            "folder": self.folder,
        }
