"""The formats of public files, one row of a table each, and how CSV files are written so that they
can be read back exactly.

CSV files are UTF-8 with commas, double quotes where a cell needs them, and an empty cell for no
value. A set of values is one cell: a semicolon stands between its values, and a backslash before
every semicolon or backslash that belongs to a value.

Spreadsheets run a cell as a formula if it begins with ``=``, ``+``, ``-`` or ``@``, and may split
cells at semicolons, tabs and line ends; no cell begins with a blank. An apostrophe before such a
beginning makes it text. A number is not a formula, whatever its sign. A beginning that already
has apostrophes always gets one more, so that removing one restores what was there.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import polars as pl

from serigraph.policy import Reading
from serigraph.recoding.labels import as_text

Formulas = Literal["quote", "refuse", "keep"]
DIALECT = Reading(delimiter=",", quote='"', encoding="utf-8")

_ARROW_SCHEMA = "ARROW:schema"  # where Parquet files say which types of Arrow they hold
_VALUE = r"(?s)(?:[^;\\]|\\.|\\$)+"  # up to the next semicolon without a backslash before it
_BEGIN = r"(^|[;\t\r\n])"
_FORMULA = "[=+@\uff1d\uff0b\uff0d\uff20-]"  # also as wide letters
_NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"


def is_formula(text: pl.Expr) -> pl.Expr:
    """Whether a spreadsheet would run a text, whole or in part.

    >>> texts = pl.DataFrame({"t": ["=1+1", "-5", "-5+A1", "a;@b", "[-5, 3]"]})
    >>> texts.select(is_formula(pl.col("t")))["t"].to_list()
    [True, False, True, True, False]
    """
    return text.str.contains(_BEGIN + _FORMULA) & ~text.str.contains(_NUMBER)


def like_formulas(texts: Iterable[str]) -> list[str]:
    """Those of some texts that a spreadsheet would run."""
    given = pl.DataFrame({"text": list(texts)}, schema={"text": pl.String})
    return given.filter(is_formula(pl.col("text")))["text"].to_list()


def texts_like_formulas(table: pl.DataFrame) -> dict[str, list[str]]:
    """The different texts of each column that a spreadsheet would run."""
    found = {}
    for column in table.select(pl.selectors.enum()):
        texts = pl.DataFrame({"text": cast(pl.Enum, column.dtype).categories})
        alike = texts.filter(is_formula(pl.col("text")))["text"]
        if len(alike):  # rows are looked at only if there is reason to
            alike = alike.filter(alike.is_in(column.unique().cast(pl.String).implode()))
        found[column.name] = alike.to_list()
    return found


def quoted(text: pl.Expr, formulas: Formulas) -> pl.Expr:
    """A text as written to a CSV file.

    >>> texts = pl.DataFrame({"t": ["=1+1", "-5", "'=1", "flu"]})
    >>> texts.select(quoted(pl.col("t"), "quote"))["t"].to_list()
    ["'=1+1", '-5', "''=1", 'flu']
    >>> texts.select(quoted(pl.col("t"), "keep"))["t"].to_list()
    ['=1+1', '-5', "''=1", 'flu']
    """
    some = "*" if formulas == "quote" else "+"
    with_one_more = text.str.replace_all(f"{_BEGIN}('{some}{_FORMULA})", "${1}'${2}")
    return pl.when(text.str.contains(_NUMBER)).then(text).otherwise(with_one_more)


def unquoted(text: pl.Expr) -> pl.Expr:
    """What ``quoted`` was given.

    >>> texts = pl.DataFrame({"t": ["'=1+1", "-5", "''=1", "'s-Hertogenbosch"]})
    >>> texts.select(unquoted(pl.col("t")))["t"].to_list()
    ['=1+1', '-5', "'=1", "'s-Hertogenbosch"]
    """
    return text.str.replace_all(f"{_BEGIN}'('*{_FORMULA})", "${1}${2}")


def as_cells(sets: pl.Series, formulas: Formulas = "quote") -> pl.Series:
    r"""Each set as one text.

    >>> as_cells(pl.Series([["flu", "HIV; stage 2"], ["a\\b", "@c"], []])).to_list()
    ['flu;HIV\\; stage 2', "a\\\\b;'@c", '']
    """
    escaped = (
        quoted(pl.element(), formulas)
        .str.replace_all("\\", "\\\\", literal=True)
        .str.replace_all(";", "\\;", literal=True)
    )
    return sets.list.eval(escaped).list.join(";")


def as_sets(cells: pl.Series) -> pl.Series:
    r"""The sets again; no text is the empty set.

    >>> as_sets(pl.Series(["flu;HIV\\; stage 2", "a\\\\b;'@c", None])).to_list()
    [['flu', 'HIV; stage 2'], ['a\\b', '@c'], []]
    """
    values = cells.fill_null("").str.extract_all(_VALUE)
    return values.list.eval(unquoted(pl.element().str.replace_all(r"\\([;\\])", "$1")))


def as_written(table: pl.DataFrame, formulas: Formulas) -> pl.DataFrame:
    """A table with one text for each cell that is not a number or a date, as its file has it."""

    def written(column: pl.Series) -> pl.Series:
        if isinstance(column.dtype, pl.List):
            return as_cells(column, formulas)
        if isinstance(column.dtype, pl.Enum):
            names = _each(column.dtype.categories, quoted(pl.all(), formulas))
            return names.cast(pl.Enum(names)).gather(column.to_physical()).alias(column.name)
        is_text = column.dtype == pl.String
        if is_text and column.str.contains(f"{_BEGIN}'*{_FORMULA}").any():
            return _each(column, quoted(pl.all(), formulas))
        return column

    return pl.DataFrame([written(column) for column in table.get_columns()])


def as_meant(table: pl.DataFrame, sets: Collection[str] = ()) -> pl.DataFrame:
    """What ``as_written`` was given, of a file that was read as text; ``sets`` are the columns that
    hold sets."""

    def meant(column: pl.Series) -> pl.Series:
        if column.name in sets:
            return as_sets(column).alias(column.name)
        return _each(column, unquoted(pl.all())) if column.dtype == pl.String else column

    return pl.DataFrame([meant(column) for column in table.get_columns()])


def _each(texts: pl.Series, change: pl.Expr) -> pl.Series:
    return texts.to_frame().select(change).to_series()


Write = Callable[[pl.DataFrame, Path, Formulas], None]
Read = Callable[[Path], pl.DataFrame]


@dataclass(frozen=True)
class OutputFormat:
    """How a public table becomes a file, and a file a table again."""

    write: Write
    read: Read


def _write_csv(table: pl.DataFrame, path: Path, formulas: Formulas) -> None:
    as_written(table, formulas).write_csv(path)


def _read_csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, glob=False, infer_schema=False)


def _write_parquet(table: pl.DataFrame, path: Path, _formulas: Formulas) -> None:
    """Write Enums as dictionaries; readers see text."""
    schema = as_text(table.clear()).to_arrow().schema.serialize()
    table.write_parquet(
        path,
        compression="zstd",
        compression_level=1,  # the default takes longer and saves less than a hundredth
        statistics=False,  # with random numbers in random order, they do not help to search
        metadata={_ARROW_SCHEMA: b64encode(schema).decode()},
    )


def _read_parquet(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path, glob=False)


# By the ending of the file; where a release has several, the last one is read. A new format is a
# row here and a word in ``Output.files`` of the policy.
FORMATS: Mapping[str, OutputFormat] = {
    "csv": OutputFormat(_write_csv, _read_csv),
    "parquet": OutputFormat(_write_parquet, _read_parquet),
}
