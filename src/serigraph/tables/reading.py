"""One entry point for every kind of table: files, folders, addresses, standard input, data frames,
Arrow tables, DuckDB relations."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.addresses import (
    STORES,
    is_database,
    is_standard_input,
    name_of,
    refuse_unread,
    scheme_of,
    shown,
    whole,
)
from serigraph.tables.extras import optional_package
from serigraph.tables.formats import guarded, read_file
from serigraph.tables.header import check_number, repeated
from serigraph.tables.parts import files_below, parts_of_folder, stacked, with_partition
from serigraph.tables.postgres import read_postgres
from serigraph.tables.queries import refuse_query
from serigraph.tables.stores import Stored
from serigraph.texts import check_path


def read_table(source: Any, reading: Reading | None = None) -> pl.DataFrame:
    """The rows and columns of ``source``, as they are.

    ``source`` is the path of a CSV, TSV (also compressed by gzip), Parquet, Arrow, Excel, DuckDB,
    SQLite, Stata, SPSS or SAS file, or of a folder of Parquet files; "-" for standard input; the
    address of a file in a store or of a PostgreSQL database; a data frame of Polars (eager or lazy)
    or pandas, an Arrow table, a DuckDB relation, or anything else with ``__arrow_c_stream__``; or a
    list of these, whose rows make one table. Cells of CSV files come as text:
    ``prepare`` gives them the types that the policy says. Raises ``TableError`` or
    ``MissingExtra``, without any cell in the message.
    """
    table = _read(source, reading or Reading())
    check_number(table.width)
    return table


def _read(source: Any, options: Reading) -> pl.DataFrame:
    for is_one, read in _SOURCES:
        if is_one(source):
            if read not in (_from_path, _from_parts):
                refuse_query(options, "a table in memory")
            return read(source, options)
    raise TableError(
        f"a {type(source).__name__} is not a table",
        remedy="give a path, a pandas or Polars data frame, an Arrow table or a DuckDB relation",
    )


def _from_parts(sources: Any, options: Reading) -> pl.DataFrame:
    if not sources:
        raise TableError("there is no table in the list", remedy="give one or more tables")
    return stacked([_read(each, options) for each in sources], [shown(each) for each in sources])


def _from_path(source: Any, options: Reading) -> pl.DataFrame:
    """A file, a folder, a pipe, or what an address names."""
    text = os.fspath(source)
    if is_standard_input(text):
        return _from_standard_input(options)
    check_path(text)
    refuse_unread(text)
    if is_database(text):
        return read_postgres(whole(text), options)
    if scheme_of(text) in STORES:
        return _from_store(whole(text), options)
    path = Path(text)
    if path.is_dir():
        return _from_folder(path, options)
    if path.exists() and not path.is_file():
        return _from_pipe(path, options)
    return read_file(path, path.name, options, text)


def _from_standard_input(options: Reading) -> pl.DataFrame:
    where = "standard input"
    if sys.stdin is None or sys.stdin.isatty():
        raise TableError(
            "nothing is written to standard input",
            where=where,
            remedy="pipe a table into the command, or give the path of a file",
        )
    return read_file(sys.stdin.buffer.read(), "", options, where)


def _from_pipe(path: Path, options: Reading) -> pl.DataFrame:
    if not stat.S_ISFIFO(path.stat().st_mode):
        raise TableError(
            "a table cannot come from a device", where=str(path), remedy="give the path of a file"
        )
    return read_file(path.read_bytes(), "", options, str(path))


def _from_folder(folder: Path, options: Reading) -> pl.DataFrame:
    return _parquet_parts(
        files_below(folder),
        str(folder),
        lambda name: read_file(folder / name, name, options, str(folder / name)),
    )


def _from_store(address: str, options: Reading) -> pl.DataFrame:
    stored = Stored(address)
    if stored.is_folder():
        return _parquet_parts(
            stored.below(),
            stored.where,
            lambda name: read_file(stored.content(name), name, options, f"{stored.where}/{name}"),
        )
    return read_file(stored.content(), name_of(address), options, stored.where)


def _parquet_parts(
    files: list[str], where: str, read: Callable[[str], pl.DataFrame]
) -> pl.DataFrame:
    """The Parquet files of a folder as one table, with the columns that the folders in it name."""
    names = list(parts_of_folder(files))
    if not names:
        raise TableError(
            "this is a folder without Parquet files",
            where=where,
            remedy="give the path of a file; several files are given one after the other",
        )
    parts = [with_partition(read(name), name, where) for name in names]
    return stacked(parts, [f"{where}, {name}" for name in names])


def _from_arrow(source: Any, _options: Reading) -> pl.DataFrame:
    return guarded(lambda: pl.DataFrame(source), "the table cannot be read", "")


def _from_pandas(frame: Any, _options: Reading) -> pl.DataFrame:
    pandas = optional_package("pandas", extra="pandas", purpose="reading a pandas data frame")
    if not isinstance(frame, pandas.DataFrame):
        raise TableError(
            f"a pandas {type(frame).__name__} is not a table", remedy="give a data frame"
        )
    frame = _with_index(frame, pandas)
    names = [str(name) for name in frame.columns]
    if same := repeated(names):
        raise TableError(
            "columns of the data frame have the same name", remedy="rename them", problems=same
        )
    columns, mixed = [], []
    for number, name in enumerate(names):
        try:
            columns.append(pl.Series(name, pl.from_pandas(frame.iloc[:, number])))
        except Exception:  # whatever Arrow says of a cell that does not fit would show the cell
            mixed.append(f"column {number + 1} holds values of several types")
    if mixed:
        raise TableError(
            "the data frame has columns of mixed types",
            remedy="give each of these columns one type, for example with astype",
            problems=mixed,
        )
    return pl.DataFrame(columns)


def _with_index(frame: Any, pandas: Any) -> Any:
    """The frame with the named levels of its index as columns, where it lacks them.

    Row numbers have no name and are dropped; texts without one may be ids, and are refused.
    """
    index = frame.index
    named = [name for name in index.names if name is not None]
    if len(index) and not named and not pandas.api.types.is_numeric_dtype(index):
        raise TableError(
            "the index of the data frame has no name, and may hold ids",
            remedy="name it as the policy does, with frame.rename_axis('...'), or drop it with "
            "frame.reset_index(drop=True)",
        )
    added = [name for name in named if name not in frame.columns]
    return frame.reset_index(added) if added else frame


# What a source may be, and what reads it; the first that fits does. A new kind is a row here.
_SOURCES: tuple[tuple[Callable[[Any], bool], Callable[[Any, Reading], pl.DataFrame]], ...] = (
    (lambda source: isinstance(source, str | os.PathLike), _from_path),
    (lambda source: isinstance(source, list | tuple), _from_parts),
    (lambda source: isinstance(source, pl.DataFrame), lambda source, _: source),
    (lambda source: isinstance(source, pl.LazyFrame), lambda source, _: source.collect()),
    (lambda source: type(source).__module__.partition(".")[0] == "pandas", _from_pandas),
    (lambda source: hasattr(source, "__arrow_c_stream__"), _from_arrow),
)
