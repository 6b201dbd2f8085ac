"""The public files of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from serigraph.errors import StorageError

_SEPARATOR = ";"


def write_tables(
    folder: Path, tables: Mapping[str, pl.DataFrame], formats: Sequence[str]
) -> dict[str, pl.DataFrame]:
    """Write every table in every format; returns what a reader of the Parquet file gets."""
    try:
        for name, table in tables.items():
            if "parquet" in formats:
                table.write_parquet(folder / f"{name}.parquet", compression="zstd")
            if "csv" in formats:
                _flat(table).write_csv(folder / f"{name}.csv")
    except (OSError, pl.exceptions.ComputeError) as error:  # the latter is how Parquet fails
        raise StorageError(
            "the tables of the release could not be written",
            where=str(folder),
            remedy="free space on the disk, or see to its permissions, and publish again",
        ) from error
    return dict(tables)


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Sets of values as one text a cell, for CSV."""
    lists = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.List)]
    return table.with_columns(pl.col(name).list.join(_SEPARATOR) for name in lists)
