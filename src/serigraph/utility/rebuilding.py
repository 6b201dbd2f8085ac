"""A release as it was published, rebuilt from its table and the ledger."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import TableError
from serigraph.model import Population
from serigraph.texts import qualifier


def rebuilt(
    raw: Population, ledger: Path, release: int, where: str
) -> tuple[Population, NDArray[np.int64]]:
    """The population after suppression and the group of each person, -1 where it has none.

    ``ledger`` is an export. Which of several holders in a group lost a value is not in it; any
    choice gives the same counts in every group, and so the same measures.
    """
    is_release = pl.col("release") == release
    members = pl.read_parquet(ledger / "members.parquet").filter(is_release)
    people = pl.DataFrame({"person": raw.ids.cast(pl.String)}).with_row_index("place")
    placed = members.join(people, on="person", how="left", maintain_order="left")
    if placed["place"].null_count():
        raise TableError(
            f"{placed['place'].null_count():,} members of the release are neither in the table nor "
            "in the registry",
            where=where,
            remedy="give the registry that the release was made with (--registry)",
        )
    place = placed["place"].to_numpy().astype(np.int64)
    group = np.full(raw.size, -1, dtype=np.int64)
    group[place] = placed["group"].to_numpy()
    is_left = np.zeros(raw.size, dtype=np.bool_)
    is_left[place[placed["present"].to_numpy()]] = True
    values = pl.read_parquet(ledger / "values.parquet").filter(is_release)
    if "column" in values.columns:
        values = values.with_columns(_qualified(values["column"], values["value"]))
    population = raw
    # Classes last: the class may have gone with a value that was given up.
    for classes in (False, True):
        person, value = _given_up(population, group, is_left, values, classes)
        population = population.without(person, value)
    return population, group


def _given_up(
    population: Population,
    group: NDArray[np.int64],
    is_left: NDArray[np.bool_],
    values: pl.DataFrame,
    classes: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The (person, value) pairs beyond what the ledger counts; those without a record first."""
    names = [value.name for value in population.protected]
    is_class = np.array([bool(value.stands_for) for value in population.protected], dtype=np.bool_)
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    pairs = pl.DataFrame(
        {
            "person": holder,
            "index": population.held,
            "value": pl.Series(names, dtype=pl.String).gather(population.held),
            "group": group[holder],
            "is_left": is_left[holder],
        }
    ).filter(pl.Series(is_class[population.held] == classes))
    beyond = (
        pairs.join(values.select("group", "value", "count"), on=["group", "value"], how="left")
        .sort("group", "value", "is_left", "person")
        .with_columns(
            excess=pl.len().over("group", "value") - pl.col("count").fill_null(0),
            rank=pl.int_range(pl.len()).over("group", "value"),
        )
        .filter(pl.col("rank") < pl.col("excess"))
    )
    return (
        beyond["person"].to_numpy().astype(np.int64),
        beyond["index"].to_numpy().astype(np.int32),
    )


def _qualified(columns: pl.Series, values: pl.Series) -> pl.Series:
    """The values with the names of their columns; classes across columns have none."""
    before = {name: qualifier(name) for name in columns.drop_nulls().unique()}
    named = columns.replace_strict(before, return_dtype=pl.String).fill_null("") + values
    return named.alias(values.name)
