"""Whether a table has names for its columns, or the cells of its first person in their place.

The one rule for names of columns in messages: where there is a policy, names are shown that the
policy has, and, if the table has at least half of these, those that are spelt nearly like one of
them. Where there is none yet, as in ``init``, names are shown once `check_names` took them for
names. Everywhere else, as while a table is read, a column is called by its position: "column 3".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.cells import read_text
from serigraph.tables.vocabulary import is_known_word

MOST_COLUMNS = 10_000  # of a table
MOST_GUESSED = 1_000  # columns whose roles are guessed, which takes milliseconds for each
_NAMED = 5
_WRITTEN_AS_CELLS = re.compile(r"[+-]?[\d.,/:\s-]*\d[\d.,/:\s%-]*|\S+@\S+")  # numbers, dates, mail
_YEAR = re.compile(r"(19|20)\d\d")  # tables have a column for each year, at times


def repeated(names: Sequence[str]) -> list[str]:
    """Which columns have one name, by their positions.

    >>> repeated(["id", "x", "x", "id"])
    ['columns 1, 4 have the same name', 'columns 2, 3 have the same name']
    """
    positions: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names, 1):
        positions[name].append(number)
    return [
        f"columns {', '.join(map(str, found))} have the same name"
        for name, found in positions.items()
        if len(found) > 1 and name.strip()
    ]


def check_number(columns: int, most: int = MOST_COLUMNS) -> None:
    """Refuse a table with too many columns to process in reasonable time."""
    if columns > most:
        raise TableError(
            f"the table has {columns:,} columns; at most {most:,} can be read",
            remedy="keep the id, the sensitive column, and the columns that outsiders may know",
        )


def check_names(table: pl.DataFrame, named: Sequence[str]) -> None:
    """Refuse a table whose columns seem to be called by cells: of a file without a header, the
    first line. Not checked if a column was ``named``: then the names are known."""
    if any(name in table.columns for name in named):
        return
    wrong = [
        f"column {number}: {why}"
        for number, column in enumerate(table.get_columns(), 1)
        if (why := _why_no_name(column))
    ]
    if not wrong and not any(map(is_known_word, table.columns)):
        wrong = ["no column has a familiar name, such as id, age or diagnosis"]
    if wrong:
        more = [f"and {len(wrong) - _NAMED:,} more"] if len(wrong) > _NAMED else []
        raise TableError(
            "the first line does not seem to name the columns",
            remedy="add a first line with the column names; if it does name them, give the id "
            "column with --person COLUMN",
            problems=[*wrong[:_NAMED], *more],
        )


def _why_no_name(column: pl.Series) -> str:
    name = column.name.strip()
    if _WRITTEN_AS_CELLS.fullmatch(name) and not _YEAR.fullmatch(name):
        return "its name is a number, a date or an address"
    # Polars takes a name like ^...$ for a pattern, of a series too.
    cells = read_text(column.alias("cells"), Reading())[0].drop_nulls()
    if (cells == name).any():
        return "a cell is the same as its name"
    if re.search(r"\d", name) and len(cells) and (_shapes(cells) == _shape(name)).all():
        return "its name is written like its cells"
    return ""


def _shapes(texts: pl.Series) -> pl.Series:
    return texts.str.replace_all(r"\p{L}", "a").str.replace_all(r"\d", "9")


def _shape(text: str) -> str:
    return str(_shapes(pl.Series([text]))[0])
