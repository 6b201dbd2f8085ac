"""Naming rows in errors: by their number in the table, counted from 1, never by what they hold."""

from __future__ import annotations

import re

import polars as pl

_NAMED = 5
_ROWS = re.compile(r",? rows? \d+(?:, \d+)*(?: and \d+ more)?")


def rows_where(is_wrong: pl.Series) -> str:
    """The first rows for which a boolean series is true.

    >>> rows_where(pl.Series([False, True, None, True]))
    'rows 2, 4'
    """
    numbers = (is_wrong.fill_null(False).arg_true() + 1).to_list()
    named = ", ".join(map(str, numbers[:_NAMED]))
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    return f"{'row' if len(numbers) == 1 else 'rows'} {named}{more}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "cell"), counted(12, "cell"), counted(2, "person", "people")
    ('1 cell', '12 cells', '2 people')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def without_rows(problem: str) -> str:
    """The same problem where rows have no numbers, as in a table that many machines read.

    >>> without_rows("column 'age': text in 2 cells, rows 2, 4: correct them")
    "column 'age': text in 2 cells: correct them"
    """
    return _ROWS.sub("", problem)
