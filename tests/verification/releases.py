"""Past groups as the verifier gets them where there is no ledger."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from model.models import PastGroup, id_of
from serigraph.verification import RememberedRelease, RememberedReleases


def earlier_of(releases: Sequence[Sequence[PastGroup]]) -> RememberedReleases:
    return RememberedReleases(tuple(map(_release_of, releases)))


def _release_of(groups: Sequence[PastGroup]) -> RememberedRelease:
    members = [(person, g) for g, each in enumerate(groups) for person in sorted(each.members)]
    held = [(g, name, n) for g, each in enumerate(groups) for name, n in each.counts.items()]
    return RememberedRelease(
        ids=pl.Series([id_of(person) for person, _ in members], dtype=pl.String),
        group=np.array([g for _, g in members], dtype=np.int64),
        size=np.array([each.size for each in groups], dtype=np.int64),
        value_group=np.array([g for g, _, _ in held], dtype=np.int64),
        value_name=pl.Series([name for _, name, _ in held], dtype=pl.String),
        value_count=np.array([n for _, _, n in held], dtype=np.int64),
    )
