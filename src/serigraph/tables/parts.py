"""Several tables as one, such as the files of a folder or of the months of a year."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from serigraph.errors import TableError
from serigraph.tables.cells import text_of

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def stacked(parts: Sequence[pl.DataFrame], names: Sequence[str]) -> pl.DataFrame:
    """All rows below each other, by the names of the columns. A column whose type differs among the
    tables becomes text, in which a cell is the same whatever its type was."""
    first = parts[0]
    for part, name in zip(parts, names, strict=True):
        lacking = len(set(first.columns) - set(part.columns))
        added = len(set(part.columns) - set(first.columns))
        if lacking or added:
            raise TableError(
                f"the parts of a table have different columns: {lacking} of the first are missing, "
                f"and {added} are new",
                where=name,
                remedy="give every part the same columns, or publish what differs by itself",
            )
    return pl.DataFrame(
        [_one([part[column] for part in parts], n) for n, column in enumerate(first.columns, 1)]
    )


def _one(columns: list[pl.Series], number: int) -> pl.Series:
    kinds = {column.dtype for column in columns} - {pl.Null()}
    if len(kinds) == 1:
        kind = kinds.pop()
        return pl.concat([column.cast(kind) for column in columns])
    if not kinds:
        return pl.concat(columns)
    texts = []
    for column in columns:
        text, problems = text_of(column)
        if problems:
            raise TableError(
                f"column {number} has different types in the parts of the table",
                remedy="write it with one type in every part",
            )
        texts.append(text)
    return pl.concat(texts)


def partition_of(path: str) -> dict[str, str | None]:
    """What the folders of a file say of its rows, as Hive and Spark write it.

    >>> partition_of("visits/year=2024/ward=A%2FB/part-0.parquet")
    {'year': '2024', 'ward': 'A/B'}
    """
    said = [folder.partition("=") for folder in path.split("/")[:-1] if "=" in folder]
    return {
        unquote(name): None if value == _NO_VALUE else unquote(value) for name, _, value in said
    }


def parts_of_folder(files: Sequence[str]) -> Iterator[str]:
    """The Parquet files among those below a folder, in order, without what is hidden."""
    for file in sorted(files):
        is_hidden = any(part.startswith(("_", ".")) for part in file.split("/"))
        if not is_hidden and file.lower().endswith((".parquet", ".pq")):
            yield file


def with_partition(table: pl.DataFrame, path: str, where: str) -> pl.DataFrame:
    """The table with the columns that its folders name, as texts."""
    said = partition_of(path)
    if both := set(said) & set(table.columns):
        raise TableError(
            f"{len(both)} of the columns that folders name stand in the files, too",
            where=where,
            remedy="rename the folders, or leave these columns out of the files",
        )
    return table.with_columns(
        pl.lit(value, dtype=pl.String).alias(name) for name, value in said.items()
    )


def files_below(folder: Path) -> list[str]:
    """The files below a folder, by their paths in it."""
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
