"""The tables of a release, in the two forms. No identifier of a person is in them."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.population import CodedValues, Domain, Population, order_by_keys
from serigraph.randomness import Randomness, shuffled
from serigraph.recoding.labels import region_labels, widened_to_nodes
from serigraph.recoding.loss import extents
from serigraph.threads import side_by_side

GROUP, VALUE, COUNT = "group", "value", "count"


def generalised(
    population: Population,
    group: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    sensitive: str,
    randomness: Randomness,
    *,
    has_one_value: bool = False,
) -> dict[str, pl.DataFrame]:
    """One row for each present person: the region of its group, and its own values.

    Rows come in random order. Absent members widen regions but are no rows. Where a person has one
    value, a cell holds that value and not a set.
    """
    inner_low, inner_high = extents(population, group, len(low))
    rows = np.flatnonzero(population.present)
    rows = rows[shuffled(len(rows), randomness)]
    shown = np.flatnonzero(np.bincount(group[rows], minlength=len(low)))
    place = np.empty(len(low), dtype=np.int64)
    place[shown] = np.arange(len(shown))
    of_row = place[group[rows]]

    def regions(number: int) -> pl.Series:
        domain = population.domains[number]
        bounds = (each[shown, number] for each in (inner_low, inner_high, low, high))
        labels = region_labels(domain, *widened_to_nodes(domain, *bounds))
        return labels.gather(of_row)

    values = population.values.list.first() if has_one_value else population.values
    kind = pl.String() if has_one_value else pl.List(pl.String)
    return {
        "table": pl.DataFrame(
            [
                *side_by_side(regions, range(len(population.domains))),
                values.gather(rows).cast(kind).alias(sensitive),
            ]
        )
    }


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
    rows = rows[order_by_keys(randomness.keys(len(rows)), group[rows])]
    works = [
        partial(_held, population, group),
        *(
            partial(_cells, domain, codes, rows)
            for domain, codes in zip(population.domains, population.codes, strict=True)
        ),
    ]
    held, *columns = side_by_side(lambda work: work(), works)
    members = pl.concat([pl.DataFrame({GROUP: group[rows]}), *columns], how="horizontal")
    return {"quasi_identifiers": members, "sensitive": held}


def _cells(domain: Domain, codes: NDArray[np.int32], rows: NDArray[np.int64]) -> pl.DataFrame:
    return domain.values.gather(codes[rows]).alias(domain.name).to_frame()


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
