"""Reading a table, or the result of a query, from a PostgreSQL server."""

from __future__ import annotations

from typing import Any

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.addresses import shown
from serigraph.tables.extras import optional_package
from serigraph.tables.queries import as_select, not_one_table, query_failed

_ROWS = 50_000  # fetched at a time
_SECONDS_TO_CONNECT = "10"
_AS_TEXT = ("json", "jsonb", "uuid", "inet", "cidr")  # not as objects of Python
_SETTINGS = "set timezone to 'UTC'; set client_encoding to 'UTF8'"

# Types by their numbers, which never change (pg_type.dat of PostgreSQL); others are texts.
_TYPES: dict[int, Any] = {
    16: pl.Boolean,
    17: pl.Binary,
    20: pl.Int64,
    21: pl.Int64,
    23: pl.Int64,
    26: pl.Int64,
    700: pl.Float32,
    701: pl.Float64,
    1082: pl.Date,
    1083: pl.Time,
    1114: pl.Datetime("us"),
    1184: pl.Datetime("us", "UTC"),
    1186: pl.Duration("us"),
    1266: pl.Time,
}
_NUMERIC = 1700  # whose scale differs from cell to cell
_LISTS: dict[int, Any] = {
    1005: pl.Int64,
    1007: pl.Int64,
    1016: pl.Int64,
    1009: pl.String,
    1015: pl.String,
}

# Classes of errors (SQLSTATE) whose messages are about the query or the rights to make it; others
# may quote a cell.
_ABOUT_THE_QUERY = ("25", "26", "34", "3F", "42")
_LOGIN, _NO_DATABASE, _LOST = "28", "3D", ("08", "57")


def read_postgres(address: str, reading: Reading) -> pl.DataFrame:
    """The result of the query of ``reading``, or the database's only table, in a transaction that
    can only read."""
    psycopg = optional_package("psycopg", extra="postgres", purpose="reading from PostgreSQL")
    where = shown(address)
    connection = _connection(psycopg, address, where)
    try:
        connection.execute(_SETTINGS)
        connection.commit()
        connection.read_only = True
        query = as_select(reading.query) if reading.query else _only_table(connection, where)
        # A named cursor takes one statement, and rows by portions.
        with connection.cursor("serigraph") as cursor:
            cursor.execute(query.strip().rstrip(";"))
            return _fetched(cursor, where)
    except psycopg.Error as error:
        raise _refusal(psycopg, error, where) from None
    except (OverflowError, ValueError, pl.exceptions.PolarsError):
        raise _unheld(where) from None
    finally:
        connection.close()


def _connection(psycopg: Any, address: str, where: str) -> Any:
    try:
        given = psycopg.conninfo.conninfo_to_dict(address)
        connection = psycopg.connect(
            **{"connect_timeout": _SECONDS_TO_CONNECT, "application_name": "serigraph"} | given
        )
    except psycopg.OperationalError as error:
        login = (error.sqlstate or "").startswith(_LOGIN) or "password" in str(error)
        known = "login" if login else "database" if "does not exist" in str(error) else ""
        what, remedy = {
            "login": (
                "the server refuses the login",
                "check the user and the password, which may stand in ~/.pgpass or PGPASSWORD",
            ),
            "database": ("the server has no such database or user", "correct the address"),
            "": (
                "the server cannot be reached",
                "check host and port, and whether the server runs",
            ),
        }[known]
        raise TableError(what, where=where, remedy=remedy) from None
    except psycopg.Error:
        raise TableError(
            "the address is not one of PostgreSQL",
            where=where,
            remedy="write it as postgresql://user@host:port/database",
        ) from None
    text = psycopg.types.string.TextLoader
    for name in _AS_TEXT:
        connection.adapters.register_loader(name, text)
    return connection


def _only_table(connection: Any, where: str) -> str:
    tables = connection.execute(
        "select format('select * from %I.%I', table_schema, table_name) "
        "from information_schema.tables "
        "where table_schema not in ('pg_catalog', 'information_schema')"
    ).fetchall()
    if len(tables) != 1:
        raise not_one_table(len(tables), where)
    return str(tables[0][0])


def _fetched(cursor: Any, where: str) -> pl.DataFrame:
    described = [(column.name, column.type_code) for column in cursor.description]
    if len({name for name, _ in described}) < len(described):
        raise TableError(
            "columns of the query have the same name",
            where=where,
            remedy="name each column with 'as'",
        )
    portions = [_portion(described, [])]
    while rows := cursor.fetchmany(_ROWS):
        portions.append(_portion(described, rows))
    table = pl.concat(portions, rechunk=True)
    return table.with_columns(
        _as_decimals(table[name]) for name, code in described if code == _NUMERIC
    )


def _portion(described: list[tuple[str, int]], rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    columns = zip(*rows, strict=True) if rows else [()] * len(described)
    return pl.DataFrame(
        [_column(name, code, cells) for (name, code), cells in zip(described, columns, strict=True)]
    )


def _column(name: str, code: int, cells: tuple[Any, ...]) -> pl.Series:
    if code in _LISTS:
        return pl.Series(name, cells, dtype=pl.List(_LISTS[code]))
    kind = _TYPES.get(code, pl.String)
    if code == _NUMERIC:
        cells = tuple(None if cell is None or cell.is_nan() else f"{cell:f}" for cell in cells)
    if kind == pl.String:
        cells = tuple(None if cell is None else str(cell) for cell in cells)
    return pl.Series(name, cells, dtype=kind, strict=True)


def _as_decimals(text: pl.Series) -> pl.Series:
    """Numbers that were fetched as texts, with the decimals that they all need together."""
    needed = text.str.strip_chars_end("0").str.extract(r"\.(\d*)$").str.len_chars().max()
    return text.cast(pl.Decimal(38, needed if isinstance(needed, int) else 0))


def _unheld(where: str) -> TableError:
    return TableError(
        "a column holds something that no table can hold, such as a date outside the years 1 to "
        "9999, or a number of more than 38 digits",
        where=where,
        remedy="leave the column out with --query, or write it as text there",
    )


def _refusal(psycopg: Any, error: Any, where: str) -> TableError:
    state = error.sqlstate or ""
    if state[:2] in _ABOUT_THE_QUERY:
        return query_failed(str(error.diag.message_primary), where)
    if state[:2] in _LOST or (isinstance(error, psycopg.OperationalError) and not state):
        return TableError(
            "the connection to the server was lost",
            where=where,
            remedy="see whether the server runs, and give the table again: nothing was published",
        )
    if isinstance(error, psycopg.DataError) and not state:
        return _unheld(where)
    return query_failed(type(error).__name__, where)
