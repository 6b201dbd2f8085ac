"""The formats of files that are read, one row of a table each: what their names end in, how they
begin, and what reads them. A new format is a row of ``FORMATS``.

A file is what its first bytes say; what its name says has to agree. What comes without a name, as
from a pipe, is what its first bytes say alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.cells import text_of
from serigraph.tables.csv_files import read_csv
from serigraph.tables.duckdb_files import read_duckdb
from serigraph.tables.extras import optional_package
from serigraph.tables.queries import refuse_query
from serigraph.tables.sqlite_files import read_sqlite
from serigraph.tables.workbooks import read_workbook

Content = Path | bytes  # a file, or what one holds
ReadFile = Callable[[Any, Reading, str], pl.DataFrame]


@dataclass(frozen=True)
class FileFormat:
    """One kind of file."""

    name: str
    endings: tuple[str, ...]
    signatures: tuple[tuple[int, bytes], ...]  # bytes, and where they are; none for text
    read: ReadFile  # of a content, options, and how messages call it
    other_starts: frozenset[int] = frozenset()  # first bytes that the name alone has to vouch for
    needs_file: bool = False  # bytes are not enough
    takes_query: bool = False  # which chooses one of several tables


def _read_parquet(content: Content, _reading: Reading, where: str) -> pl.DataFrame:
    return _whole(lambda: pl.read_parquet(content, hive_partitioning=False, glob=False), where)


def _read_arrow(content: Content, _reading: Reading, where: str) -> pl.DataFrame:
    return _whole(lambda: pl.read_ipc(content), where)


def _read_statistics(
    path: Path, reading: Reading, where: str, *, name: str, reader: str
) -> pl.DataFrame:
    """A file of a statistics package, by a function of pyreadstat."""
    pyreadstat = optional_package(
        "pyreadstat", extra="statistics", purpose=f"reading a {name} file"
    )

    def read() -> pl.DataFrame:
        columns, described = getattr(pyreadstat, reader)(
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

    return _whole(read, where)


def _labelled(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """The label of each code; a code without one stays, as text."""
    return column.replace_strict(
        list(labels), list(labels.values()), default=text_of(column)[0], return_dtype=pl.String
    )


def _whole(read: Callable[[], pl.DataFrame], where: str) -> pl.DataFrame:
    return guarded(read, "the file is damaged or cut short", where)


def guarded(read: Callable[[], pl.DataFrame], what: str, where: str) -> pl.DataFrame:
    """Read, and hide the messages of libraries: they may quote a cell."""
    try:
        return read()
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # a panic is no Exception
        raise TableError(
            f"{what} ({type(error).__name__})", where=where, remedy="export the table again"
        ) from None


def _statistics(
    name: str,
    reader: str,
    endings: tuple[str, ...],
    *signatures: tuple[int, bytes],
    other_starts: frozenset[int] = frozenset(),
) -> FileFormat:
    read = partial(_read_statistics, name=name, reader=reader)
    return FileFormat(name, endings, signatures, read, other_starts, needs_file=True)


def _from_path(read: Callable[[Path, Reading], pl.DataFrame]) -> ReadFile:
    """The reader of a format that takes the path of a file."""
    return lambda path, reading, _where: read(path, reading)


_SAS = b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c"
_OLD_STATA = frozenset((105, 108, 110, 111, 112, 113, 114, 115))  # up to Stata 12
CSV = FileFormat("CSV", (".csv", ".tsv", ".tab", ".txt"), (), partial(read_csv, compressed=False))
PARQUET = FileFormat("Parquet", (".parquet", ".pq"), ((0, b"PAR1"),), _read_parquet)
FORMATS: tuple[FileFormat, ...] = (
    CSV,
    PARQUET,
    FileFormat("Arrow", (".arrow", ".feather", ".ipc"), ((0, b"ARROW1"),), _read_arrow),
    FileFormat(
        "DuckDB",
        (".duckdb", ".db"),
        ((8, b"DUCK"),),
        _from_path(read_duckdb),
        needs_file=True,
        takes_query=True,
    ),
    FileFormat(
        "SQLite",
        (".sqlite", ".sqlite3", ".db3", ".db"),
        ((0, b"SQLite format 3"),),
        _from_path(read_sqlite),
        needs_file=True,
        takes_query=True,
    ),
    FileFormat(
        "Excel (ZIP)", (".xlsx", ".xlsm"), ((0, b"PK\x03\x04"),), read_workbook, takes_query=True
    ),
    _statistics("Stata", "read_dta", (".dta",), (0, b"<stata_dta>"), other_starts=_OLD_STATA),
    _statistics("SPSS", "read_sav", (".sav", ".zsav"), (0, b"$FL2"), (0, b"$FL3")),
    _statistics("SAS", "read_sas7bdat", (".sas7bdat",), (12, _SAS)),
    _statistics("SAS transport", "read_xport", (".xpt",), (0, b"HEADER RECORD*******LIB")),
)
_COMPRESSED = FileFormat(
    "compressed CSV", (), ((0, b"\x1f\x8b"),), partial(read_csv, compressed=True)
)
BY_ENDING: Mapping[str, FileFormat] = {ending: each for each in FORMATS for ending in each.endings}

# What is recognised to be refused.
_UNREAD: tuple[tuple[bytes, str], ...] = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook, or one with a password"),
    (b"FEA1", "Feather version 1"),
    (b"%PDF", "PDF"),
)
_OTHER_SPREADSHEETS = frozenset((".xlsb", ".xls", ".ods", ".numbers"))
_TEXT_MARKS = (b"\xff\xfe", b"\xfe\xff")  # UTF-16, whose letters hold zero bytes
_HEAD = 4096


def read_file(content: Content, name: str, reading: Reading, where: str) -> pl.DataFrame:
    """The table of a file, or of its bytes; ``name`` is empty if it has none."""
    found = format_of(content, name, reading.encoding, where)
    if isinstance(content, bytes) and found.needs_file:
        raise TableError(
            f"{found.name} is read from files only",
            where=where,
            remedy="save it as a file on this machine, and give its path",
        )
    if reading.must_query and not found.takes_query:
        refuse_query(reading, f"a file of the format {found.name}", where)
    return found.read(content, reading, where)


def format_of(content: Content, name: str, encoding: str | None, where: str) -> FileFormat:
    """What a file is, after its name and its first bytes were found to agree.

    Text may hold zero bytes if it begins as UTF-16 does, or if the encoding is given.
    """
    head = content[:_HEAD] if isinstance(content, bytes) else _head(content)
    if not head:
        raise TableError("the file is empty", where=where, remedy="export the table again")
    found = _found(head, text_may_hold_zeros=encoding is not None)
    if not name:
        return _unnamed(found, where)
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes]
    if suffixes[-1:] and suffixes[-1] in _OTHER_SPREADSHEETS:
        raise TableError(
            "spreadsheets are read as .xlsx only",
            where=where,
            remedy="save it as .xlsx, or the sheet as CSV (UTF-8), and use that file",
        )
    named = _named(suffixes, where)
    for each in named:
        is_text = found == "" and not each.signatures
        is_vouched_for = found in ("", "a binary file") and head[0] in each.other_starts
        if found == each.name or is_text or is_vouched_for:
            return each
    shown = "gzip" if found == _COMPRESSED.name else found
    raise TableError(
        f"the file does not match its name: expected {' or '.join(each.name for each in named)}, "
        f"but it looks like {shown or 'text or something else'}",
        where=where,
        remedy="rename it, or export the table again",
    )


def _unnamed(found: str, where: str) -> FileFormat:
    by_name = {each.name: each for each in (*FORMATS, _COMPRESSED)} | {"": CSV}
    if found not in by_name:
        raise TableError(
            f"it looks like {found}, which is not read",
            where=where,
            remedy="give CSV, Parquet or Arrow",
        )
    return by_name[found]


def _named(suffixes: list[str], where: str) -> tuple[FileFormat, ...]:
    if suffixes[-1:] == [".gz"] and BY_ENDING.get("".join(suffixes[-2:-1])) is CSV:
        return (_COMPRESSED,)
    named = tuple(each for each in FORMATS if suffixes and suffixes[-1] in each.endings)
    if not named:
        raise TableError(
            "the file name does not show its format",
            where=where,
            remedy="use one of these endings: .csv.gz " + " ".join(BY_ENDING),
        )
    return named


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        raise TableError(
            "the file does not exist", where=str(path), remedy="check the path"
        ) from None
    except OSError as error:
        raise TableError(
            f"the file cannot be read ({error.strerror})",
            where=str(path),
            remedy="give a readable file",
        ) from None


def _found(head: bytes, *, text_may_hold_zeros: bool) -> str:
    for each in (*FORMATS, _COMPRESSED):
        if any(head[offset:].startswith(signature) for offset, signature in each.signatures):
            return each.name
    for signature, name in _UNREAD:
        if head.startswith(signature):
            return name
    is_text = text_may_hold_zeros or b"\0" not in head or head.startswith(_TEXT_MARKS)
    return "" if is_text else "a binary file"
