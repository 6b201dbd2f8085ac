"""The public files of a release."""

from __future__ import annotations

import hashlib
import json
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
    except OSError as error:
        raise StorageError(
            "the tables of the release could not be written",
            where=str(folder),
            remedy="free space on the disk, or see to its permissions, and publish again",
        ) from error
    return dict(tables)


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Write a JSON file that people can read too."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 digest of each file in a folder."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Sets of values as one text a cell, for CSV."""
    lists = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.List)]
    return table.with_columns(pl.col(name).list.join(_SEPARATOR) for name in lists)
