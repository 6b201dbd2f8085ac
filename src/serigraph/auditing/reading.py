"""Releases that other tools made, as they lie on the disk: one generalised table, or two tables
that are linked by a group."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import TableError
from serigraph.policy import Policy
from serigraph.recoding.tables import COUNT, GROUP, VALUE
from serigraph.tables import read_table
from serigraph.tables.cells import read_text
from serigraph.tables.people import missing_columns
from serigraph.tables.rows import counted, rows_where
from serigraph.tables.values import read_values, value_sets

PAIR = "+"  # between the two files of a bucketised release
_SUPPRESSED = "*"
_TABLE, _MEMBERS, _SENSITIVE = "table", "quasi_identifiers", "sensitive"
_ENDINGS = (".parquet", ".csv")


@dataclass(frozen=True)
class ReadRelease:
    """One release: rows with the cells of the quasi-identifiers, and records with their values.

    ``group`` numbers the groups of a bucketised release row by row and is None for a generalised
    one, whose groups are its regions. ``record_row`` is a row of the record's group.
    """

    label: str
    cells: pl.DataFrame  # the quasi-identifiers as text, in policy order
    ids: pl.Series | None  # of the rows, if the release shows them
    group: NDArray[np.int64] | None
    record_row: NDArray[np.int64]
    record_values: pl.Series  # List(String), one a record
    is_counted_in_people: bool  # one record a person, as far as the release shows


def read_release(source: Any, policy: Policy, number: int) -> ReadRelease:
    """Read one release: a table, a folder with the tables of a release, or a pair of tables.

    A pair is a tuple, or two paths with ``+`` between them. Raises ``TableError`` with all
    problems of the release, and no cell.
    """
    label, parts = _sources(source, number)
    frames = [read_table(part, policy.reading) for part in parts]
    if len(frames) == 1:
        return _generalised(label, frames[0], policy)
    return _bucketised(label, frames[0], frames[1], policy)


def _sources(source: Any, number: int) -> tuple[str, list[Any]]:
    if isinstance(source, tuple | list):
        first = source[0]
        named = Path(first).name if isinstance(first, str | os.PathLike) else f"release {number}"
        return named, list(source)
    if not isinstance(source, str | os.PathLike):
        return f"release {number}", [source]
    path = Path(source)
    if path.is_dir():
        return path.name, _in_folder(path)
    if PAIR in str(source) and not path.exists():
        first, _, second = str(source).partition(PAIR)
        return Path(first).name, [Path(first), Path(second)]
    return path.name, [path]


def _in_folder(folder: Path) -> list[Any]:
    def find(name: str) -> Path | None:
        found = (folder / f"{name}{ending}" for ending in _ENDINGS)
        return next((path for path in found if path.is_file()), None)

    table, members, sensitive = find(_TABLE), find(_MEMBERS), find(_SENSITIVE)
    if table is not None:
        return [table]
    if members is not None and sensitive is not None:
        return [members, sensitive]
    raise TableError(
        "the folder does not hold a release",
        where=str(folder),
        remedy=f"put {_TABLE}.csv in it, or {_MEMBERS}.csv and {_SENSITIVE}.csv; "
        "or give the files themselves",
    )


def _generalised(label: str, table: pl.DataFrame, policy: Policy) -> ReadRelease:
    sensitive = policy.sensitive.column
    problems = _lacking(table, [*policy.quasi_identifiers, sensitive])
    if table.height == 0:
        problems.append("it has no rows")
    if problems:
        raise _refusal(label, problems)
    times, problems = _multiplicity(table, policy)
    values, wrong = read_values(table[sensitive], policy)
    if problems or wrong:
        raise _refusal(label, [*problems, *wrong])
    sets = value_sets(table.height, values["row"], values["value"].cast(pl.String))
    rows = np.repeat(np.arange(table.height), times)
    return ReadRelease(
        label=label,
        cells=_cells(table, policy),
        ids=_shown_ids(table, policy),
        group=None,
        record_row=rows,
        record_values=sets.gather(rows),
        is_counted_in_people=policy.sensitive.form != "rows",
    )


def _bucketised(
    label: str, members: pl.DataFrame, held: pl.DataFrame, policy: Policy
) -> ReadRelease:
    shared = [name for name in members.columns if name in held.columns]
    linking = GROUP if GROUP in shared else next(iter(shared), GROUP)
    sensitive = VALUE if VALUE in held.columns else policy.sensitive.column
    problems = _lacking(members, [*policy.quasi_identifiers, linking])
    problems += _lacking(held, [linking, sensitive])
    if problems:
        raise _refusal(label, problems)
    times, problems = _multiplicity(held, policy)
    names, _ = read_text(held[sensitive], policy.reading)
    groups, _ = read_text(members[linking], policy.reading)
    linked, _ = read_text(held[linking], policy.reading)
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
    is_held = names.is_not_null().to_numpy()
    rows = np.repeat(found.to_numpy()[is_held], times[is_held])
    values = names.filter(names.is_not_null()).gather(
        np.repeat(np.arange(int(is_held.sum())), times[is_held])
    )
    return ReadRelease(
        label=label,
        cells=_cells(members, policy),
        ids=_shown_ids(members, policy),
        group=groups.rank("dense").cast(pl.Int64).to_numpy() - 1,
        record_row=rows.astype(np.int64),
        record_values=values.cast(pl.String).reshape((-1, 1)).arr.to_list(),
        is_counted_in_people=False,
    )


def _cells(table: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    return pl.DataFrame(
        {name: read_text(table[name], policy.reading)[0] for name in policy.quasi_identifiers}
    )


def _shown_ids(table: pl.DataFrame, policy: Policy) -> pl.Series | None:
    """The ids, if the release has them; a column of stars or blanks is no ids."""
    if policy.person.id not in table.columns:
        return None
    text, problems = read_text(table[policy.person.id], policy.reading)
    is_shown = text.is_not_null() & (text != _SUPPRESSED)
    return table[policy.person.id] if not problems and is_shown.all() else None


def _multiplicity(table: pl.DataFrame, policy: Policy) -> tuple[NDArray[np.int64], list[str]]:
    """How many records each row stands for: what a column ``count`` says, otherwise one."""
    named = {*policy.quasi_identifiers, policy.sensitive.column, policy.person.id}
    if COUNT not in table.columns or COUNT in named:
        return np.ones(table.height, dtype=np.int64), []
    counts = table[COUNT].cast(pl.String).str.strip_chars().cast(pl.Int64, strict=False)
    wrong = counts.is_null() | (counts < 1)
    if wrong.any():
        return np.ones(table.height, dtype=np.int64), [
            f"column {COUNT!r} holds something else than counts, {rows_where(wrong)}"
        ]
    return counts.to_numpy(), []


def _lacking(table: pl.DataFrame, needed: list[str]) -> list[str]:
    return missing_columns(table, needed, "it")


def _refusal(label: str, problems: list[str]) -> TableError:
    return TableError(
        f"the release cannot be read ({counted(len(problems), 'problem')})",
        where=label,
        remedy="give a policy that fits the release, or export the release again",
        problems=problems,
    )
