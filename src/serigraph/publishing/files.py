"""The public files of a release."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import polars as pl

from serigraph.errors import StorageError
from serigraph.ledger.storage import new_file
from serigraph.policy import Output
from serigraph.recoding import as_text
from serigraph.recoding.public_csv import as_written
from serigraph.runtime.progress import Progress, no_progress

_ARROW_SCHEMA = "ARROW:schema"  # where Parquet files say which types of Arrow they hold


def write_tables(
    folder: Path,
    tables: Mapping[str, pl.DataFrame],
    output: Output,
    progress: Progress = no_progress,
) -> None:
    """Write every table in every format that the policy asks for."""
    files = list(product(tables, output.files))
    try:
        for done, (name, ending) in enumerate(files):
            progress("writing", done, len(files))
            path = folder / f"{name}.{ending}"
            new_file(path).close()
            if ending == "parquet":
                _write_parquet(tables[name], path)
            else:
                as_written(tables[name], output.formulas).write_csv(path)
    except (OSError, pl.exceptions.ComputeError) as error:  # the latter is how Parquet fails
        raise StorageError(
            "the tables of the release could not be written",
            where=str(folder),
            remedy="free space on the disk, or see to its permissions, and publish again",
        ) from error


def _write_parquet(table: pl.DataFrame, path: Path) -> None:
    """Write numbered texts as the dictionaries that they are; whoever reads them finds text."""
    schema = as_text(table.clear()).to_arrow().schema.serialize()
    table.write_parquet(
        path,
        compression="zstd",
        compression_level=1,  # the default takes longer and saves less than a hundredth
        statistics=False,  # with numbers and an order that are random, they help nobody to search
        metadata={_ARROW_SCHEMA: b64encode(schema).decode()},
    )
