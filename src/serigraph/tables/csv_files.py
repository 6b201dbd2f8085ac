"""Reading CSV files: every cell as text, empty cells as null, ragged lines refused.

Cells stay text, because what they mean is for the policy to say: a zip code keeps its zero. What
nobody says of a file (encoding, delimiter, quote) is detected from its beginning."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import csv as arrow_csv

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.cells import counted, rows_where
from serigraph.tables.header import check_number, repeated

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50
_SAMPLE = 1 << 16  # letters; the standard library reads no cells that are longer than twice that


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a reader needs to know about the file."""

    delimiter: str
    quote: str
    encoding: str
    header: tuple[str, ...]


def detect_dialect(beginning: bytes, reading: Reading) -> Dialect:
    """The dialect of a file that begins so; what ``reading`` gives is taken from there.

    Raises ``UnicodeError`` or ``LookupError`` where the encoding that was given does not fit.
    """
    encoding = reading.encoding or detect_encoding(beginning)
    text = _decode_beginning(beginning, encoding)
    quote = reading.quote or _detect_quote(text[:_SAMPLE])
    delimiter = reading.delimiter or detect_delimiter(text[:_SAMPLE], quote)
    header = next(csv.reader(_lines(text), delimiter=delimiter, quotechar=quote), [])
    return Dialect(delimiter, quote, encoding, tuple(header))


