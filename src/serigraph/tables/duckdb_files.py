"""Reading a table, or the result of a query, from a DuckDB database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.extras import optional_package
from serigraph.tables.queries import as_select, not_one_table, query_failed

# A query reads the database and nothing else: no other file, no address, no variable of Python.
_CLOSED = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
_ONLY_ABOUT_THE_QUERY = ("ParserException", "BinderException", "CatalogException")


def read_duckdb(path: Path, reading: Reading) -> pl.DataFrame:
    """The result of the query of ``reading``, or the database's only table."""
    duckdb = optional_package("duckdb", extra="duckdb", purpose="reading a DuckDB database")
    try:
        connection = duckdb.connect(str(path), read_only=True, config=_CLOSED)
    except duckdb.Error:
        raise TableError(
            "the database cannot be opened",
            where=str(path),
            remedy="close other programs that use it; a newer DuckDB may be needed to read it",
        ) from None
    try:
        query = as_select(reading.query) if reading.query else _only_table(connection, path)
        result = connection.sql(query)
        if result is None:
            raise TableError(
                "the query gives no table",
                where=str(path),
                remedy="write a select as query in the section [reading] of the policy",
            )
        return pl.DataFrame(result.to_arrow_table())
    except duckdb.PermissionException:
        raise TableError(
            "the query, or a view that it reads, uses something outside the database",
            where=str(path),
            remedy="copy the data into a table of the database",
        ) from None
    except duckdb.Error as error:
        # Other messages of DuckDB may hold values of the data.
        kind = type(error).__name__
        detail = str(error).splitlines()[0] if kind in _ONLY_ABOUT_THE_QUERY else kind
        raise query_failed(detail, str(path)) from None
    finally:
        connection.close()


def _only_table(connection: Any, path: Path) -> str:
    tables = connection.execute(
        "select format('select * from {}.{}', "
        "'\"' || replace(table_schema, '\"', '\"\"') || '\"', "
        "'\"' || replace(table_name, '\"', '\"\"') || '\"') from information_schema.tables"
    ).fetchall()
    if len(tables) != 1:
        raise not_one_table(len(tables), str(path))
    return str(tables[0][0])
