"""Finds the sensitive column and how it holds its values; if not clear, asks the publisher."""

from __future__ import annotations

from typing import Literal

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.cells import counted, read_numbers, read_text
from serigraph.tables.column_guesses import ColumnGuess
from serigraph.tables.naming_columns import why_it_names_people
from serigraph.tables.person_column import called
from serigraph.tables.vocabulary import AMOUNT, QUASI_IDENTIFIER, SENSITIVE, is_count, says, words

Form = Literal["single", "rows", "list", "delimited"]
_NAMED = 12
_REPEATED = 5  # times: numbers that occur as often may be codes of something


def find_sensitive(
    table: pl.DataFrame, guesses: dict[str, ColumnGuess], person: str
) -> tuple[str, str]:
    """The sensitive column, and a note where it should be checked.

    Raises ``TableError`` that asks for ``--sensitive``, with all candidates, where it is not clear.
    """
    rows_repeat = _cells(table[person]).n_unique() < table.height

    def usable(name: str) -> bool:
        return name != person and _can_be_sensitive(table[name], guesses[name], rows_repeat)

    for pattern in SENSITIVE.split():
        named = [name for name in table.columns if says(name, pattern) and usable(name)]
        plainest = [name for name in named if len(words(name)) == 1]
        if len(named) == 1 or len(plainest) == 1:
            return (plainest or named)[0], ""
        if named:
            raise _question(table, named, "several columns have names that suggest it")
    others = [
        name
        for name in table.columns
        if not says(name, QUASI_IDENTIFIER) and called(name) == "anything" and usable(name)
    ]
    lists = [name for name in others if table.schema[name].is_nested()]
    if len(lists) == 1:
        return lists[
            0
        ], f"column {lists[0]!r} is taken as the sensitive column, because it holds lists"
    texts = [name for name in others if guesses[name].kind == "categorical"]
    codes = [
        name
        for name in others
        if guesses[name].kind == "numeric" and _distinct(table[name]) * _REPEATED <= table.height
    ]
    raise _question(table, [*lists, *texts, *codes], "no column name suggests it")


def form_of(column: pl.Series, rows_repeat: bool) -> tuple[Form, str]:
    """How a column holds the values of a person, and the delimiter, empty unless it has one."""
    if isinstance(column.dtype, pl.List | pl.Array):
        return "list", ""
    if rows_repeat:
        return "rows", ""
    cells = _cells(column)
    for delimiter in (";", "|", ","):
        if not cells.str.contains(delimiter, literal=True).any():
            continue
        items = cells.str.split(delimiter).explode().str.strip_chars()
        if delimiter == "," and not read_numbers(cells, Reading())[1]:
            continue  # a decimal comma
        # Names of diseases hold commas; lists repeat their items in many combinations.
        ratio = 2 if delimiter == "," else 1
        if items.n_unique() * ratio < cells.n_unique():
            return "delimited", delimiter
    return "single", ""


def _can_be_sensitive(column: pl.Series, guess: ColumnGuess, rows_repeat: bool) -> bool:
    """Whether its values, published as they are, would name nobody and say something."""
    if isinstance(column.dtype, pl.List | pl.Array):
        return True
    if guess.kind in ("date", "unusable"):
        return False
    form, delimiter = form_of(column, rows_repeat)
    cells = _cells(column)
    if form == "delimited":
        cells = cells.str.split(delimiter).explode().str.strip_chars()
    if guess.kind == "numeric" and (says(column.name, AMOUNT) or is_count(column.name)):
        return False
    return cells.n_unique() > 1 and not why_it_names_people(column.name, cells, guess)


def _cells(column: pl.Series) -> pl.Series:
    return read_text(column, Reading())[0].drop_nulls()


def _distinct(column: pl.Series) -> int:
    return _cells(column).n_unique()


def _question(table: pl.DataFrame, names: list[str], why: str) -> TableError:
    def described(name: str) -> str:
        if table.schema[name].is_nested():
            return f"column {name!r}: lists"
        what = "numbers" if _cells(table[name]).str.contains(r"^\d+$").all() else "texts"
        return f"column {name!r}: {counted(_distinct(table[name]), 'value')}, {what}"

    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return TableError(
        f"it is not clear which column is sensitive: {why}",
        remedy="name the column that nobody should learn about a person: --sensitive COLUMN",
        problems=[*map(described, names[:_NAMED]), *more],
    )
