"""One way in for every kind of table: files, data frames, Arrow tables, DuckDB relations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.addresses import refuse_what_is_no_file
from serigraph.tables.cell_texts import text_of
from serigraph.tables.csv_files import read_csv
from serigraph.tables.databases import read_database
from serigraph.tables.extras import optional_package
from serigraph.tables.header import check_number, repeated
from serigraph.tables.signatures import Format, format_of


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
    if isinstance(source, str | os.PathLike):
        refuse_what_is_no_file(os.fspath(source))
        return _read_file(Path(source), options)
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if type(source).__module__.partition(".")[0] == "pandas":
        return _from_pandas(source)
    if hasattr(source, "__arrow_c_stream__"):
        return _guarded(lambda: pl.DataFrame(source), "the table cannot be read", "")
    raise TableError(
        f"a {type(source).__name__} is not a table",
        remedy="give a path, a pandas or Polars data frame, an Arrow table or a DuckDB relation",
    )


def _read_file(path: Path, reading: Reading) -> pl.DataFrame:
    found = format_of(path, reading.encoding)
    match found:
        case "CSV" | "gzip":
            return read_csv(path, reading, compressed=found == "gzip")
        case "DuckDB":
            return read_database(path, reading)
        case "Parquet":
            return _whole(lambda: pl.read_parquet(path, hive_partitioning=False, glob=False), path)
        case "Arrow":
            return _whole(lambda: pl.read_ipc(path), path)
        case _:
            return _read_statistics(path, found, reading)


def _read_statistics(path: Path, found: Format, reading: Reading) -> pl.DataFrame:
    pyreadstat = optional_package(
        "pyreadstat", extra="statistics", purpose=f"reading a {found} file"
    )
    readers = {
        "Stata": pyreadstat.read_dta,
        "SPSS": pyreadstat.read_sav,
        "SAS": pyreadstat.read_sas7bdat,
        "SAS transport": pyreadstat.read_xport,
    }

    def read() -> pl.DataFrame:
        columns, described = readers[found](
            str(path), encoding=reading.encoding, output_format="dict"
        )
        table = pl.DataFrame(columns, strict=True)
        kinds = described.readstat_variable_types
        short = [name for name, kind in kinds.items() if kind == "float"]
        # A float of 32 bits is 0.1 as it was kept, and not 0.10000000149.
        table = table.cast({name: pl.Float32 for name in short if table[name].dtype.is_float()})
        if not reading.value_labels:
            return table
        return table.with_columns(
            _labelled(table[name], labels)
            for name, labels in described.variable_value_labels.items()
        )

    return _whole(read, path)


def _labelled(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """The label of each code; a code without one stays as it is, as text."""
    return column.replace_strict(
        list(labels), list(labels.values()), default=text_of(column)[0], return_dtype=pl.String
    )


def _whole(read: Callable[[], pl.DataFrame], path: Path) -> pl.DataFrame:
    return _guarded(read, "the file is damaged or cut short", str(path))


def _guarded(read: Callable[[], pl.DataFrame], what: str, where: str) -> pl.DataFrame:
    """Read, and let no message of a library through: it may hold a cell."""
    try:
        return read()
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # a panic is no Exception
        raise TableError(
            f"{what} ({type(error).__name__})", where=where, remedy="export the table again"
        ) from None


def _from_pandas(frame: Any) -> pl.DataFrame:
    pandas = optional_package("pandas", extra="pandas", purpose="reading a pandas data frame")
    if not isinstance(frame, pandas.DataFrame):
        raise TableError(
            f"a pandas {type(frame).__name__} is not a table", remedy="give a data frame"
        )
    frame = _with_index(frame, pandas)
    names = [str(name) for name in frame.columns]
    if same := repeated(names):
        raise TableError(
            "the data frame has columns of one name", remedy="rename them", problems=same
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
            remedy="give each of these columns one type, with astype for example",
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
