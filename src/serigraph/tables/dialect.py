"""How a CSV file is written: encoding, delimiter and quotes, detected from its beginning."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass

from serigraph.policy import Reading

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50
_SAMPLE = 1 << 16  # letters; the standard library reads no cells that are longer than twice that


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a reader of the file has to know."""

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