def detect_encoding(data: bytes) -> str:
    """UTF-8 or UTF-16 where the data says so, otherwise Windows' Western European encoding."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        _decode_beginning(data, "utf-8-sig")
    except UnicodeDecodeError:
        return western_encoding(data)
    return "utf-8-sig"


def western_encoding(data: bytes) -> str:
    """Windows-1252, or ISO 8859-1 where the data holds bytes that Windows-1252 lacks."""
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def detect_delimiter(text: str, quote: str = '"') -> str:
    """The delimiter that cuts most lines into the same number of cells, the more the better."""
    best, best_score = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        rows = list(csv.reader(_lines(text), delimiter=delimiter, quotechar=quote))
        widths = Counter(len(row) for row in rows if row)
        if not widths:
            continue
        width, agreeing = widths.most_common(1)[0]
        # One cell a line says nothing, however consistent it is.
        score = (agreeing / widths.total() if width > 1 else 0.0, width)
        if score > best_score and width > 1:
            best, best_score = delimiter, score
    return best


def _detect_quote(text: str) -> str:
    quoted = Counter(
        match[1]
        for match in re.finditer(r"""(?:^|[,;\t|])(["'])[^"'\n]*\1(?=[,;\t|\r\n]|$)""", text)
    )
    return "'" if quoted["'"] > quoted['"'] else '"'


def _decode_beginning(data: bytes, encoding: str) -> str:
    """Decode data that may be cut in the middle of a letter."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if len(data) - error.start > 4:
            raise
        return data[: error.start].decode(encoding)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)[:_SAMPLE_LINES]


_UTF8 = ("utf-8", "utf-8-sig", "utf8")
_BEGINNING = 1 << 20
_CHUNK = 1 << 24
_LINES_NAMED = 5
_DELIMITERS_COUNTED = 50  # of a row; whatever has as many of them on a line is one


def read_csv(
    source: Path | bytes, reading: Reading, where: str, *, compressed: bool
) -> pl.DataFrame:
    """The table of a CSV file or of its bytes, all columns as text."""
    if compressed:
        source = _decompressed(source, where)
    beginning = source[:_BEGINNING] if isinstance(source, bytes) else _beginning(source)
    dialect = _dialect(beginning, reading, where)
    check_header(dialect, where)
    plain = _read_plain(source, dialect)
    if plain is not None:
        return plain
    try:
        table = _parse(source, dialect, where)
    except pa.ArrowInvalid as error:
        if reading.encoding is None and "UTF8" in str(error):
            # The letters beyond ASCII came after the part that the detection looked at.
            data = source if isinstance(source, bytes) else source.read_bytes()
            fallback = Dialect(
                dialect.delimiter, dialect.quote, western_encoding(data), dialect.header
            )
            table = _parse(data, fallback, where)
        else:
            raise unreadable(where) from None
    except (UnicodeError, LookupError):
        raise unreadable(where) from None
    return _without_swallowed_rows(pl.DataFrame(table), dialect, where)


def _without_swallowed_rows(table: pl.DataFrame, dialect: Dialect, where: str) -> pl.DataFrame:
    """Refuse a cell that holds several rows of the table: its quote was never closed, and the ids
    of other people would be published as part of a value. One such line may be an address."""
    if table.width < 2:
        return table
    between = re.escape(dialect.delimiter)
    others = f"[^{between}\r\n]*"
    delimiters = table.width - 1
    end = "$" if delimiters <= _DELIMITERS_COUNTED else ""
    delimiters = min(delimiters, _DELIMITERS_COUNTED)
    row = rf"(?mR)^{others}(?:{between}{others}){{{delimiters}}}{end}"
    is_wrong = pl.Series([False]).new_from_index(0, table.height)
    for column in table.get_columns():
        behind_first_line = column.alias("cells").str.replace(r"^[^\r\n]*\r?\n?", "")
        is_wrong |= (behind_first_line.str.count_matches(row) > 1).fill_null(False)
    if is_wrong.any():
        raise TableError(
            "a cell contains whole rows of the table: a quote is not closed",
            where=f"{where}, {rows_where(is_wrong)}",
            remedy="close the quote, or set quote in the section [reading] of the policy; if the "
            "cell is right, remove its line breaks",
        )
    return table


def _read_plain(source: Path | bytes, dialect: Dialect) -> pl.DataFrame | None:
    """The table in half of the memory, or None if the other reader must handle the file.

    Polars refuses lines with too many cells, and fills up those with too few. Where no cell is
    quoted, no line has too few if there are as many delimiters as all lines need together.
    """
    if dialect.encoding not in _UTF8 or len(dialect.header) < 2:
        return None
    delimiters = 0
    with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as file:
        while chunk := file.read(_CHUNK):
            if dialect.quote.encode() in chunk:
                return None
            delimiters += chunk.count(dialect.delimiter.encode())
    try:
        table = pl.read_csv(
            source, separator=dialect.delimiter, quote_char=None, infer_schema=False, glob=False
        )
    except pl.exceptions.PolarsError:
        return None
    needed = (table.height + 1) * (len(dialect.header) - 1)
    return table if tuple(table.columns) == dialect.header and delimiters == needed else None


def _dialect(beginning: bytes, reading: Reading, where: str) -> Dialect:
    if len(beginning) == _BEGINNING and b"\n" not in beginning and b"\r" not in beginning:
        raise TableError(
            f"the first line is longer than {_BEGINNING:,} bytes",
            where=where,
            remedy="put each row on its own line, and keep only the columns that the policy names",
        )
    try:
        return detect_dialect(beginning, reading)
    except (UnicodeError, LookupError):
        raise TableError(
            f"the file is not in the encoding {reading.encoding!r}",
            where=where,
            remedy="correct encoding in the section [reading] of the policy, or remove it",
        ) from None
    except csv.Error:  # a name of more letters than the standard library reads
        raise unreadable(where) from None


def check_header(dialect: Dialect, where: str) -> None:
    """Refuse too many columns, and columns without a unique name."""
    check_number(len(dialect.header))
    problems = []
    unnamed = [number for number, name in enumerate(dialect.header, 1) if not name.strip()]
    if unnamed:
        problems.append(f"column {', '.join(map(str, unnamed))} has no name in the first line")
    problems += repeated(dialect.header)
    if not dialect.header or problems:
        raise TableError(
            "the first line does not name the columns",
            where=where,
            remedy="give every column a unique name in the first line",
            problems=problems,
        )


def _parse(source: Path | bytes, dialect: Dialect, where: str) -> pa.Table:
    ragged: list[Any] = []

    def note_ragged_line(row: Any) -> str:
        ragged.append(row.number)
        return "skip"

    def parse(*, use_threads: bool) -> pa.Table:
        plain = dialect.encoding in _UTF8
        return arrow_csv.read_csv(
            str(source) if isinstance(source, Path) else io.BytesIO(source),
            read_options=arrow_csv.ReadOptions(
                use_threads=use_threads, encoding="utf8" if plain else dialect.encoding
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote,
                newlines_in_values=True,
                invalid_row_handler=note_ragged_line,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in dialect.header},
                strings_can_be_null=True,
                null_values=[""],
            ),
        )

    # If a ragged line is not UTF-8, Arrow reports it only through a hook that prints.
    before, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        table = parse(use_threads=True)
        if ragged:
            # Arrow numbers the lines only when one thread reads them.
            ragged.clear()
            parse(use_threads=False)
    finally:
        sys.unraisablehook = before
    if ragged:
        named = ", ".join(map(str, sorted(ragged)[:_LINES_NAMED]))
        raise TableError(
            f"{counted(len(ragged), 'line has', 'lines have')} more or fewer cells than the first "
            f"line ({len(dialect.header)})",
            where=f"{where}, line{'s' * (len(ragged) > 1)} {named}"
            + (" ..." if len(ragged) > _LINES_NAMED else ""),
            remedy="repair what is wrong, or set delimiter and quote in the section [reading]",
        )
    return table


def _decompressed(source: Path | bytes, where: str) -> bytes:
    try:
        return gzip.decompress(source if isinstance(source, bytes) else source.read_bytes())
    except (EOFError, OSError, zlib.error):
        raise TableError(
            "the compressed file is damaged or cut short",
            where=where,
            remedy="compress the table again",
        ) from None


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_BEGINNING)


def unreadable(where: str) -> TableError:
    """The error for a file that cannot be read as CSV."""
    return TableError(
        "the file cannot be read as CSV",
        where=where,
        remedy="set encoding, delimiter and quote in the section [reading] of the policy",
    )
