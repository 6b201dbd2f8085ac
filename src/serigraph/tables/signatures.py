"""What a file is, by its first bytes; and what its name says that it is."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Literal

from serigraph.errors import TableError

Format = Literal[
    "CSV", "Parquet", "Arrow", "DuckDB", "Stata", "SPSS", "SAS", "SAS transport", "gzip"
]

BY_SUFFIX: dict[str, Format] = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".tab": "CSV",
    ".txt": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".duckdb": "DuckDB",
    ".db": "DuckDB",
    ".dta": "Stata",
    ".sav": "SPSS",
    ".zsav": "SPSS",
    ".sas7bdat": "SAS",
    ".xpt": "SAS transport",
}
_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"PAR1", "Parquet"),
    (0, b"ARROW1", "Arrow"),
    (8, b"DUCK", "DuckDB"),
    (0, b"<stata_dta>", "Stata"),
    (0, b"$FL2", "SPSS"),
    (0, b"$FL3", "SPSS"),
    (12, b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c", "SAS"),
    (0, b"HEADER RECORD*******LIB", "SAS transport"),
    (0, b"\x1f\x8b", "gzip"),
    (0, b"PK\x03\x04", "a ZIP archive (an Excel workbook, perhaps)"),
    (0, b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (0, b"SQLite format 3", "SQLite"),
    (0, b"FEA1", "Feather version 1"),
    (0, b"%PDF", "PDF"),
)
_SPREADSHEETS = frozenset((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".numbers"))
_SQLITE = frozenset((".sqlite", ".sqlite3", ".db3"))
_OLD_STATA = frozenset((105, 108, 110, 111, 112, 113, 114, 115))  # first byte, up to Stata 12
_TEXT_MARKS = (b"\xff\xfe", b"\xfe\xff")  # UTF-16, whose letters hold zero bytes


def format_of(path: Path, encoding: str | None = None) -> Format:
    """What the file is, after its name and its first bytes were found to agree.

    Text may hold zero bytes if it begins as UTF-16 does, or if the encoding is given.
    """
    head = _head(path)
    found = _found_format(head, text_may_hold_zeros=encoding is not None)
    _refuse_unread(path, found)
    named = _named_format(path)
    if named == "Stata" and found in ("", "a binary file") and head[0] in _OLD_STATA:
        return named
    if found != (named if named != "CSV" else ""):
        raise TableError(
            f"the file is not what its name says: {_as_named(named)} was expected, "
            f"and it looks like {found or 'text or something else'}",
            where=str(path),
            remedy="rename it, or export the table again",
        )
    return named


def _refuse_unread(path: Path, found: str) -> None:
    """Raise ``TableError`` for a known kind of file that is not read, with how to export it."""
    ending = path.suffix.lower()
    if ending in _SPREADSHEETS:
        raise TableError(
            "a spreadsheet is not read",
            where=str(path),
            remedy="save the sheet as CSV (UTF-8), and give that file",
        )
    if found == "SQLite" or ending in _SQLITE:
        raise TableError(
            "a SQLite database is not read",
            where=str(path),
            remedy="export the table, and give that file: "
            f"sqlite3 -header -csv {quote(str(path))} 'select * from ...' > table.csv",
        )


def _named_format(path: Path) -> Format:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"] and BY_SUFFIX.get("".join(suffixes[-2:-1])) == "CSV":
        return "gzip"
    named = BY_SUFFIX.get(suffixes[-1]) if suffixes else None
    if named is None:
        raise TableError(
            "the name of the file does not say what it is",
            where=str(path),
            remedy="give it one of these endings: .csv.gz " + " ".join(BY_SUFFIX),
        )
    return named


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except FileNotFoundError:
        raise TableError(
            "there is no such file", where=str(path), remedy="check the path"
        ) from None
    except OSError as error:
        raise TableError(
            f"the file cannot be read ({error.strerror})",
            where=str(path),
            remedy="give the path of a file that you may read",
        ) from None
    if not head:
        raise TableError("the file is empty", where=str(path), remedy="export the table again")
    return head


def _found_format(head: bytes, *, text_may_hold_zeros: bool) -> str:
    for offset, signature, name in _SIGNATURES:
        if head[offset:].startswith(signature):
            return name
    is_text = text_may_hold_zeros or b"\0" not in head or head.startswith(_TEXT_MARKS)
    return "" if is_text else "a binary file"


def _as_named(named: Format) -> str:
    return "compressed CSV" if named == "gzip" else named
