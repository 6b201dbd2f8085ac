"""Addresses of tables, such as ``s3://bucket/visits.csv``: which are read, and what may be shown.

Of an address that may hold a password nothing but its scheme is ever shown.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from serigraph.errors import TableError

_ADDRESS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]+):((?:[a-z]+:)*)/+(.*)", re.DOTALL
)  # C:/ is a drive


@dataclass(frozen=True)
class Store:
    """Where files lie that a package of fsspec reads, and the extra that installs it."""

    package: str
    extra: str


STORES: dict[str, Store] = {
    "s3": Store("s3fs", "s3"),
    "s3a": Store("s3fs", "s3"),
    "gs": Store("gcsfs", "gs"),
    "gcs": Store("gcsfs", "gs"),
    "abfs": Store("adlfs", "azure"),
    "abfss": Store("adlfs", "azure"),
    "az": Store("adlfs", "azure"),
    "memory": Store("fsspec", "fsspec"),
}
POSTGRES = frozenset(("postgres", "postgresql"))

_DOWNLOAD = "download the file and give its path, or use --engine spark if Spark reads {scheme}://"
_EXPORT = "export the table to CSV or Parquet and give that file"
_REMEDIES = {
    "http": "download the file, for example with curl -O, and give its path",
    "https": "download the file, for example with curl -O, and give its path",
    "file": "give the path alone",
    "sqlite": "give the path of the database alone",
    "duckdb": "give the path of the database alone",
} | dict.fromkeys(("mysql", "mariadb", "mssql", "oracle", "jdbc", "odbc"), _EXPORT)


def scheme_of(source: str) -> str:
    """The scheme of an address, in small letters; empty for a path.

    >>> scheme_of("S3://bucket/t.csv"), scheme_of("jdbc:sqlite:/t.db"), scheme_of("C:/t.csv")
    ('s3', 'jdbc', '')
    """
    found = _ADDRESS.match(source)
    return found[1].lower() if found else ""


def is_database(source: str) -> bool:
    """Whether this is the address of a database that is read."""
    return scheme_of(source) in POSTGRES


def whole(source: str) -> str:
    """The address with the two slashes that ``pathlib`` makes one of.

    >>> whole("s3:/bucket/t.csv")
    's3://bucket/t.csv'
    """
    return re.sub(r"^(\w+):/(?!/)", r"\1://", source)


def shown(source: Any) -> str:
    """A source as files, messages and shells may show it: a path as it is, of a file's address its
    scheme and its name, of any other address its scheme.

    >>> shown("s3://key:secret@bucket/2024/t.csv"), shown("postgresql://me:pa/ss@host/db")
    ('s3://.../t.csv', 'postgresql://...')
    >>> shown(["a.csv", "b.csv"]), shown(3)
    ('a.csv, b.csv', 'a data frame')
    """
    if isinstance(source, list | tuple):
        return ", ".join(shown(each) for each in source)
    if not isinstance(source, str | os.PathLike):
        return "a data frame"
    text = os.fspath(source)
    scheme = scheme_of(text)
    if not scheme:
        return "standard input" if is_standard_input(text) else str(text)
    return f"{scheme}://...{'/' * bool(name_of(text))}{name_of(text)}"


def name_of(source: Any) -> str:
    """The file name that a source shows; empty if it has none that may be shown.

    >>> name_of("data/2024H1.csv.gz"), name_of("gs://bucket/a/2024H1.csv?x=y"), name_of("-")
    ('2024H1.csv.gz', '2024H1.csv', '')
    """
    if not isinstance(source, str | os.PathLike):
        return ""
    text = os.fspath(source)
    if is_standard_input(text):
        return ""
    if scheme := scheme_of(text):
        path = re.split(r"[?#]", _path(text))[0] if scheme in STORES else ""
        return path.rstrip("/").rpartition("/")[2] if "/" in path else ""
    return re.split(r"[/\\]", text.rstrip("/"))[-1]


def _path(address: str) -> str:
    found = _ADDRESS.match(address)
    return found[3] if found else ""


def is_path(source: str) -> bool:
    """Whether this is neither an address nor standard input."""
    return not scheme_of(source) and not is_standard_input(source)


def is_standard_input(source: str) -> bool:
    return source in ("-", "/dev/stdin")


def refuse_unread(source: str) -> None:
    """Raise ``TableError`` for an address that is not read."""
    scheme = scheme_of(source)
    if scheme and scheme not in STORES and scheme not in POSTGRES:
        raise TableError(
            f"{scheme} addresses cannot be read",
            where=f"{scheme}://...",
            remedy=_REMEDIES.get(scheme.partition("+")[0], _DOWNLOAD.format(scheme=scheme)),
        )
