"""Releases that any tool made, as they lie on the disk: one generalised table, or two tables that
are linked by a group.

A table that has just the columns of a table of Serigraph is read as Serigraph writes it, so that
our own releases are read back exactly.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.cells import Writing
from serigraph.errors import TableError
from serigraph.ledger.layout import published_names, published_path
from serigraph.policy import Policy
from serigraph.recoding.output import DIALECT, as_meant, as_sets
from serigraph.recoding.records import COLUMN
from serigraph.recoding.tables import COUNT, GROUP, VALUE
from serigraph.short_repr import Undisclosed
from serigraph.tables import read_table
from serigraph.tables.addresses import is_path, name_of
from serigraph.tables.cells import counted, read_text, rows_where
from serigraph.tables.people import missing_columns, qualified_values, read_values, value_sets
from serigraph.texts import qualifier

PAIR = "+"  # between the two files of a bucketised release
_SUPPRESSED = "*"


@dataclass(frozen=True, repr=False)
class ReadRelease(Undisclosed):
    """One release: rows with the cells of the quasi-identifiers, and records with their values.

    ``group`` numbers the groups of a bucketised release row by row and is None for a generalised
    one, whose groups are its regions. ``record_row`` is a row of the record's group.
    """

    label: str
    cells: pl.DataFrame  # the quasi-identifiers as text, in policy order
    writing: Writing  # how the cells are written
    ids: pl.Series | None  # of the rows, if the release shows them
    group: NDArray[np.int64] | None
    record_row: NDArray[np.int64]
    record_values: pl.Series  # List(String), one a record
    is_counted_in_people: bool  # one record a person, as far as the release shows
    notes: tuple[str, ...] = ()  # what the auditor should know


def read_release(source: Any, policy: Policy, number: int) -> ReadRelease:
    """Read one release: a table, a folder with the tables of a release, or a pair of tables.

    A pair is a tuple, or two paths with ``+`` between them. Raises ``TableError`` with all
    problems of the release, and no cell.
    """
    label, parts = _sources(source, number)
    frames = [_read(part, policy) for part in parts]
    if len(frames) == 1:
        return _generalised(label, frames[0], policy)
    return _bucketised(label, frames[0], frames[1], policy)


def _read(part: Any, policy: Policy) -> pl.DataFrame:
    """A table. What the policy says of files is about those that were published, so that a CSV file
    that begins as ours do is read in our own dialect."""
    if isinstance(part, str | os.PathLike):
        if Path(part).is_dir():  # made on Spark: its files are the table
            return pl.concat([_read(file, policy) for file in sorted(Path(part).iterdir())])
        columns = _first_line(Path(part))
        if any(is_ours(columns, policy) for is_ours in _OURS):
            try:
                return _read_ours(part, policy)
            except TableError:
                pass  # another tool wrote it after all
    return read_table(part, policy.reading)


def _read_ours(part: Any, policy: Policy) -> pl.DataFrame:
    """A CSV file of ours; sets of values are still to be read."""
    table = read_table(part, DIALECT)
    if not (_is_table(table.columns, policy) or _are_records(table.columns, policy)):
        return as_meant(table)
    columns = policy.sensitive_columns.items()
    sets = [name for name, how in columns if how.form != "single"]
    return as_meant(table).with_columns(table[name] for name in sets)


def _first_line(path: Path) -> list[str]:
    """The columns of a CSV file in our own dialect."""
    try:
        with path.open(encoding=DIALECT.encoding, newline="") as file:
            return next(csv.reader(file), [])
    except (OSError, UnicodeError, csv.Error):
        return []


def _is_table(columns: list[str], policy: Policy) -> bool:
    """Whether these are the columns of a generalised table of ours."""
    described = len(policy.quasi_identifiers)
    return _are_described(columns[:described], policy) and _are_shown(columns[described:], policy)


def _is_members(columns: list[str], policy: Policy) -> bool:
    """Whether these are the columns of our table of the members of groups."""
    return columns[:1] == [GROUP] and _are_described(columns[1:], policy)


def _is_values(columns: list[str], _policy: Policy) -> bool:
    """Whether these are the columns of our table of what groups hold."""
    return columns in ([GROUP, VALUE, COUNT], _APART)


def _are_records(columns: list[str], policy: Policy) -> bool:
    """Whether these are the columns of our table of the records of groups."""
    return columns[:1] == [GROUP] and _are_shown(columns[1:], policy)


_OURS = (_is_table, _is_members, _is_values, _are_records)
_APART = [GROUP, COLUMN, VALUE, COUNT]


def _are_shown(columns: list[str], policy: Policy) -> bool:
    return sorted(columns) == sorted((*policy.sensitive_columns, *policy.plain))


def _are_described(columns: list[str], policy: Policy) -> bool:
    return sorted(columns) == sorted(policy.quasi_identifiers)


def _sources(source: Any, number: int) -> tuple[str, list[Any]]:
    if isinstance(source, tuple | list):
        return name_of(source[0]) or f"release {number}", list(source)
    if not isinstance(source, str | os.PathLike):
        return f"release {number}", [source]
    if not is_path(os.fspath(source)):
        return name_of(source) or f"release {number}", [source]
    path = Path(source)
    if path.is_dir() and path.suffix not in (".parquet", ".csv"):
        return path.name, _in_folder(path)
    if PAIR in str(source) and not path.exists():
        first, _, second = str(source).partition(PAIR)
        return Path(first).name, [Path(first), Path(second)]
    return path.name, [path]


def _in_folder(folder: Path) -> list[Any]:
    names = published_names(folder)
    if not names:
        raise TableError(
            "the folder does not contain a release",
            where=str(folder),
            remedy="put table.csv in it, or quasi_identifiers.csv and sensitive.csv; "
            "or give the files themselves",
        )
    return [published_path(folder, name) for name in names]


def _generalised(label: str, table: pl.DataFrame, policy: Policy) -> ReadRelease:
    problems = _lacking(table, [*policy.quasi_identifiers, *policy.sensitive_columns])
    if table.height == 0:
        problems.append("it has no rows")
    if problems:
        raise _refusal(label, problems)
    times, problems = _multiplicity(table, policy)
    is_ours = _is_table(table.columns, policy)
    sets, wrong, notes = _sets(table, policy, is_ours)
    if problems or wrong:
        raise _refusal(label, [*problems, *wrong])
    rows = np.repeat(np.arange(table.height), times)
    return ReadRelease(
        label=label,
        cells=_cells(table, policy),
        writing="our labels" if is_ours else "any",
        ids=_shown_ids(table, policy),
        group=None,
        record_row=rows,
        record_values=sets.gather(rows),
        is_counted_in_people=_has_one_row_a_person(table, policy, is_ours),
        notes=tuple(f"{label}: {note}" for note in notes),
    )


def _has_one_row_a_person(table: pl.DataFrame, policy: Policy, is_ours: bool) -> bool:
    if is_ours and policy.shows_records:
        return True
    columns = policy.sensitive_columns.items()
    return all(how.form != "rows" or _holds_lists(table[name]) for name, how in columns)


def _sets(
    table: pl.DataFrame, policy: Policy, is_ours: bool
) -> tuple[pl.Series, list[str], list[str]]:
    """The values of each row as a set, what is wrong, and what to note."""
    read = {
        name: _values(table[name], policy.of_column(name), is_ours)
        for name in policy.sensitive_columns
    }
    values = next(iter(read.values()))[0]
    if policy.has_several_columns:
        values = qualified_values({name: each for name, (each, _, _) in read.items()})
    sets = value_sets(table.height, values["row"], values["value"].cast(pl.String))
    wrong = [problem for _, problems, _ in read.values() for problem in problems]
    return sets, wrong, [note for _, _, notes in read.values() for note in notes]


def _values(
    column: pl.Series, policy: Policy, is_ours: bool
) -> tuple[pl.DataFrame, list[str], list[str]]:
    """The values of each row as ``read_values`` gives them, what is wrong, and what to note.

    A list is a person's set of values in whichever form the raw table has them; so is a cell of a
    CSV file of ours.
    """
    how = policy.only_column
    form = how.form
    notes = []
    if is_ours and form != "single" and column.dtype == pl.String:
        if column.str.contains(r"[;\\]").any() and how.delimiter != ";":
            notes.append("';' separates the values of a cell, as in the files of Serigraph")
        column = as_sets(column).alias(column.name)
    if _holds_lists(column):
        form = "list"
    as_they_are = how.model_copy(update={"form": form})
    values, wrong = read_values(column, policy.model_copy(update={"sensitive": as_they_are}))
    return values, wrong, notes


def _holds_lists(column: pl.Series) -> bool:
    return isinstance(column.dtype, pl.List | pl.Array)


def _bucketised(
    label: str, members: pl.DataFrame, held: pl.DataFrame, policy: Policy
) -> ReadRelease:
    shared = [name for name in members.columns if name in held.columns]
    linking = GROUP if GROUP in shared else next(iter(shared), GROUP)
    problems = _lacking(members, [*policy.quasi_identifiers, linking])
    problems += _lacking(held, [linking, *_shown_columns(held, policy)])
    if problems:
        raise _refusal(label, problems)
    times, problems = _multiplicity(held, policy)
    is_held, sets, wrong = _held(held, policy)
    problems += wrong
    groups, _ = read_text(members[linking], policy.reading)
    linked, _ = read_text(held[linking], policy.reading)
    numbers = groups.cast(pl.Int64, strict=False)
    first_row = pl.DataFrame({"group": groups}).with_row_index("row").unique("group", keep="first")
    found = pl.DataFrame({"group": linked}).join(
        first_row, on="group", how="left", maintain_order="left"
    )["row"]
    if found.null_count():
        problems.append(
            f"{counted(found.null_count(), 'row')} of the sensitive table name a group that has no "
            f"members, {rows_where(found.is_null())}"
        )
    if problems:
        raise _refusal(label, problems)
    rows = np.repeat(found.to_numpy()[is_held], times[is_held])
    is_ours = _is_members(members.columns, policy) and (
        _is_values(held.columns, policy) or _are_records(held.columns, policy)
    )
    return ReadRelease(
        label=label,
        cells=_cells(members, policy),
        writing="our values" if is_ours else "any",
        ids=_shown_ids(members, policy) if linking != policy.person.id else None,
        group=(groups if numbers.null_count() else numbers).rank("dense").cast(pl.Int64).to_numpy()
        - 1,
        record_row=rows.astype(np.int64),
        record_values=sets.gather(np.repeat(np.arange(len(sets)), times[is_held])),
        is_counted_in_people=policy.shows_records and _are_records(held.columns, policy),
    )


def _shown_columns(held: pl.DataFrame, policy: Policy) -> list[str]:
    """The columns that have what groups hold."""
    if policy.shows_records and COLUMN in held.columns and VALUE in held.columns:
        return [COLUMN, VALUE]
    if VALUE in held.columns and not policy.shows_records:
        return [VALUE]
    return list(policy.sensitive_columns)


def _held(held: pl.DataFrame, policy: Policy) -> tuple[NDArray[np.bool_], pl.Series, list[str]]:
    """Which rows are records, or values of records, with the values of each of these; and what is
    wrong."""
    shown = _shown_columns(held, policy)
    if policy.shows_records and shown != [COLUMN, VALUE]:
        sets, wrong, _ = _sets(held, policy, _are_records(held.columns, policy))
        return np.ones(held.height, dtype=np.bool_), sets, wrong
    names, _ = read_text(held[shown[-1]], policy.reading)
    is_held = names.is_not_null()
    if shown == [COLUMN, VALUE]:
        column = held[COLUMN].cast(pl.String)
        is_held &= column.is_in(list(policy.sensitive_columns))
        if policy.has_several_columns:
            before = column.replace_strict({each: qualifier(each) for each in column.unique()})
            names = before + names
    values = names.filter(is_held).cast(pl.String).reshape((-1, 1)).arr.to_list()
    return is_held.to_numpy(), values, []


def _cells(table: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """The quasi-identifiers as text; which texts mean a missing value is for their reader to say,
    because a node of a taxonomy may be called like that."""
    return pl.DataFrame(
        {name: read_text(table[name], DIALECT)[0] for name in policy.quasi_identifiers}
    )


def _shown_ids(table: pl.DataFrame, policy: Policy) -> pl.Series | None:
    """The ids, if the release has them; a column of stars or blanks is no ids."""
    if policy.person.id not in table.columns:
        return None
    text, problems = read_text(table[policy.person.id], policy.reading)
    is_shown = text.is_not_null() & (text != _SUPPRESSED)
    return table[policy.person.id] if not problems and is_shown.all() else None


def _multiplicity(table: pl.DataFrame, policy: Policy) -> tuple[NDArray[np.int64], list[str]]:
    """How many records each row stands for: its ``count`` if there is one, otherwise 1."""
    named = {*policy.quasi_identifiers, *policy.sensitive_columns, policy.person.id}
    if COUNT not in table.columns or COUNT in named:
        return np.ones(table.height, dtype=np.int64), []
    counts = table[COUNT].cast(pl.String).str.strip_chars().cast(pl.Int64, strict=False)
    wrong = counts.is_null() | (counts < 1)
    if wrong.any():
        return np.ones(table.height, dtype=np.int64), [
            f"column {COUNT!r} holds something other than counts, {rows_where(wrong)}"
        ]
    return counts.to_numpy(), []


def _lacking(table: pl.DataFrame, needed: list[str]) -> list[str]:
    return missing_columns(table, needed, "it")


def _refusal(label: str, problems: list[str]) -> TableError:
    return TableError(
        f"the release cannot be read ({counted(len(problems), 'problem')})",
        where=label,
        remedy="give a matching policy, or export the release again",
        problems=problems,
    )
