"""One entry point for every kind of table: files, data frames, Arrow tables, DuckDB relations."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.extras import optional_package
from serigraph.tables.formats import format_of, guarded
from serigraph.tables.header import check_number, repeated
from serigraph.texts import check_path


def read_table(source: Any, reading: Reading | None = None) -> pl.DataFrame:
    """The rows and columns of ``source``, as they are.

    ``source`` is the path of a CSV, TSV (also compressed by gzip), Parquet, Arrow, DuckDB, Stata,
    SPSS or SAS file, a data frame of Polars (eager or lazy) or pandas, an Arrow table, a DuckDB
    relation, or anything else with ``__arrow_c_stream__``. Cells of CSV files come as text:
    ``prepare`` gives them the types that the policy says. Raises ``TableError`` or
    ``MissingExtra``, without any cell in the message.
    """
    table = _read(source, reading or Reading())
    check_number(table.width)
    return table


def _read(source: Any, options: Reading) -> pl.DataFrame:
    for is_one, read in _SOURCES:
        if is_one(source):
            return read(source, options)
    raise TableError(
        f"a {type(source).__name__} is not a table",
        remedy="give a path, a pandas or Polars data frame, an Arrow table or a DuckDB relation",
    )


def _from_file(source: Any, options: Reading) -> pl.DataFrame:
    refuse_what_is_no_file(os.fspath(source))
    path = Path(source)
    return format_of(path, options.encoding).read(path, options)


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


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):([a-z]+:)*/")  # C:/ is a drive
_DOWNLOAD = "download the file and give its path, or use --engine spark if Spark reads {scheme}://"
_EXPORT = "export the table to CSV or Parquet and give that file"
_REMEDIES = {
    "http": "download the file, for example with curl -O, and give its path",
    "https": "download the file, for example with curl -O, and give its path",
    "postgres": f"{_EXPORT}; in psql: \\copy (select ...) to 'table.csv' with csv header",
    "postgresql": f"{_EXPORT}; in psql: \\copy (select ...) to 'table.csv' with csv header",
    "file": "give the path alone",
} | dict.fromkeys(("mysql", "mariadb", "mssql", "oracle", "sqlite", "jdbc", "odbc"), _EXPORT)


def refuse_what_is_no_file(source: str) -> None:
    """Raise ``TableError`` for standard input, an address or a folder.

    The message gives the scheme of an address only: the rest may hold a password.
    """
    if source in ("-", "/dev/stdin"):
        raise TableError(
            "a table cannot come from standard input: it is read more than once",
            remedy="write it to a file first, such as table.csv, and give its path",
        )
    if address := _ADDRESS.match(source):
        scheme = address[1].lower()
        raise TableError(
            f"{scheme} addresses cannot be read",
            where=f"{scheme}://...",
            remedy=_REMEDIES.get(scheme.partition("+")[0], _DOWNLOAD.format(scheme=scheme)),
        )
    check_path(source)
    if Path(source).exists() and not Path(source).is_file() and not Path(source).is_dir():
        raise TableError(
            "a table cannot come from a device or a pipe: it is read more than once",
            where=source,
            remedy="write it to a file first, such as table.csv, and give its path",
        )
    if Path(source).is_dir():
        raise TableError(
            "this is a folder, but a table is a single file",
            where=source,
            remedy="give a file; join several files into one first, or let Spark read the folder "
            "with --engine spark",
        )


# What a source may be, and what reads it; the first that fits does. A new kind is a row here.
_SOURCES: tuple[tuple[Callable[[Any], bool], Callable[[Any, Reading], pl.DataFrame]], ...] = (
    (lambda source: isinstance(source, str | os.PathLike), _from_file),
    (lambda source: isinstance(source, pl.DataFrame), lambda source, _: source),
    (lambda source: isinstance(source, pl.LazyFrame), lambda source, _: source.collect()),
    (lambda source: type(source).__module__.partition(".")[0] == "pandas", _from_pandas),
    (lambda source: hasattr(source, "__arrow_c_stream__"), _from_arrow),
)
