"""Reading a table, or the result of a query, from a SQLite database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.cells import text_of
from serigraph.tables.queries import as_select, not_one_table, query_failed

_TYPES: dict[type, Any] = {int: pl.Int64, float: pl.Float64, str: pl.String, bytes: pl.Binary}
_READS = frozenset(
    (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
)
_VIEW = "serigraph_query"


def read_sqlite(path: Path, reading: Reading) -> pl.DataFrame:
    """The result of the query of ``reading``, or the database's only table.

    The file is opened to be read, and while the query runs nothing else is allowed.
    """
    where = str(path)
    with closing(_opened(path)) as connection:
        query = as_select(reading.query) if reading.query else _only_table(connection, where)
        declared = _declared(connection, query, where)
        connection.set_authorizer(_reads_only)
        try:
            rows = connection.execute(f"select * from temp.{_VIEW}").fetchall()
        except sqlite3.Error as error:
            # The message may quote a cell.
            raise query_failed(type(error).__name__, where) from None
    columns = zip(*rows, strict=True) if rows else [()] * len(declared)
    return pl.DataFrame(
        [_column(name, kind, cells) for (name, kind), cells in zip(declared, columns, strict=True)]
    )


def _opened(path: Path) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        connection.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.Error:
        raise TableError(
            "the database cannot be opened",
            where=str(path),
            remedy="close other programs that use it, or export it again if it is damaged",
        ) from None
    return connection


def _declared(connection: sqlite3.Connection, query: str, where: str) -> list[tuple[str, str]]:
    """The columns of a query with the types that their tables declare. As a view, the query has to
    be one statement that only reads."""
    try:
        connection.execute(f"create temp view {_VIEW} as {query}")
        found = connection.execute(f"pragma table_info({_VIEW})").fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise query_failed(str(error), where) from None
    return [(str(name), str(kind).upper()) for _, name, kind, *_ in found]


def _only_table(connection: sqlite3.Connection, where: str) -> str:
    tables = connection.execute(
        "select name from sqlite_master "
        "where type in ('table', 'view') and name not like 'sqlite_%'"
    ).fetchall()
    if len(tables) != 1:
        raise not_one_table(len(tables), where)
    name = tables[0][0].replace('"', '""')
    return f'select * from "{name}"'


def _reads_only(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY


def _column(name: str, declared: str, cells: Sequence[Any]) -> pl.Series:
    """The cells in one type, though SQLite keeps a type for each: numbers among texts are texts."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if len(kinds) > 1:
        if bytes in kinds:
            raise TableError(
                "a column mixes bytes with texts or numbers",
                remedy="leave it out with --query, or write it in one type there",
            )
        parts = {
            kind: text_of(
                pl.Series([x if type(x) is kind else None for x in cells], dtype=_TYPES[kind])
            )[0]
            for kind in kinds
        }
        return pl.select(pl.coalesce(*parts.values())).to_series().alias(name)
    column = pl.Series(name, cells, dtype=_TYPES[kinds.pop()] if kinds else pl.String)
    return _as_declared(column, declared)


def _as_declared(column: pl.Series, declared: str) -> pl.Series:
    """SQLite has no times and no truth: a column is what it was declared as, if all cells agree."""
    if declared.startswith("BOOL") and column.dtype == pl.Int64 and column.is_in([0, 1]).all():
        return column.cast(pl.Boolean)
    if declared.startswith(("DATETIME", "TIMESTAMP")) and column.dtype == pl.String:
        times = column.str.replace("T", " ").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False)
        return times if times.null_count() == column.null_count() else column
    return column
