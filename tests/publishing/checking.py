"""Publishing tables one after the other, and having the oracle look at all that came of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import polars as pl

from publishing import oracle
from publishing.clinic import COMMON, ZIP_TAXONOMY
from serigraph.ledger import Series
from serigraph.publishing import Published, publish
from serigraph.runtime.randomness import SeededRandomness


def as_itself(value: str) -> tuple[str, ...]:
    """How the values of the clinic are protected by its usual policy."""
    return () if value in COMMON else (value,)


def single_values(table: pl.DataFrame) -> dict[str, set[str]]:
    """The value set of each person where a table has one value a row."""
    sets: dict[str, set[str]] = {}
    for person, value in table.select(pl.col("patient").cast(pl.String), "diagnosis").iter_rows():
        sets.setdefault(person, set()).update([] if value is None else [value])
    return sets


@dataclass(frozen=True)
class Meaning:
    """How the public reads the tables of a series, and what is protected in them."""

    columns: Mapping[str, oracle.Holds] = field(
        default_factory=lambda: {
            "age": oracle.in_range,
            "sex": oracle.in_set,
            "zip": oracle.in_node(ZIP_TAXONOMY),
        }
    )
    counted_as: Callable[[str], Collection[str]] = as_itself
    thresholds: Mapping[str, Fraction] = field(default_factory=dict)

    def cells_of(self, table: pl.DataFrame) -> dict[str, oracle.Cells]:
        shown = table.select(pl.col("patient").cast(pl.String), *self.columns).unique()
        return {row[0]: row[1:] for row in shown.iter_rows()}


def publish_all(
    series: Series,
    tables: Sequence[pl.DataFrame],
    registry: pl.DataFrame | None = None,
    *,
    allow_suppression: bool = False,
) -> list[Published]:
    """Publish the tables as r00, r01, ... with repeatable choices."""
    return [
        publish(
            table,
            series,
            registry=registry,
            label=f"r{number:02}",
            allow_suppression=allow_suppression,
            randomness=SeededRandomness(number),
        )
        for number, table in enumerate(tables)
    ]


def check_series(
    series: Series,
    tables: Sequence[pl.DataFrame],
    registry: pl.DataFrame | None = None,
    *,
    exported: Path,
    meaning: Meaning | None = None,
    sets: Sequence[dict[str, set[str]]] | None = None,
) -> oracle.Export:
    """Compare the exported ledger with the public files and the raw tables, release by release.

    ``sets`` says what each person of each table holds, where a table has several values a person.
    """
    meaning = meaning or Meaning()
    sets = sets or [single_values(table) for table in tables]
    export = oracle.read_export(exported)
    assert len(export.groups) == len(tables)
    found = oracle.check_guarantee(export, meaning.thresholds)
    records = series.releases()
    claimed = [Fraction(record.summary["largest_probability"]) for record in records]
    assert found[-1] == max(claimed)
    for record, groups, table, held in zip(records, export.groups, tables, sets, strict=True):
        everybody = meaning.cells_of(table)
        if registry is not None and not record.is_presence_known:
            everybody = meaning.cells_of(registry) | everybody
        files = series.path / "releases" / record.label
        if record.summary["form"] == "generalised":
            published = pl.read_parquet(files / "table.parquet")
            assert published.columns == [*meaning.columns, "diagnosis"]
            holds = list(meaning.columns.values())
            oracle.check_generalised(groups, published, everybody, holds, meaning.counted_as)
        else:
            oracle.check_bucketised(
                groups,
                pl.read_parquet(files / "quasi_identifiers.parquet"),
                pl.read_parquet(files / "sensitive.parquet"),
                everybody,
                record.is_presence_known,
                meaning.counted_as,
            )
        oracle.check_holders(groups, held, meaning.counted_as, record.summary["suppressed"])
    return export


def exported(series: Series, folder: Path) -> Path:
    """Export a series, and say where to."""
    series.export(folder)
    return folder
