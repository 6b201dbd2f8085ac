"""How far the distribution that a release suggests is from that of its table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import Population
from serigraph.utility import kernels
from serigraph.utility.published import Cells, Entries, Form, Groups


@dataclass(frozen=True)
class Divergence:
    """KL divergence in nats over the pairs that the release leaves possible, and the share of pairs
    that it rules out: any of these would make the divergence infinite."""

    nats: float
    impossible_share: float


def kl_divergence(
    population: Population,
    group: NDArray[np.int64],
    *,
    form: Form = "generalised",
    raw: Population | None = None,
) -> Divergence:
    """sum p ln(p / p*) over all (quasi-identifiers, value) of the table (Kifer and Gehrke).

    p is their share in the table; p* is the share that somebody expects who has the release and
    spreads each group's records evenly over its region (generalised), or deals its values to its
    members at random (bucketised). ``raw`` is as for ``query_errors``.
    """
    table = population if raw is None else raw
    names = table.held_names()
    true = Entries.of(table, names)
    if not len(true.person):
        return Divergence(0.0, 0.0)
    published = Entries.of(population, names)
    groups = Groups.of(population, group)
    cells = Cells.of(published, groups.number)
    both = np.concatenate([table.codes, population.codes], axis=1)
    key = _keys(both)
    wanted, first, count = np.unique(
        true.value * (int(key.max()) + 1) + key[true.person], return_index=True, return_counts=True
    )
    if form == "generalised":
        density = _from_regions(table, true, first, cells, groups)
    else:
        order = np.argsort(key[true.person[first]] * len(names) + true.value[first])
        asked = (key[true.person[first]] * len(names) + true.value[first])[order]
        density = np.empty(len(wanted))
        density[order] = _from_members(asked, len(names), key[table.size :], groups, cells)
    share = count / count.sum()
    possible = density > 0
    expected = density[possible] / len(published.person)
    return Divergence(
        nats=float((share[possible] * np.log(share[possible] / expected)).sum()),
        impossible_share=float(share[~possible].sum()),
    )


def _keys(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """A number for each person, equal where all quasi-identifiers are."""
    frame = pl.DataFrame({str(number): row for number, row in enumerate(codes)})
    return frame.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)


def _from_regions(
    table: Population, true: Entries, first: NDArray[np.int64], cells: Cells, groups: Groups
) -> NDArray[np.float64]:
    value = true.value[first]
    volume = np.prod(groups.high.astype(np.float64) - groups.low + 1, axis=0)
    found: NDArray[np.float64] = kernels.density_from_regions(
        np.ascontiguousarray(table.codes[:, true.person[first]]),
        np.searchsorted(value, np.arange(len(true.names) + 1)),
        kernels.Listed(cells.start, cells.group, cells.count),
        groups.low,
        groups.high,
        volume,
        int(np.argmax([domain.size for domain in table.domains])),
    )
    return found


def _from_members(
    wanted: NDArray[np.int64],
    values: int,
    key: NDArray[np.int64],
    groups: Groups,
    cells: Cells,
) -> NDArray[np.float64]:
    member = groups.number >= 0
    keys = int(key.max(initial=0)) + 1
    place, members = np.unique(groups.number[member] * keys + key[member], return_counts=True)
    by_group = np.argsort(cells.group, kind="stable")
    numbers = np.arange(len(groups.size) + 1)
    found: NDArray[np.float64] = kernels.density_from_members(
        wanted,
        values,
        kernels.Listed(np.searchsorted(place // keys, numbers), place % keys, members),
        kernels.Listed(
            np.searchsorted(cells.group[by_group], numbers),
            cells.value[by_group],
            cells.count[by_group],
        ),
        groups.size,
    )
    return found
