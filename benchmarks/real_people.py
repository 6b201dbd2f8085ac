"""Real data sets, if there is a folder with them.

``adult/adult.csv`` (the UCI Adult table, ``;``) with the hierarchies that ARX ships beside it, and
``vaers/reports.parquet`` with ``vaers/reactions.parquet`` (reports to the US vaccine adverse event
reporting system, several reactions each).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import polars as pl

from benchmarks.data_sets import Column, DataSet, data_set
from serigraph.tables.taxonomies import read_taxonomy

HALF = Fraction(1, 2)


def real_data_sets(folder: Path, people: int, seed: int) -> Iterator[DataSet]:
    """The data sets in the folder; larger ones are sampled at random."""
    if (folder / "adult" / "adult.csv").exists():
        yield _adult(folder / "adult", people, seed)
    if (folder / "vaers" / "reports.parquet").exists():
        yield _vaers(folder / "vaers", people, seed)


def _adult(folder: Path, people: int, seed: int) -> DataSet:
    """Occupation is protected, for three releases: the commonest has 65 % of what they allow."""
    table = _some(pl.read_csv(folder / "adult.csv", separator=";"), people, seed)
    columns = {"age": Column(table["age"], "numeric")}
    for name in ("sex", "race", "marital-status", "education", "native-country", "workclass"):
        taxonomy = read_taxonomy(folder / f"adult_hierarchy_{name}.csv")
        columns[name] = Column(table[name], "categorical", taxonomy)
    held = table["occupation"].reshape((-1, 1)).arr.to_list()
    return data_set("adult", columns, held, threshold=HALF, releases=3)


def _vaers(folder: Path, people: int, seed: int) -> DataSet:
    """Reactions are protected but for those that more people have than 70 % of what five releases
    allow; ages and states are missing in places."""
    reports = _some(pl.read_parquet(folder / "reports.parquet"), people, seed)
    terms = (
        pl.read_parquet(folder / "reactions.parquet")
        .group_by("VAERS_ID")
        .agg(pl.col("TERM").unique().sort())
    )
    table = reports.join(terms, on="VAERS_ID", how="left", maintain_order="left")
    columns = {
        "age": Column(table["AGE_YRS"].cast(pl.Float64), "numeric"),
        "state": Column(table["STATE"], "categorical"),
        "sex": Column(table["SEX"], "categorical"),
        "received": Column(table["RECVDATE"].str.to_date("%m/%d/%Y"), "date"),
    }
    held = table["TERM"].fill_null([])
    return data_set("vaers", columns, held, threshold=HALF, releases=5, largest_share=0.7)


def _some(table: pl.DataFrame, people: int, seed: int) -> pl.DataFrame:
    return table if table.height <= people else table.sample(people, seed=seed)
