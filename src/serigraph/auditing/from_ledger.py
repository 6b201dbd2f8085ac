"""The evidence that a ledger holds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.agreement import shown_size
from serigraph.auditing.evidence import Evidence, InRelease, Memberships
from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import EXCLUDED, GROUPS, MEMBERS, VALUES, read_part, read_people
from serigraph.privacy.thresholds import parse_threshold
from serigraph.tables import ProtectedChoice


def evidence_of(series: Series, releases: Sequence[ReleaseRecord]) -> Evidence:
    """Everything that the ledger knows of the first releases of a series.

    Every part is compared with its digest when it is read: ``LedgerDamaged`` says which was
    changed or is missing.
    """
    layout = Layout(series.path)
    known = tuple(releases)
    people = read_people(layout, known)
    parts = [read_part(layout, release, VALUES) for release in known]
    names = _names(parts)
    number = pl.DataFrame({"value": names, "index": np.arange(len(names), dtype=np.int32)})
    memberships: list[InRelease] = []
    first_group, lengths, entries, sizes, present_sizes = [0], [], [], [], []
    for row, release in enumerate(known):
        held = (
            parts[row]
            .with_columns(pl.col("value").cast(pl.String))
            .join(number, on="value", how="left")
            .sort("group", "index")
        )
        of_entry = held["group"].to_numpy()
        kept, length = np.unique(of_entry, return_counts=True)
        shown_as = np.full(release.groups, -1, dtype=np.int32)
        shown_as[kept] = np.arange(first_group[-1], first_group[-1] + len(kept), dtype=np.int32)
        members = read_part(layout, release, MEMBERS)
        group = shown_as[members["group"].to_numpy()]
        is_shown = group >= 0
        person, present = members["person"].to_numpy(), members["present"].to_numpy()
        memberships.append((person[is_shown], group[is_shown], present[is_shown]))
        groups = read_part(layout, release, GROUPS)
        chosen_from = groups[shown_size(release)].to_numpy().astype(np.int64)
        excluded = _excluded(held, groups, release)
        first_group.append(first_group[-1] + len(kept))
        lengths.append(length)
        entries.append(held)
        sizes.append(chosen_from[of_entry] - excluded)
        present_sizes.append(groups["present"].to_numpy().astype(np.int64)[of_entry] - excluded)
    together = (
        pl.concat(entries)
        if entries
        else pl.DataFrame(schema={"index": pl.Int32, "count": pl.Int64})
    )
    return Evidence(
        ids=people["id"],
        labels=tuple(release.label for release in known),
        members=tuple(release.members for release in known),
        values=tuple(names.to_list()),
        thresholds=thresholds_of(known, names.to_list()),
        memberships=Memberships.of(people.height, memberships),
        first_group=np.array(first_group, dtype=np.int64),
        start=np.concatenate([[0], *(np.asarray(each) for each in lengths)]).cumsum(dtype=np.int64),
        value=together["index"].to_numpy().astype(np.int32),
        count=together["count"].to_numpy().astype(np.int64),
        size=np.concatenate([[], *sizes]).astype(np.int64),
        present_size=np.concatenate([[], *present_sizes]).astype(np.int64),
        known_members=tuple(release.known_members for release in known),
        persists=persisting_values(known, names.to_list()),
    )


def _excluded(
    held: pl.DataFrame, groups: pl.DataFrame, release: ReleaseRecord
) -> NDArray[np.int64]:
    """For each entry the people of its group who cannot hold the value beside one that persists;
    nobody if it persists."""
    if EXCLUDED not in groups.columns:
        return np.zeros(held.height, dtype=np.int64)
    transient = [each == "transient" for each in release.persistence_of(held["value"])]
    excluded = groups[EXCLUDED].to_numpy().astype(np.int64)[held["group"].to_numpy()]
    return np.where(transient, excluded, 0)


def _names(parts: Sequence[pl.DataFrame]) -> pl.Series:
    if not parts:
        return pl.Series("value", [], dtype=pl.String)
    return pl.concat([part["value"].unique().cast(pl.String) for part in parts]).unique().sort()


def persisting_values(
    releases: Sequence[ReleaseRecord], names: Sequence[str]
) -> NDArray[np.bool_] | None:
    """Which values persist in which release, [release, value]; None if none does."""
    persists = np.array(
        [[each != "transient" for each in release.persistence_of(names)] for release in releases],
        dtype=np.bool_,
    ).reshape(len(releases), len(names))
    return persists if persists.any() else None


def thresholds_of(releases: Sequence[ReleaseRecord], names: Sequence[str]) -> tuple[Fraction, ...]:
    """What the groups of all releases may spend of the threshold of each value, as the chained
    catalog has it, not the policy file."""
    if not releases:
        return ()
    own = releases[-1].policy["protected"]["thresholds"]
    choice = ProtectedChoice.from_json(releases[-1].protected_json)
    return tuple(
        choice.threshold_left(name, parse_threshold(own.get(name, releases[-1].threshold)))
        for name in names
    )
