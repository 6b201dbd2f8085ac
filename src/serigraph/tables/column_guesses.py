"""What a column looks like: its kind, and the texts that stand for missing cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from serigraph.policy import Reading
from serigraph.tables.cells import fitting_date_formats, read_numbers, read_text, without_time
from serigraph.tables.vocabulary import DATE, DIGIT_CODE, says

LIKELY_MISSING = ("NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", ".", "-", "?")
_NEVER_MEANT = ("?",)  # the others may be categories: Namibia is NA
_PLAIN = Reading()
_TOLERANT = Reading(null_values=LIKELY_MISSING)


@dataclass(frozen=True, slots=True)
class ColumnGuess:
    """The kind that a column seems to have, and what reading it so needs."""

    kind: Literal["numeric", "date", "categorical", "unusable"]
    is_digit_code: bool = False
    missing_texts: tuple[str, ...] = ()
    date_formats: tuple[str, ...] = ()  # those that fit all of its cells; none needed if empty


def guess_column(column: pl.Series) -> ColumnGuess:
    """The kind of a column, from its cells and its name."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration):
        return ColumnGuess("unusable")
    if column.dtype in (pl.Date, pl.Datetime):
        return ColumnGuess("date")
    plain, _ = read_text(column, _PLAIN)
    text, _ = read_text(column, _TOLERANT)
    distinct = text.drop_nulls().unique()
    if distinct.is_empty():
        return ColumnGuess("unusable")
    missing = tuple(plain.drop_nulls().filter(plain.drop_nulls().is_in(LIKELY_MISSING)).unique())
    if _is_digit_code(column.name, distinct, was_text=column.dtype == pl.String):
        return ColumnGuess("categorical", is_digit_code=True, missing_texts=tuple(sorted(missing)))
    formats = _date_formats(column.name, distinct)
    if formats:
        return ColumnGuess("date", missing_texts=tuple(sorted(missing)), date_formats=formats)
    if column.dtype != pl.Boolean and not read_numbers(column, _TOLERANT)[1]:
        return ColumnGuess("numeric", missing_texts=tuple(sorted(missing)))
    unmistakable = tuple(text for text in _NEVER_MEANT if text in missing)
    return ColumnGuess("categorical", missing_texts=unmistakable)


def masked_digits(codes: pl.Series) -> bytes:
    """A taxonomy of digit codes: digits are masked from the right, level by level.

    >>> masked_digits(pl.Series(["651", "208"])).decode()
    '208;20*;2**;*\\n651;65*;6**;*\\n'
    """
    distinct = codes.drop_nulls().unique().sort().to_list()
    longest = max(map(len, distinct))
    lines = []
    for code in distinct:
        levels = [code[: len(code) - hidden] + "*" * hidden for hidden in range(len(code))]
        # Shorter codes reach the root earlier; every line needs equally many levels.
        lines.append(";".join(levels + ["*"] * (longest + 1 - len(levels))) + "\n")
    return "".join(lines).encode()


def _is_digit_code(name: str, distinct: pl.Series, *, was_text: bool) -> bool:
    if not distinct.str.contains(r"^\d{2,10}$").all():
        return False
    lengths = distinct.str.len_chars()
    has_leading_zero = distinct.str.starts_with("0").any()
    alike = lengths.min() == lengths.max()
    return says(name, DIGIT_CODE) or bool(was_text and has_leading_zero and alike)


def _date_formats(name: str, distinct: pl.Series) -> tuple[str, ...]:
    text = without_time(distinct).unique()
    # Eight digits are a date only if the name says so.
    if text.str.contains(r"^\d+$").all() and not says(name, DATE):
        return ()
    return tuple(fitting_date_formats(text))
