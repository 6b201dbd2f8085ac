"""A ledger in memory, for studies: what each release showed, and what that says about people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import Past, Population, Proof
from serigraph.verification import RememberedRelease, RememberedReleases


@dataclass(frozen=True)
class Shown:
    """One release as the worst adversary sees it: who was in which group, and what groups held."""

    ids: NDArray[np.int64]  # members, ascending
    group: NDArray[np.int64]
    size: NDArray[np.int64]  # the people to choose from, in each group
    value_group: NDArray[np.int64]  # one entry for each (group, protected value held in it)
    value_name: pl.Series
    value_count: NDArray[np.int64]

    @staticmethod
    def of_proof(proof: Proof, presence_known: bool) -> Shown:
        """What a verified release shows; absent members are no candidates if presence is known."""
        member = proof.present if presence_known else np.ones(len(proof.ids), dtype=np.bool_)
        return Shown(
            ids=proof.ids.to_numpy()[member],
            group=proof.group[member].astype(np.int64),
            size=proof.present_size if presence_known else proof.size,
            value_group=proof.value_group.astype(np.int64),
            value_name=proof.value_name.cast(pl.String),
            value_count=proof.value_count,
        )

    @staticmethod
    def of_groups(population: Population, group: NDArray[np.int64]) -> Shown:
        """What any grouping shows, verified or not; everybody in a group is a candidate."""
        holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
        values = max(len(population.protected), 1)
        cell, count = np.unique(group[holder] * values + population.held, return_counts=True)
        names = pl.Series([value.name for value in population.protected], dtype=pl.String)
        return Shown(
            ids=population.ids.to_numpy(),
            group=group,
            size=np.bincount(group).astype(np.int64),
            value_group=cell // values,
            value_name=names.gather(cell % values),
            value_count=count.astype(np.int64),
        )


def recalled(past: Sequence[Shown], ids: NDArray[np.int64], protected: Sequence[str]) -> Past:
    """The history of people for the values named, as the ledger on disk would give it."""
    if not past:
        return Past.none(len(ids))
    place = pl.DataFrame(
        {"name": list(protected), "index": np.arange(len(protected), dtype=np.int32)},
        schema={"name": pl.String, "index": pl.Int32},
    )
    groups = np.full((len(ids), len(past)), -1, dtype=np.int32)
    lengths, values, counts, sizes = [], [], [], []
    known = 0
    for column, shown in zip(groups.T, past, strict=True):
        held = (
            pl.DataFrame(
                {"group": shown.value_group, "name": shown.value_name, "count": shown.value_count}
            )
            .join(place, on="name")
            .sort("group", "index")
        )
        kept, length = np.unique(held["group"].to_numpy(), return_counts=True)
        number = np.full(len(shown.size), -1, dtype=np.int32)
        number[kept] = np.arange(known, known + len(kept), dtype=np.int32)
        at = np.minimum(np.searchsorted(shown.ids, ids), len(shown.ids) - 1)
        is_member = shown.ids[at] == ids
        column[is_member] = number[shown.group[at[is_member]]]
        lengths.append(length)
        values.append(held["index"].to_numpy())
        counts.append(held["count"].to_numpy())
        sizes.append(shown.size[kept])
        known += len(kept)
    return Past.of_groups(
        groups,
        lengths=np.concatenate(lengths),
        value=np.concatenate(values),
        count=np.concatenate(counts),
        size=np.concatenate(sizes),
    )


def remembered(past: Sequence[Shown]) -> RememberedReleases:
    """The same releases for the verifier."""
    return RememberedReleases(
        tuple(
            RememberedRelease(
                ids=pl.Series(shown.ids),
                group=shown.group,
                size=shown.size,
                value_group=shown.value_group,
                value_name=shown.value_name,
                value_count=shown.value_count,
            )
            for shown in past
        )
    )
