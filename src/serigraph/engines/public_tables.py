"""The public tables of a release: writing them, and what a publisher gets to see of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import polars as pl

from serigraph.errors import StorageError
from serigraph.ledger.storage import new_file
from serigraph.policy import Output
from serigraph.recoding import as_text
from serigraph.recoding.output import FORMATS
from serigraph.runtime.progress import Progress, no_progress


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
            FORMATS[ending].write(tables[name], path, output.formulas)
    except (OSError, pl.exceptions.ComputeError) as error:  # the latter is how Parquet fails
        raise StorageError(
            "the tables of the release could not be written",
            where=str(folder),
            remedy="free space on the disk, or see to its permissions, and publish again",
        ) from error


class TablesInMemory(Mapping[str, pl.DataFrame]):
    """The tables of a release, with text where they still have numbers for texts."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> pl.DataFrame:
        return as_text(self._tables[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


class TablesOnDisk(Mapping[str, pl.DataFrame]):
    """The tables of a release that may be larger than memory: each is read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            path.name.removesuffix(f".{ending}"): (path, form)
            for ending, form in FORMATS.items()  # the last one wins
            for path in sorted(folder.glob(f"*.{ending}"))
        }

    def __getitem__(self, name: str) -> pl.DataFrame:
        path, form = self._files[name]
        parts = sorted(path.iterdir()) if path.is_dir() else [path]
        return pl.concat([form.read(part) for part in parts])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)
