"""Records of several columns: sensitive ones, whose values have qualified names inside, and plain
ones. What belongs to one record stays together, unless columns are published apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import CodedValues, Population, order_by_keys, whole_where_possible
from serigraph.recoding.tables import COUNT, GROUP, VALUE, Extents, generalised_rows, held_in_groups
from serigraph.runtime.randomness import Randomness
from serigraph.runtime.threads import parallel_map, parallel_take
from serigraph.texts import qualifier

COLUMN = "column"


@dataclass(frozen=True)
class ShownColumn:
    """A sensitive column of a release."""

    name: str
    has_one_value: bool  # cells are values, not sets


@dataclass(frozen=True)
class RecordShape:
    """How records are shown where they are more than one set of values."""

    sensitive: tuple[ShownColumn, ...]
    is_qualified: bool  # values carry the name of their column
    apart: bool = False  # each column by itself


def generalised_records(
    population: Population,
    group: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    shape: RecordShape,
    randomness: Randomness,
    known: Extents | None = None,
) -> dict[str, pl.DataFrame]:
    """One row for each present person, in random order: the region of its group, and its record."""

    def shown(records: NDArray[np.int64]) -> list[pl.Series]:
        return _gathered(_columns(population, shape), records)

    table = generalised_rows(population, group, low, high, shown, randomness, known=known)
    return {"table": table}


def records_of_groups(
    population: Population, group: NDArray[np.int64], shape: RecordShape, randomness: Randomness
) -> pl.DataFrame:
    """What each group holds: its records, in the order of the group and at random within; or how
    often it has each cell of a column, if columns are apart."""
    of_record = group
    if len(population.values) < population.size:
        of_record = parallel_take(group, population.records())
    if shape.apart:
        return _apart(population, group, of_record, shape)
    order = order_by_keys(randomness.keys(len(of_record)), of_record)
    number = pl.Series(GROUP, parallel_take(of_record, order))
    return pl.DataFrame([number, *_gathered(_columns(population, shape), order)])


def record_columns(
    population: Population, shape: RecordShape, records: NDArray[np.int64]
) -> pl.DataFrame:
    """The records with these places, a column for each that a release shows."""
    return pl.DataFrame(_gathered(_columns(population, shape), records))


def _gathered(columns: Sequence[pl.Series], records: NDArray[np.int64]) -> list[pl.Series]:
    places = pl.Series(records.astype(np.uint32))
    return parallel_map(lambda column: column.gather(places), columns)


def _columns(population: Population, shape: RecordShape) -> list[pl.Series]:
    """The columns of everybody's record."""
    values = CodedValues.of(population.values)
    sensitive = parallel_map(
        lambda each: _sensitive(each, values, len(population.values), shape.is_qualified),
        shape.sensitive,
    )
    return [*sensitive, *map(_as_if_alone, population.plain.get_columns())]


def _as_if_alone(column: pl.Series) -> pl.Series:
    """A plain column as if records that are withheld had never been in the table: a file shows all
    texts of its Enum, and writes whole numbers in another form, 5.0, where others are not whole."""
    if not isinstance(column.dtype, pl.Enum):
        return whole_where_possible(column)
    texts = column.drop_nulls().unique().cast(pl.String).sort()
    is_all = len(texts) == len(column.dtype.categories)
    return column if is_all else column.cast(pl.String).cast(pl.Enum(texts))


def _sensitive(
    shown: ShownColumn, values: CodedValues, records: int, is_qualified: bool
) -> pl.Series:
    """The cells of a sensitive column. Only values that occur are known to it: a file shows the
    others, too, and what was suppressed must not be among them."""
    first, names = 0, values.names.cast(pl.String)
    if is_qualified:
        before = qualifier(shown.name)
        mine = names.str.starts_with(before)
        first = int(mine.arg_max() or 0)
        names = names.filter(mine).str.strip_prefix(before)
    held = (values.code >= first) & (values.code < first + len(names))
    person = values.person[held]
    code = values.code[held].astype(np.int64) - first
    occurring = np.flatnonzero(np.bincount(code, minlength=len(names)))
    number = np.zeros(max(len(names), 1), dtype=np.uint32)
    number[occurring] = np.arange(len(occurring))
    place = number[code]
    names = names.gather(occurring)
    known = names.cast(pl.Enum(names))
    if shown.has_one_value:
        cell = np.zeros(records, dtype=np.uint32)
        is_missing = np.ones(records, dtype=np.bool_)
        cell[person], is_missing[person] = place, False
        return known.gather(pl.Series(cell).set(pl.Series(is_missing), None)).alias(shown.name)
    flat = pl.DataFrame({"record": person, "cell": names.gather(place)})
    sets = flat.group_by("record", maintain_order=True).agg("cell")
    everybody = pl.DataFrame({"record": np.arange(records)})
    cells = everybody.join(sets, on="record", how="left", maintain_order="left")["cell"]
    nothing = pl.Series([[]], dtype=cells.dtype)
    return cells.zip_with(cells.is_not_null(), nothing).alias(shown.name)


def _apart(
    population: Population,
    group: NDArray[np.int64],
    of_record: NDArray[np.int64],
    shape: RecordShape,
) -> pl.DataFrame:
    """How many records of each group have each cell, column by column; missing cells are not
    counted."""
    held = held_in_groups(population, group).with_columns(pl.col(VALUE).cast(pl.String))
    found = []
    for each in shape.sensitive:
        before = qualifier(each.name) if shape.is_qualified else ""
        own = held.filter(pl.col(VALUE).str.starts_with(before))
        found.append(_counted(each.name, own.with_columns(pl.col(VALUE).str.strip_prefix(before))))
    for column in map(_as_if_alone, population.plain):
        cells = pl.DataFrame({GROUP: of_record, VALUE: column.cast(pl.String)}).drop_nulls()
        found.append(_counted(column.name, cells.group_by(GROUP, VALUE).len(COUNT)))
    return pl.concat(found).sort(GROUP, maintain_order=True)


def _counted(name: str, counts: pl.DataFrame) -> pl.DataFrame:
    in_order = counts.sort(GROUP, VALUE)
    return in_order.select(
        pl.col(GROUP), pl.lit(name).alias(COLUMN), pl.col(VALUE), pl.col(COUNT).cast(pl.Int64)
    )
