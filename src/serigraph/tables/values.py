"""The sensitive values of each row, in whichever form the table has them."""

from __future__ import annotations

import numpy as np
import polars as pl

from serigraph.policy import Policy
from serigraph.tables.canonical import canonical
from serigraph.tables.cells import read_categories
from serigraph.tables.rows import counted, rows_where


def read_values(column: pl.Series, policy: Policy) -> tuple[pl.DataFrame, list[str]]:
    """One line (``row``, ``value``) for each value of each row, and what is wrong.

    Values are an Enum of all of them, ascending. Rows count from 0; blanks are left out. A row
    without a value has no line, which is wrong if the policy says so.
    """
    rows = pl.int_range(len(column), dtype=pl.UInt32, eager=True)
    cells = pl.DataFrame({"row": rows, "value": column})
    form = policy.sensitive.form
    problems: list[str] = []
    if form == "list":
        if not isinstance(column.dtype, pl.List | pl.Array):
            problems = [
                f"column {column.name!r} holds {column.dtype}, where lists are expected "
                '(form = "list" of [sensitive])'
            ]
            cells = cells.clear()
        else:
            cells = cells.explode("value")
    elif form == "delimited":
        text, problems = canonical(column, "value", policy.reading)
        parts = text.str.split(policy.sensitive.delimiter or "")
        cells = cells.with_columns(value=parts).explode("value")
    text, wrong = read_categories(cells["value"].alias(column.name), policy.reading)
    problems += wrong
    values = cells.with_columns(value=text).drop_nulls()
    if policy.sensitive.missing == "error" and not problems and not values["row"].equals(rows):
        empty = ~rows.is_in(values["row"].implode())
        if empty.any():
            number = int(empty.sum())
            problems = [
                f"column {column.name!r}: {counted(number, 'row')} "
                f"{'has' if number == 1 else 'have'} no value, {rows_where(empty)}"
            ]
    return values, problems


def value_sets(people: int, person_of_value: pl.Series, values: pl.Series) -> pl.Series:
    """For each of so many people its values, ascending and without repetition, as a list."""
    everybody = pl.int_range(people, dtype=pl.UInt32, eager=True)
    if len(values) == people and not person_of_value.equals(everybody):
        place = np.full(people, people, dtype=np.uint32)
        place[person_of_value.to_numpy()] = np.arange(people, dtype=np.uint32)
        if (place < people).all():  # everybody has one value
            person_of_value, values = everybody, values.gather(place)
    if len(values) == people and person_of_value.equals(everybody):
        return values.reshape((people, 1)).arr.to_list()
    pairs = pl.DataFrame({"person": person_of_value.cast(pl.UInt32), "value": values})
    in_order = pairs.unique().sort("person", "value").group_by("person", maintain_order=True)
    sets = pl.DataFrame({"person": everybody}).join(
        in_order.agg("value"), on="person", how="left", maintain_order="left"
    )["value"]
    nothing = pl.Series([[]], dtype=sets.dtype)
    return sets.zip_with(sets.is_not_null(), nothing)
