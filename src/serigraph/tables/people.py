"""One record a person: the rows of a table or of a registry, merged."""

from __future__ import annotations

import difflib

import polars as pl

from serigraph.model import are_in_order
from serigraph.policy import Policy
from serigraph.runtime.threads import parallel_map
from serigraph.tables.canonical import canonical
from serigraph.tables.rows import counted, rows_where

ID = "id"  # in the frames below; the quasi-identifiers are named q0, q1, ... in policy order

_ALIKE = 0.7  # of the letters: names that may be one, misspelt


def column_name(number: int) -> str:
    """The internal name of a quasi-identifier, which no name of the user's can collide with."""
    return f"q{number}"


def missing_columns(frame: pl.DataFrame, needed: list[str], source: str) -> list[str]:
    """Which of the columns that the policy names are not there, each with the nearest that is.

    Other columns are not listed: where a file has no header, its "columns" are a person's cells.
    """
    spelled = {name.casefold(): name for name in frame.columns}
    missing = [name for name in dict.fromkeys(needed) if name not in frame.columns]
    near = {
        name: difflib.get_close_matches(name.casefold(), spelled, 1, _ALIKE) for name in missing
    }
    if missing and not any(near.values()) and not set(needed) & set(frame.columns):
        names = " or ".join(map(repr, missing))
        return [f"{source} has no column {names}: does its first line name the columns?"]
    return [
        f"{source} has no column {name!r}"
        + "".join(f"; did you mean {spelled[each]!r}?" for each in near[name])
        for name in missing
    ]


def read_quasi_identifiers(
    frame: pl.DataFrame, policy: Policy, source: str
) -> tuple[dict[str, pl.Series], list[str]]:
    """The quasi-identifiers that the frame has, each as its kind, and what is wrong with them."""
    columns: dict[str, pl.Series] = {}
    problems: list[str] = []
    found = {name: each for name, each in policy.quasi_identifiers.items() if name in frame.columns}
    read = parallel_map(
        lambda name: canonical(frame[name], found[name].kind, policy.reading), found
    )
    for name, (column, wrong) in zip(found, read, strict=True):
        missing = column.null_count()
        if policy.missing.quasi_identifiers == "error" and missing and not wrong:
            verb = "is" if missing == 1 else "are"
            wrong = [
                f"column {name!r}: {counted(missing, 'cell')} {verb} missing, "
                f"{rows_where(column.is_null())}"
            ]
        columns[name] = column
        problems += [f"{source}: {each}" for each in wrong]
    return columns, problems


def has_repeats(ids: pl.Series) -> bool:
    """Whether somebody has several rows."""
    if are_in_order(ids):
        return False
    if ids.is_sorted():
        return bool((ids.slice(1) == ids.slice(0, max(len(ids) - 1, 0))).any())
    return ids.n_unique() < len(ids)


def repeated_people(ids: pl.Series, source: str, policy: Policy) -> list[str]:
    """That people have several rows, where the policy allows only one."""
    form = policy.sensitive.form
    if form == "rows" or not has_repeats(ids):
        return []
    repeated = ids.is_duplicated() & ids.is_not_null()
    if not repeated.any():
        return []
    people = ids.filter(repeated).n_unique()
    return [
        f"{source}: {counted(people, 'person has', 'people have')} several rows, where form = "
        f'"{form}" allows one row a person, {rows_where(repeated)}: merge them, or set '
        'form = "rows" in [sensitive]'
    ]


def contradicting_rows(ids: pl.Series, columns: dict[str, pl.Series], source: str) -> list[str]:
    """That the rows of one person disagree about a quasi-identifier."""
    if not has_repeats(ids):
        return []
    problems = []
    for name, column in columns.items():
        rows = pl.DataFrame({ID: ids, "cell": column}).with_row_index("row")
        people = (
            rows.unique([ID, "cell"]).filter(pl.col(ID).is_duplicated() & pl.col(ID).is_not_null())
        )[ID].unique()
        if people.is_empty():
            continue
        differing = rows[ID].is_in(people.implode())
        problems.append(
            f"{source}: column {name!r} differs between the rows of "
            f"{counted(len(people), 'person', 'people')}, {rows_where(differing)}"
        )
    return problems


def one_row_a_person(ids: pl.Series, columns: dict[str, pl.Series]) -> pl.DataFrame:
    """The people, ascending by id, with their quasi-identifiers."""
    frame = pl.DataFrame(
        {ID: ids, **{column_name(i): column for i, column in enumerate(columns.values())}}
    )
    if are_in_order(ids):
        return frame
    if not ids.is_sorted():
        frame = frame.sort(ID, maintain_order=True)
    return (
        frame.filter(frame[ID].ne_missing(frame[ID].shift(1))) if has_repeats(frame[ID]) else frame
    )
