"""How public CSV files are written, so that they can be read back exactly.

They are UTF-8 with commas, double quotes where a cell needs them, and an empty cell for no value. A
set of values is one cell: a semicolon stands between its values, and a backslash before every
semicolon or backslash that belongs to a value.
"""

from __future__ import annotations

import polars as pl

from serigraph.policy import Reading

DIALECT = Reading(delimiter=",", quote='"', encoding="utf-8")

_VALUE = r"(?s)(?:[^;\\]|\\.|\\$)+"  # up to the next semicolon without a backslash before it


def as_cells(sets: pl.Series) -> pl.Series:
    r"""Each set as one text.

    >>> as_cells(pl.Series([["flu", "HIV; stage 2"], ["a\\b"], []])).to_list()
    ['flu;HIV\\; stage 2', 'a\\\\b', '']
    """
    escaped = (
        pl.element()
        .str.replace_all("\\", "\\\\", literal=True)
        .str.replace_all(";", "\\;", literal=True)
    )
    return sets.list.eval(escaped).list.join(";")


def as_sets(cells: pl.Series) -> pl.Series:
    r"""The sets again; no text is the empty set.

    >>> as_sets(pl.Series(["flu;HIV\\; stage 2", "a\\\\b", None])).to_list()
    [['flu', 'HIV; stage 2'], ['a\\b'], []]
    """
    values = cells.fill_null("").str.extract_all(_VALUE)
    return values.list.eval(pl.element().str.replace_all(r"\\([;\\])", "$1"))
