"""What an adversary can make of a series if values persist: the crowds that holders hide in.

Where tables say who holds, H/|K| is what somebody believes who knows everything about the series
except which member of a crowd is which. Others, who know less, believe a mean of such figures
over the worlds that seem possible. Without tables, published counts bound H.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from serigraph.auditing.crowds import CrowdsAfter, PublishedHolders, crowds_after_releases
from serigraph.auditing.evidence import Evidence
from serigraph.auditing.from_releases import Matched
from serigraph.auditing.holders import (
    holders_in_releases,
    holders_in_series,
    recorded_holders,
)
from serigraph.auditing.reading import ReadRelease
from serigraph.auditing.sightings import Sightings, sightings_in_ledger, sightings_in_releases
from serigraph.ledger import ReleaseRecord, Series
from serigraph.policy import Policy, read_policy
from serigraph.tables import ProtectedChoice

FoundCrowds = tuple[tuple[CrowdsAfter, ...], tuple[str, ...]]
"""The crowds after each release, and notes."""


def crowds_of_series(
    series: Series,
    releases: Sequence[ReleaseRecord],
    evidence: Evidence,
    raw: Sequence[Any],
    known_members: int,
) -> FoundCrowds:
    """The crowds of a Serigraph series; the ``raw`` tables of the releases give the holders."""
    seen = sightings_in_ledger(series, releases, evidence)
    holders: list[PublishedHolders] | None = None
    notes: tuple[str, ...] = ()
    if raw:
        policy = read_policy(series.path / "policy.toml")
        choice = ProtectedChoice.from_json(releases[-1].protected_json)
        recorded = recorded_holders(series, releases, evidence)
        holders, notes = holders_in_series(raw, policy, choice, evidence, seen, recorded)
    return _crowds(evidence, seen, holders, known_members), notes


def crowds_of_releases(
    releases: Sequence[ReadRelease],
    matched: Sequence[Matched],
    evidence: Evidence,
    raw: Sequence[pl.DataFrame],
    policy: Policy,
    choice: ProtectedChoice,
    known_members: int,
) -> FoundCrowds:
    """The crowds of releases of any tool; holders are known if all raw tables have values."""
    seen = sightings_in_releases(releases, matched, evidence, has_raw=bool(raw))
    holders, notes = holders_in_releases(raw, policy, choice, evidence, seen)
    return _crowds(evidence, seen, holders, known_members), notes


def _crowds(
    evidence: Evidence,
    seen: Sequence[Sightings],
    holders: Sequence[PublishedHolders] | None,
    known_members: int,
) -> tuple[CrowdsAfter, ...]:
    return crowds_after_releases(
        len(evidence.ids),
        evidence.labels,
        list(zip(evidence.values, evidence.thresholds, strict=True)),
        seen,
        holders,
        known_members,
    )
