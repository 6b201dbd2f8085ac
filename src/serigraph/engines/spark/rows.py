"""Reads the rows of a table on the executors: ids, codes of quasi-identifiers, sets of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from serigraph.engines.spark.cells import TABLE, Understood
from serigraph.engines.spark.pieces import batches_of
from serigraph.policy import Policy
from serigraph.tables.columns import canonical, is_unsafe_id
from serigraph.tables.people import column_name, read_values, value_sets, whole_ids


@dataclass(frozen=True)
class RowReader:
    """A task that turns the rows of one source into those that later steps read."""

    source: str
    policy: Policy
    understood: Understood

    def schema(self) -> str:
        """The output columns; ``is_odd`` marks an id that is not written like an integer."""
        id_type = "long" if self.understood.ids_are_plain else "string"
        codes = "".join(
            f", {column_name(number)} int" for number in range(len(self.understood.domains))
        )
        return f"id {id_type}, is_odd boolean{codes}, values array<string>"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield from batches_of(self._read(pl.DataFrame(batch)))

    def _read(self, rows: pl.DataFrame) -> pl.DataFrame:
        given = rows[self.policy.person.id]
        if self.understood.ids_are_plain:
            ids = given.cast(pl.Int64, strict=False)
            odd = ids.is_null() & given.is_not_null()
        else:
            ids, _ = canonical(given, "id", self.policy.reading)
            odd = (whole_ids(ids).is_null() & ids.is_not_null()) | is_unsafe_id(given)
        columns = [ids.alias("id"), odd.alias("is_odd")]
        for number, lookup in enumerate(self.understood.lookups[self.source]):
            name = self.understood.domains[number].name
            columns.append(lookup.codes_of(rows[name]).alias(column_name(number)))
        sets = pl.Series([None] * rows.height, dtype=pl.List(pl.String))
        if self.source == TABLE:
            values, _ = read_values(rows[self.policy.only_column.column], self.policy)
            sets = value_sets(rows.height, values["row"], values["value"])
        return pl.DataFrame([*columns, sets.cast(pl.List(pl.String)).alias("values")])
