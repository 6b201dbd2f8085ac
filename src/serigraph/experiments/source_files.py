"""Reading people and values from files: three layouts that are known, and any pair of tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from serigraph.errors import TableError
from serigraph.experiments.canada_vigilance import canada_vigilance_source, is_canada_vigilance
from serigraph.experiments.source import PERSON, VALUE, Source
from serigraph.experiments.vaers import ID as VAERS_ID
from serigraph.experiments.vaers import vaers_source
from serigraph.model import Kind
from serigraph.policy import Reading
from serigraph.tables import read_table
from serigraph.tables.cells import read_numbers
from serigraph.tables.column_guesses import LIKELY_MISSING, guess_column


def read_source(
    reports: Sequence[Path],
    reactions: Sequence[Path],
    *,
    person: str = "",
    value: str = "",
    columns: Sequence[str] = (),
) -> Source:
    """People from ``reports`` and their values from ``reactions``; several files are put together.

    The Canada Vigilance extract (reports.txt, reactions.txt) and VAERS (yearly VAERSDATA and
    VAERSSYMPTOMS files, or tables with VAERS_ID and TERM) are recognised. In other files ``person``
    names the column that both have, ``value`` the one with the values and ``columns`` the
    quasi-identifiers; what is not given is the only column in common, the only other column of the
    reactions, and all other columns of the reports.
    """
    for path in (*reports, *reactions):
        if not path.is_file():
            raise TableError("the file does not exist", where=str(path), remedy="check the path")
    if is_canada_vigilance(reports[0]) and is_canada_vigilance(reactions[0]):
        return canada_vigilance_source(reports, reactions)
    people = pl.concat([read_table(path) for path in reports], how="diagonal_relaxed")
    values = pl.concat([read_table(path) for path in reactions], how="diagonal_relaxed")
    if VAERS_ID in people.columns and VAERS_ID in values.columns:
        return vaers_source(people, values)
    return _any_pair(reports[0].name, people, values, person, value, columns)


def _any_pair(
    name: str,
    people: pl.DataFrame,
    values: pl.DataFrame,
    person: str,
    value: str,
    columns: Sequence[str],
) -> Source:
    person = person or _only([c for c in people.columns if c in values.columns], "--person")
    value = value or _only([c for c in values.columns if c != person], "--value")
    wanted = list(columns) or [column for column in people.columns if column != person]
    lacking = [
        f"column {column!r} is not in the {which}"
        for which, table, needed in (
            ("reports", people, [person, *wanted]),
            ("reactions", values, [person, value]),
        )
        for column in needed
        if column not in table.columns
    ]
    if lacking:
        raise TableError(
            "columns are missing", remedy="correct the names of the columns", problems=lacking
        )
    kinds: dict[str, Kind] = {}
    read = [people[person].cast(pl.String).alias(PERSON)]
    for column in wanted:
        kind = guess_column(people[column]).kind
        if kind == "unusable":
            continue
        kinds[column] = kind
        cells = people[column]
        if kind == "numeric":
            cells, _ = read_numbers(cells, Reading(null_values=LIKELY_MISSING))
        read.append(cells.alias(column))
    return Source.of(
        name,
        pl.DataFrame(read),
        values.select(
            pl.col(person).cast(pl.String).alias(PERSON), pl.col(value).cast(pl.String).alias(VALUE)
        ),
        kinds,
    )


def _only(names: Sequence[str], option: str) -> str:
    if len(names) != 1:
        raise TableError(
            f"{len(names)} columns could be meant",
            remedy=f"name the column with {option}",
        )
    return names[0]
