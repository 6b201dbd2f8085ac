"""The verifier's view of the past: the ledger itself, or what a rehearsal remembers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from serigraph.ledger import ReleaseRecord
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import COHORTS, has_part
from serigraph.model import Past
from serigraph.privacy.thresholds import parse_threshold
from serigraph.verification import (
    CommittedRelease,
    LedgerOnDisk,
    RememberedRelease,
    RememberedReleases,
    Standing,
)


def ledger_on_disk(layout: Layout, releases: Sequence[ReleaseRecord]) -> LedgerOnDisk:
    """Where the parts of all releases are, and what the catalog records about them."""
    return LedgerOnDisk(
        tuple(
            CommittedRelease(
                folder=layout.parts(release.number),
                digests={file.name: file.sha256 for file in release.parts},
                newcomers=release.newcomers,
                members=release.members,
                groups=release.groups,
                is_presence_known=release.is_presence_known,
                known_members=release.known_members,
                standing=_standing(release),
            )
            for release in releases
        )
    )


def _standing(release: ReleaseRecord) -> Standing | None:
    """How the cohorts of a release stand."""
    if not (release.hides_presence and has_part(release, COHORTS)):
        return None
    own = release.policy["protected"]["thresholds"]
    return Standing(
        persists=lambda name: release.persistence_of([name]) != ("transient",),
        threshold_of=lambda name: parse_threshold(own.get(name, release.threshold)),
        has_one_value=release.policy["sensitive"].get("form") == "single",
    )


def remembered(ids: pl.Series, names: Sequence[str], past: Past) -> RememberedReleases:
    """The past of people as releases, where there is no ledger: in rehearsals and tests."""
    held = past.held
    lengths = np.diff(held.start)
    value_group = np.repeat(np.arange(held.groups), lengths)
    size = np.ones(held.groups, dtype=np.int64)
    size[value_group] = held.size[held.exposure]
    value_name = pl.Series(list(names), dtype=pl.String).gather(held.value[held.exposure])
    return RememberedReleases(
        tuple(
            RememberedRelease(
                ids=ids.filter(pl.Series(group >= 0)),
                group=group[group >= 0],
                size=size,
                value_group=value_group,
                value_name=value_name,
                value_count=held.count[held.exposure],
            )
            for group in past.group.T
        )
    )
