"""Builds taxonomies from the values of a column: by masks, intervals, dates, an order, other
columns of the table, or a file; and says whether one covers a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from serigraph.arguments import several
from serigraph.errors import InputRefused, TableError, TaxonomyError
from serigraph.model import Taxonomy
from serigraph.policy import Reading, read_policy
from serigraph.privacy.thresholds import exact_number
from serigraph.short_repr import ShortRepr
from serigraph.tables.cells import counted, read_dates, read_numbers, read_text, rows_where
from serigraph.tables.people import missing_columns
from serigraph.tables.reading import read_table
from serigraph.tables.taxonomies import read_taxonomy, taxonomy_text
from serigraph.tables.tree_drawing import drawn, outline

By = Literal["mask", "intervals", "dates", "order", "columns", "file"]
Part = int | float | str | os.PathLike[str]
Rows = list[list[str]]

_ROOT = "*"
_DATES: Mapping[str, Callable[[date], str]] = {
    "month": lambda day: f"{day:%Y-%m}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10 * 10:04}-{day.year // 10 * 10 + 9:04}",
}


@dataclass(frozen=True, repr=False)
class BuiltTaxonomy(ShortRepr):
    """A taxonomy for a column of a table, all of whose values it has."""

    column: str
    by: By
    taxonomy: Taxonomy
    values: int  # different ones in the table

    @property
    def text(self) -> str:
        """The file: a line for each leaf, which is followed by its ancestors."""
        return taxonomy_text(self.taxonomy)

    @property
    def tree(self) -> str:
        """The tree as lines of text."""
        return outline(self.taxonomy)

    @property
    def svg(self) -> str:
        """The tree as a picture."""
        return drawn(self.taxonomy, f"Taxonomy of {self.column}")

    def _facts(self) -> Mapping[str, object]:
        return {
            "column": self.column,
            "by": self.by,
            "leaves": f"{len(self.taxonomy.leaves):,}, {self.values:,} of them in the table",
            "levels": len(self.taxonomy.paths[0]),
        }

    def _pictures(self) -> str:
        return self.svg


def build_taxonomy(
    table: Any,
    column: str,
    *,
    by: By,
    parts: Part | Sequence[Part] = (),
    query: str = "",
    series: str | os.PathLike[str] | None = None,
) -> BuiltTaxonomy:
    """A taxonomy that has every value of a column; nothing is written.

    ``by`` says how values come together, and ``parts`` with what: ``"mask"``, how many characters
    each level keeps (by default one less than the level below); ``"intervals"``, the widths of the
    intervals, each a multiple of the one before; ``"dates"``, levels among month, quarter, year
    and decade; ``"order"``, the values from first to last, of which neighbours are joined in pairs;
    ``"columns"``, the columns of the table with the parents, from the lowest level up; ``"file"``,
    a taxonomy of one's own or of ARX. ``series`` gives the section [reading] of its policy,
    ``query`` chooses the table of a database.

    Raises ``TaxonomyError`` if it is no tree, or lacks a value of the table.
    """
    if by not in get_args(By):
        raise InputRefused(
            f"a taxonomy cannot be built by {by!r}", remedy=f"use one of: {', '.join(get_args(By))}"
        )
    reading = Reading() if series is None else read_policy(Path(series) / "policy.toml").reading
    rows = read_table(table, reading.asking(query))
    given = several(parts)
    above = [str(part) for part in given] if by == "columns" else []
    if lacking := missing_columns(rows, [column, *above], "the table"):
        raise TableError("columns are missing", remedy="correct the names", problems=lacking)
    cells, problems = read_text(rows[column], reading)
    if problems:
        raise TableError("the column cannot be read", remedy="correct it", problems=problems)
    values = cells.drop_nulls().unique().sort()
    if values.is_empty():
        raise TableError(f"column {column!r} has no value", remedy="give another table")
    taxonomy = _built(by, given, values, rows, cells, reading)
    lacking_rows = ~cells.is_in(list(taxonomy.leaves)) & cells.is_not_null()
    if lacking_rows.any():
        number = cells.filter(lacking_rows).n_unique()
        raise TaxonomyError(
            f"{counted(number, 'value')} of column {column!r} "
            f"{'is' if number == 1 else 'are'} not in the taxonomy",
            where=f"the table, {rows_where(lacking_rows)}",
            remedy="add what is missing",
        )
    return BuiltTaxonomy(column, by, taxonomy, len(values))


def _built(
    by: By,
    parts: Sequence[Part],
    values: pl.Series,
    table: pl.DataFrame,
    cells: pl.Series,
    reading: Reading,
) -> Taxonomy:
    if by == "file":
        if len(parts) != 1:
            raise InputRefused("one taxonomy file is needed", remedy="give its path as the part")
        return read_taxonomy(Path(os.fspath(str(parts[0]))))
    rows = {
        "mask": lambda: _masked(values.to_list(), _whole(parts)),
        "intervals": lambda: _intervals(values, _numbers(parts), reading),
        "dates": lambda: _by_date(values, [str(part) for part in parts], reading),
        "order": lambda: _in_order([str(part) for part in parts]),
        "columns": lambda: _above(cells, [table[str(part)] for part in parts], reading),
    }[by]()
    return Taxonomy.from_rows(rows)


def _masked(values: Sequence[str], kept: Sequence[int]) -> Rows:
    """The first characters are kept; a star stands for each of the others.

    >>> _masked(["651", "208", "65"], [])[2]
    ['65', '65*', '6**', '*']
    """
    longest = max(map(len, values))
    levels = list(kept) or list(range(longest - 1, 0, -1))
    if levels != sorted(set(levels), reverse=True) or not all(0 < n < longest for n in levels):
        raise InputRefused(
            f"the characters kept do not fall from below {longest} to 1",
            remedy=f"give them from the lowest level up, such as {longest - 1}, ... 1",
        )
    return [
        [each, *(each[:keep] + "*" * (longest - keep) for keep in levels), _ROOT] for each in values
    ]


def _intervals(values: pl.Series, widths: Sequence[Fraction], reading: Reading) -> Rows:
    """Intervals from multiples of each width; the upper end is not in it."""
    if not widths or any(wide <= 0 for wide in widths):
        raise InputRefused(
            "intervals need widths above zero", remedy="give one or more, such as 5 and 20"
        )
    for narrow, wide in pairwise(widths):
        if wide <= narrow or wide % narrow:
            raise InputRefused(
                f"the width {wide} is not a multiple of {narrow}",
                remedy="give widths of which each is a multiple of the one before",
            )
    _, problems = read_numbers(values, reading)
    numbers = [_number_of(text, reading) for text in values]
    if problems or None in numbers:
        # Their rows would be those of the distinct values.
        raise TableError(
            f"column {values.name!r} holds other things than numbers, or numbers that may be read "
            "in two ways",
            remedy="set decimal or null_values in [reading], and give --series",
        )
    known = [
        (number, text) for number, text in zip(numbers, values, strict=True) if number is not None
    ]
    return [
        [text, *(_interval(number, width) for width in widths), _ROOT]
        for number, text in sorted(known)
    ]


def _interval(number: Fraction, width: Fraction) -> str:
    """
    >>> _interval(Fraction(34), Fraction(5)), _interval(Fraction("-0.1"), Fraction("0.25"))
    ('[30, 35[', '[-0.25, 0[')
    """
    low = number // width * width
    return f"[{_decimal(low)}, {_decimal(low + width)}["


def _decimal(number: Fraction) -> str:
    """
    >>> _decimal(Fraction("0.30")), _decimal(Fraction(1, 3)), _decimal(Fraction(100))
    ('0.3', '1/3', '100')
    """
    written = Decimal(number.numerator) / Decimal(number.denominator)
    return f"{written:f}" if Fraction(written) == number else str(number)


def _number_of(text: str, reading: Reading) -> Fraction | None:
    plain = text if reading.decimal == "." else text.replace(",", ".")
    try:
        return None if "/" in plain else exact_number(plain)
    except ValueError:
        return None


def _by_date(values: pl.Series, levels: Sequence[str], reading: Reading) -> Rows:
    chosen = levels or ("month", "year", "decade")
    order = [list(_DATES).index(level) for level in chosen if level in _DATES]
    if len(order) < len(chosen) or order != sorted(set(order)):
        raise InputRefused(
            "levels of dates are month, quarter, year and decade, in this order",
            remedy="give some of them, such as month and year",
        )
    days, problems = read_dates(values, reading)
    if problems:
        raise TableError(
            f"column {values.name!r} holds other things than dates, or dates that may be read in "
            "two ways",
            remedy="set date_format or null_values in [reading], and give --series",
        )
    return [
        [text, *(_DATES[level](day) for level in chosen), _ROOT]
        for day, text in sorted(zip(days, values, strict=True))
    ]


def _in_order(values: Sequence[str]) -> Rows:
    """Neighbours are joined in pairs, pairs in fours, and so on.

    >>> for row in _in_order(["low", "middle", "high"]):
    ...     print(row)
    ['low', 'low to middle', '*']
    ['middle', 'low to middle', '*']
    ['high', 'high', '*']
    """
    if len(values) < 2 or len(set(values)) < len(values):
        raise InputRefused(
            "an order needs two or more different values", remedy="give each value once, in order"
        )
    levels = [list(values)]
    width = 2
    while width < len(values):
        joined = [values[at : at + width] for at in range(0, len(values), width)]
        names = [each[0] if len(each) == 1 else f"{each[0]} to {each[-1]}" for each in joined]
        levels.append([names[place // width] for place in range(len(values))])
        width *= 2
    return [[*row, _ROOT] for row in zip(*levels, strict=True)]


def _above(cells: pl.Series, columns: Sequence[pl.Series], reading: Reading) -> Rows:
    """Each value below what the other columns hold beside it, which must always be the same."""
    if not columns:
        raise InputRefused(
            "the columns with the parents are missing", remedy="name them, the lowest level first"
        )
    names = [f"level {number}" for number in range(len(columns) + 1)]
    texts = [read_text(column, reading)[0] for column in columns]
    found = pl.DataFrame(
        [column.alias(name) for column, name in zip([cells, *texts], names, strict=True)]
    )
    found = found.filter(pl.col(names[0]).is_not_null()).unique().sort(names[::-1])
    problems = []
    for child, parent, column in zip(names, names[1:], columns, strict=False):
        empty = found.filter(pl.col(parent).is_null()).height
        if empty:
            problems.append(f"{counted(empty, 'value')} without a parent in column {column.name!r}")
        several = found.select(child, parent).unique()[child].drop_nulls().is_duplicated().sum()
        if several:
            problems.append(f"values with several parents in column {column.name!r}")
    if problems:
        raise TaxonomyError(
            "the columns make no tree",
            remedy="give every value one parent in every row of the table",
            problems=problems,
        )
    return [[*row, _ROOT] for row in found.iter_rows()]


def _whole(parts: Iterable[Part]) -> list[int]:
    numbers = _numbers(parts)
    if any(number.denominator != 1 for number in numbers):
        raise InputRefused("a number of characters is not whole", remedy="give whole numbers")
    return [int(number) for number in numbers]


def _numbers(parts: Iterable[Part]) -> list[Fraction]:
    try:
        return [exact_number(str(part)) for part in parts]
    except ValueError as error:
        raise InputRefused(f"a part is not right: {error}", remedy="give numbers") from None
