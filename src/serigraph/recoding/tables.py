"""The tables of a release, in the two forms. No identifier of a person is in them."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.population import CodedValues, Population, order_by
from serigraph.randomness import Randomness, shuffled
from serigraph.recoding.labels import region_labels, widened_to_nodes
from serigraph.recoding.loss import extents

GROUP, VALUE, COUNT = "group", "value", "count"


def generalised(
    population: Population,
    group: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    sensitive: str,
    randomness: Randomness,
) -> dict[str, pl.DataFrame]:
    """One row for each present person: the region of its group, and its own values.

    Rows come in random order. Absent members widen regions but are no rows.
    """
    inner_low, inner_high = extents(population, group, len(low))
    rows = np.flatnonzero(population.present)
    rows = rows[shuffled(len(rows), randomness)]
    shown = np.flatnonzero(np.bincount(group[rows], minlength=len(low)))
    place = np.empty(len(low), dtype=np.int64)
    place[shown] = np.arange(len(shown))
    of_row = place[group[rows]]
    columns: dict[str, pl.Series] = {}
    for number, domain in enumerate(population.domains):
        bounds = (each[shown, number] for each in (inner_low, inner_high, low, high))
        labels = region_labels(domain, *widened_to_nodes(domain, *bounds))
        columns[domain.name] = labels.gather(of_row)
    columns[sensitive] = population.values.gather(rows).cast(pl.List(pl.String))
    return {"table": pl.DataFrame(columns)}


def bucketised(
    population: Population,
    group: NDArray[np.int64],
    shows_absent: bool,
    randomness: Randomness,
) -> dict[str, pl.DataFrame]:
    """Two tables: the quasi-identifiers of all members with their group, and what each group holds.

    ``group`` is the published number. Groups in which nobody is present are left out; rows are in
    the order of the group, at random within.
    """
    shown = np.bincount(group[population.present], minlength=int(group.max()) + 1) > 0
    rows = np.flatnonzero(shown[group] & (population.present | shows_absent))
    rows = rows[shuffled(len(rows), randomness)]
    rows = rows[order_by(group[rows])]
    members = {GROUP: pl.Series(GROUP, group[rows])}
    for codes, domain in zip(population.codes, population.domains, strict=True):
        members[domain.name] = domain.values.gather(codes[rows]).alias(domain.name)
    return {"quasi_identifiers": pl.DataFrame(members), "sensitive": _held(population, group)}


def _held(population: Population, group: NDArray[np.int64]) -> pl.DataFrame:
    """How many people of each group hold each value, protected or not."""
    values = CodedValues.of(population.values)
    names = values.names
    together, count = np.unique(
        group[values.person] * max(len(names), 1) + values.code, return_counts=True
    )
    return pl.DataFrame(
        {
            GROUP: together // max(len(names), 1),
            VALUE: names.gather(together % max(len(names), 1)),
            COUNT: count,
        },
        schema={GROUP: pl.Int64, VALUE: pl.String, COUNT: pl.Int64},
    )
