"""Sources that are not files of this machine: each is refused with how to make a file of it."""

from __future__ import annotations

import re
from pathlib import Path

from serigraph.errors import TableError
from serigraph.paths import check_path

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):([a-z]+:)*/")  # C:/ is a drive
_DOWNLOAD = (
    "download the file, and give its path; or use --engine spark, if Spark reads {scheme}://"
)
_EXPORT = "export the table to CSV or Parquet, and give that file"
_REMEDIES = {
    "http": "download the file, with curl -O for example, and give its path",
    "https": "download the file, with curl -O for example, and give its path",
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
            "standard input is not read: a table is read more than once",
            remedy="write it to a file first, such as table.csv, and give its path",
        )
    if address := _ADDRESS.match(source):
        scheme = address[1].lower()
        raise TableError(
            f"an address of {scheme} is not read",
            where=f"{scheme}://...",
            remedy=_REMEDIES.get(scheme.partition("+")[0], _DOWNLOAD.format(scheme=scheme)),
        )
    check_path(source)
    if Path(source).exists() and not Path(source).is_file() and not Path(source).is_dir():
        raise TableError(
            "this is a device or a pipe: a table is read more than once",
            where=source,
            remedy="write it to a file first, such as table.csv, and give its path",
        )
    if Path(source).is_dir():
        raise TableError(
            "this is a folder, and a table is one file",
            where=source,
            remedy="give a file; join several files to one first, or let Spark read the folder "
            "with --engine spark",
        )
