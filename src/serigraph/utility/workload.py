"""Random range queries: COUNT(*) with a range on some quasi-identifiers and one on the values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import InputRefused
from serigraph.model import Population
from serigraph.short_repr import Undisclosed
from serigraph.utility import kernels
from serigraph.utility.published import Entries

WorkloadKind = Literal["any", "protected"]

# Or a table with hardly a record in any range would be searched forever.
_MOST_DRAWS_A_QUERY = 200


@dataclass(frozen=True)
class Queries:
    """One row per query: the columns asked about, their ranges of codes, and a range of values."""

    column: NDArray[np.int64]  # [query, place]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)

    def taken(self, rows: NDArray[np.int64]) -> Queries:
        return Queries(
            self.column[rows], self.low[rows], self.high[rows], self.first[rows], self.last[rows]
        )


@dataclass(frozen=True, repr=False)
class Workload(Undisclosed):
    """Queries on one table that count at least one record each, with the true counts."""

    queries: Queries
    actual: NDArray[np.int64]
    names: pl.Series  # the values that the ranges of values run over, ascending
    redrawn_share: float  # of all queries drawn, those that count nothing

    def __len__(self) -> int:
        return len(self.actual)


def draw_workload(
    population: Population,
    *,
    queries: int = 5000,
    seed: int = 1,
    workload: WorkloadKind = "any",
    columns: int = 2,
    selectivity: float = 0.05,
) -> Workload:
    """Draw queries on the table behind a population; a query that counts nothing is drawn again.

    Each query asks about ``columns`` quasi-identifiers, drawn without replacement, and about the
    sensitive attribute. A range covers ceil(|A| s^(1/(columns + 1))) of the |A| values of its
    attribute, in code order (leaves of a taxonomy in its order, values by name), and begins
    anywhere. A record is a pair of a person and a value. ``workload="protected"`` asks about
    protected values only. The same table and seed give the same queries, ascending by their range
    of values. Fewer are returned if hardly any range holds a record.
    """
    available = len(population.domains)
    if not 1 <= columns <= available or not 0 < selectivity <= 1 or queries < 1:
        raise InputRefused(
            f"queries over {columns} of {available} quasi-identifiers with selectivity "
            f"{selectivity} cannot be drawn",
            remedy="ask for at least one query, columns from 1 to the number of quasi-identifiers, "
            "and a selectivity above 0 and up to 1",
        )
    names = asked_about(population, workload)
    table = population.subset(population.present)
    entries = Entries.of(table, names)
    sizes = np.array([domain.size for domain in population.domains], dtype=np.int64)
    generator = np.random.Generator(np.random.Philox(seed))
    drawn, valid, used = 0, 0, 0
    kept: list[Queries] = []
    counts: list[NDArray[np.int64]] = []
    while len(entries.person) and valid < queries and drawn < queries * _MOST_DRAWS_A_QUERY:
        batch = _draw(generator, queries, sizes, len(names), columns, selectivity)
        count = _counts(table, entries, batch)
        good = np.flatnonzero(count > 0)[: queries - valid]
        kept.append(batch.taken(good))
        counts.append(count[good])
        valid += len(good)
        used = drawn + (int(good[-1]) + 1 if valid == queries else queries)
        drawn += queries
    if not kept:
        kept = [_draw(generator, 0, sizes, max(len(names), 1), columns, selectivity)]
        counts = [np.empty(0, dtype=np.int64)]
    together = Queries(
        *(
            np.concatenate([getattr(each, part) for each in kept])
            for part in ("column", "low", "high", "first", "last")
        )
    )
    order = np.argsort(together.first, kind="stable")
    return Workload(
        queries=together.taken(order),
        actual=np.concatenate(counts)[order],
        names=names,
        redrawn_share=1 - valid / used if used else 0.0,
    )


def asked_about(population: Population, workload: WorkloadKind) -> pl.Series:
    """The values that queries are about: those held in the table, or the protected among them."""
    held = population.held_names()
    if workload == "any":
        return held
    protected = frozenset[str]().union(*(value.covers() for value in population.protected))
    return held.filter(held.is_in(sorted(protected)))


def shared_queries(
    sizes: Sequence[int],
    values: int,
    *,
    queries: int,
    seed: int,
    columns: int = 2,
    selectivity: float = 0.05,
) -> Queries:
    """Queries to put to several tables, whatever they count there; as for ``draw_workload``.

    ``sizes`` are the numbers of codes of the columns, ``values`` the number of values.
    """
    generator = np.random.Generator(np.random.Philox(seed))
    of_columns = np.array(sizes, dtype=np.int64)
    return _draw(
        generator, queries if values else 0, of_columns, max(values, 1), columns, selectivity
    )


def put_to(population: Population, asked: Queries, names: pl.Series) -> Workload:
    """The workload of those of some shared queries that count something in this table.

    ``names`` are the values that their ranges run over, ascending.
    """
    table = population.subset(population.present)
    count = _counts(table, Entries.of(table, names), asked)
    good = np.flatnonzero(count > 0)
    order = good[np.argsort(asked.first[good], kind="stable")]
    return Workload(
        queries=asked.taken(order),
        actual=count[order],
        names=names,
        redrawn_share=1 - len(good) / max(len(asked), 1),
    )


def _counts(table: Population, entries: Entries, asked: Queries) -> NDArray[np.int64]:
    order = np.argsort(asked.first, kind="stable")
    ordered = asked.taken(order)
    counts, found = np.empty(len(asked), dtype=np.int64), np.zeros(len(asked), dtype=np.int64)
    kernels.count_people(
        kernels.Listed(entries.start, entries.person, np.ones(len(entries.person), dtype=np.int64)),
        kernels.Asked(ordered.column, ordered.low, ordered.high, ordered.first, ordered.last),
        kernels.Window(np.zeros(table.size, dtype=np.int32), np.array([0, -1])),
        table.codes,
        np.zeros(table.size, dtype=np.uint8),
        found,
    )
    counts[order] = found
    return counts


def _draw(
    generator: np.random.Generator,
    number: int,
    sizes: NDArray[np.int64],
    values: int,
    columns: int,
    selectivity: float,
) -> Queries:
    share = selectivity ** (1 / (columns + 1))
    # Slightly less, so that rounding errors do not push a whole number up to the next.
    widths = np.array([max(1, math.ceil(size * share - 1e-9)) for size in sizes], dtype=np.int64)
    column = np.argsort(generator.random((number, len(sizes))), axis=1)[:, :columns]
    width = widths[column]
    low = generator.integers(0, sizes[column] - width + 1)
    of_values = max(1, math.ceil(values * share - 1e-9))
    first = generator.integers(0, values - of_values + 1, number)
    return Queries(column, low, low + width - 1, first, first + of_values - 1)
