"""What driver and tasks exchange: people and their past as rows, and the results."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from serigraph.model import Domain, Past, Population, ProtectedValue
from serigraph.records import WorstPair
from serigraph.tables.people import column_name

_GROUPS = 2**32  # more than a release can have


@dataclass(frozen=True)
class Piece:
    """A task's results for its partition; the groups themselves are in its draft files."""

    node: int
    people: int
    has_failed: bool = False  # has to be merged with a neighbour
    excess: tuple[int, ...] = ()  # values over somebody's budget, with no neighbour left
    error: tuple[str, str, str, str, tuple[str, ...]] | None = None
    draft: str = ""  # prefix of its file names
    tables: tuple[str, ...] = ()
    members: int = 0
    groups: int = 0
    linked_groups: int = 0  # with a protected value
    linked_size: int = 0  # people in them
    smallest_size: int = 0  # 0 if the piece has no group
    largest_size: int = 0
    rows: int = 0  # with quasi-identifiers
    unique_rows: int = 0
    people_alone: int = 0  # in their groups
    largest: Fraction = Fraction(0)
    worst: WorstPair | None = None
    pairs: int = 0
    exact_pairs: int = 0
    widths: tuple[float, ...] = ()
    measured: Any = None


def batches_of(frame: pl.DataFrame) -> list[pa.RecordBatch]:
    """The rows as Spark accepts them from a task: without large lists and large strings."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    narrow = pa.schema([(field.name, _narrow(field.type)) for field in table.schema])
    return list(table.cast(narrow).to_batches())


def _narrow(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(kind):
        return pa.list_(_narrow(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _narrow(field.type)) for field in kind])
    return pa.string() if pa.types.is_large_string(kind) else kind


def population_of(
    rows: pl.DataFrame, domains: tuple[Domain, ...], protected: tuple[ProtectedValue, ...]
) -> Population:
    """The people of a frame with ``id``, ``present``, codes, ``held`` and ``values``, in the order
    of the frame."""
    lengths = rows["held"].list.len().fill_null(0).to_numpy()
    held = rows["held"].filter(rows["held"].list.len() > 0).explode()
    return Population(
        ids=rows["id"],
        present=rows["present"].to_numpy().astype(np.bool_),
        domains=domains,
        codes=codes_of(rows, len(domains)),
        protected=protected,
        held_start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        held=held.to_numpy().astype(np.int32),
        values=rows["values"].filter(rows["present"]),
        digest="",
    )


def codes_of(rows: pl.DataFrame, columns: int) -> NDArray[np.int32]:
    """The codes of the quasi-identifiers, one row per column."""
    return np.stack(
        [rows[column_name(number)].to_numpy().astype(np.int32) for number in range(columns)]
    )


def past_key(release: int, group: pl.Series) -> pl.Series:
    """One number for a group of a release, ascending by both."""
    return release * _GROUPS + group.cast(pl.Int64)


def past_of(people: pl.DataFrame, compositions: pl.DataFrame, releases: int) -> Past:
    """The past of people with a column ``past``, from the compositions of their past groups."""
    if releases == 0:
        return Past.none(people.height)
    held = compositions.select("was", "size", "value", "count").explode("value", "count")
    held = held.sort("was", "value")
    groups = held.group_by("was", maintain_order=True).agg(
        pl.len().alias("entries"), pl.col("size").first()
    )
    members = (
        people.select(pl.col("past").alias("was"))
        .with_row_index("person")
        .explode("was")
        .join(groups.select("was").with_row_index("past_group"), on="was")
    )
    of_person = np.full((people.height, releases), -1, dtype=np.int32)
    release = members["was"].to_numpy() // _GROUPS
    of_person[members["person"].to_numpy(), release - 1] = members["past_group"].to_numpy()
    return Past.of_groups(
        of_person,
        lengths=groups["entries"].to_numpy(),
        value=held["value"].to_numpy(),
        count=held["count"].to_numpy(),
        size=groups["size"].to_numpy(),
    )
