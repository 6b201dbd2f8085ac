"""What the cells of a table mean, worked out on the driver from its distinct cells.

Whether numbers are whole, which date format is used and what a taxonomy lacks depends on a whole
column. Quasi-identifiers have few distinct cells: they are collected and interpreted by the same
functions as on one machine, and executors look every cell up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.engines.spark.failures import cluster_errors
from serigraph.model import Domain
from serigraph.policy import Policy
from serigraph.short_repr import Undisclosed
from serigraph.tables.cells import without_rows
from serigraph.tables.columns import canonical, coded
from serigraph.tables.look_alikes import category_problems
from serigraph.tables.people import missing_columns, read_quasi_identifiers, read_values
from serigraph.tables.preparing import taxonomies_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TABLE, REGISTRY = "the table", "the registry"


@dataclass(frozen=True, repr=False)
class Lookup(Undisclosed):
    """The code of every cell of a column in one source."""

    cells: pl.Series
    codes: NDArray[np.int32]

    def codes_of(self, column: pl.Series) -> pl.Series:
        known = pl.DataFrame({"cell": self.cells, "code": self.codes})
        asked = plain(column).alias("cell").to_frame()
        found = asked.join(known, on="cell", how="left", maintain_order="left", nulls_equal=True)
        return found["code"]


@dataclass(frozen=True)
class Understood:
    """What the driver knows about the cells, for executors to read rows with."""

    rows: int  # of all sources
    domains: tuple[Domain, ...]
    lookups: dict[str, tuple[Lookup, ...]]  # of each source, in the order of the domains
    ids_are_plain: bool  # integers that need no conversion
    sources_of_fractional_ids: tuple[str, ...]  # floats or decimals
    sources_of_number_ids: tuple[str, ...]


@dataclass(frozen=True)
class Looked:
    """What was understood (None if that was impossible), and what is wrong."""

    understood: Understood | None
    problems: list[str]
    uncovered: list[str]  # values not in a taxonomy


def quoted(name: str) -> Column:
    """A column by its name, whatever characters it has."""
    from pyspark.sql import functions

    return functions.col(f"`{name.replace('`', '``')}`")


def plain(column: pl.Series) -> pl.Series:
    """Cells normalised for comparison: negative zero becomes zero, NaN is missing."""
    return (column.fill_nan(None) + 0.0).alias(column.name) if column.dtype.is_float() else column


def look_at(  # one column after the other, so that all problems are reported at once
    frames: Mapping[str, DataFrame], policy: Policy
) -> Looked:
    """Interpret the columns of the table and of the registry; reports all problems at once."""
    problems: list[str] = []
    columns: dict[str, dict[str, pl.Series]] = {}
    cells: dict[str, dict[str, pl.Series]] = {}
    schemas: dict[str, pl.DataFrame] = {}
    all_rows = 0
    for source, frame in frames.items():
        with cluster_errors(f"reading {source}"):
            schemas[source] = _schema(frame)
        empty = schemas[source]
        needed = [policy.person.id, *policy.quasi_identifiers]
        needed += [policy.only_column.column] if source == TABLE else []
        problems += missing_columns(empty, needed, source)
        _, wrong = read_quasi_identifiers(empty, policy, source)
        readable = [
            name
            for name in policy.quasi_identifiers
            if name in empty.columns
            and not read_quasi_identifiers(empty.select(name), policy, source)[1]
        ]
        with cluster_errors(f"reading {source}"):
            cells[source], rows = _distinct(frame, readable)
        all_rows += rows
        if rows == 0:
            problems.append(f"{source} is empty: it has no rows")
        columns[source] = {}
        for name in readable:
            understood, found = read_quasi_identifiers(
                cells[source][name].to_frame(), policy, source
            )
            columns[source] |= understood
            wrong += found
        problems += wrong
        if policy.person.id in empty.columns:
            _, wrong = canonical(empty[policy.person.id], "id", policy.reading)
            problems += [f"{source}: {each}" for each in wrong]
    if policy.only_column.column in schemas[TABLE].columns:
        column = schemas[TABLE][policy.only_column.column]
        _, wrong = read_values(column, policy)
        if isinstance(_inner(column.dtype), pl.Datetime):
            # A value under a name that differs from the ledger's would have no past.
            wrong.append(
                f"column {column.name!r} holds times, which print differently on other machines: "
                "give dates or text"
            )
        problems += [f"{TABLE}: {each}" for each in wrong]
    problems += category_problems(columns, policy)
    taxonomies, uncovered = taxonomies_of(policy, columns)
    problems, uncovered = _once(problems), _once(uncovered)
    if problems or uncovered:
        return Looked(None, problems, uncovered)
    domains = []
    lookups: dict[str, list[Lookup]] = {source: [] for source in frames}
    for name, described in policy.quasi_identifiers.items():
        together = pl.concat(
            [each[name].to_frame(name) for each in columns.values()], how="vertical_relaxed"
        )
        domain, codes = coded(together[name], described.kind, taxonomies.get(name))
        domains.append(domain)
        for source, each in columns.items():
            lookups[source].append(Lookup(cells[source][name], codes[: len(each[name])]))
            codes = codes[len(each[name]) :]
    ids = {source: schema[policy.person.id].dtype for source, schema in schemas.items()}
    return Looked(
        Understood(
            rows=all_rows,
            domains=tuple(domains),
            lookups={source: tuple(each) for source, each in lookups.items()},
            ids_are_plain=policy.person.type != "text"
            and not policy.reading.null_values
            and all(dtype.is_integer() for dtype in ids.values()),
            sources_of_fractional_ids=tuple(
                s for s, dtype in ids.items() if dtype.is_float() or dtype.is_decimal()
            ),
            sources_of_number_ids=tuple(s for s, dtype in ids.items() if dtype.is_numeric()),
        ),
        [],
        [],
    )


def _once(problems: list[str]) -> list[str]:
    return list(dict.fromkeys(without_rows(problem) for problem in problems))


def _schema(frame: DataFrame) -> pl.DataFrame:
    return pl.DataFrame(frame.limit(0).toArrow())


def _inner(kind: Any) -> Any:
    return kind.inner if isinstance(kind, pl.List) else kind


def _distinct(frame: DataFrame, names: list[str]) -> tuple[dict[str, pl.Series], int]:
    """The distinct cells of each column, and the number of rows; in one pass."""
    from pyspark.sql import functions as f

    asked = [f.count(f.lit(1)).alias("rows")]
    for number, name in enumerate(names):
        asked.append(f.collect_set(quoted(name)).alias(f"cells{number}"))
        asked.append(f.count_if(quoted(name).isNull()).alias(f"missing{number}"))
    found = pl.DataFrame(frame.agg(*asked).toArrow())
    cells = {}
    for number, name in enumerate(names):
        column_cells: pl.Series = found[f"cells{number}"][0]
        if found[f"missing{number}"][0]:
            column_cells = pl.concat([column_cells, column_cells.clear(1)])
        cells[name] = plain(column_cells).unique().alias(name)
    return cells, int(found["rows"][0])
