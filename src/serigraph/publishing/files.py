"""The public files of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import polars as pl

from serigraph.errors import StorageError
from serigraph.progress import Progress, silently

_SEPARATOR = ";"


def write_tables(
    folder: Path,
    tables: Mapping[str, pl.DataFrame],
    formats: Sequence[str],
    progress: Progress = silently,
) -> None:
    """Write every table in every format."""
    files = list(product(tables, formats))
    try:
        for done, (name, ending) in enumerate(files):
            progress("writing", done, len(files))
            path = folder / f"{name}.{ending}"
            if ending == "parquet":
                tables[name].write_parquet(path, compression="zstd")
            else:
                _flat(tables[name]).write_csv(path)
    except (OSError, pl.exceptions.ComputeError) as error:  # the latter is how Parquet fails
        raise StorageError(
            "the tables of the release could not be written",
            where=str(folder),
            remedy="free space on the disk, or see to its permissions, and publish again",
        ) from error


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Sets of values as one text a cell, for CSV."""
    lists = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.List)]
    return table.with_columns(pl.col(name).list.join(_SEPARATOR) for name in lists)
