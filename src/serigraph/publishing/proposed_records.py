"""The sections of a proposed policy on several sensitive columns, and on plain ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from serigraph.errors import InputRefused, TableError
from serigraph.policy import Reading
from serigraph.publishing.proposed_numbers import Nearby, SensitiveKind, kind_line
from serigraph.publishing.toml_text import key, quoted
from serigraph.tables.cells import read_text
from serigraph.tables.column_guesses import ColumnGuess, guess_column
from serigraph.tables.people import contradicting_rows, missing_columns
from serigraph.tables.sensitive_column import form_of
from serigraph.tables.vocabulary import QUASI_IDENTIFIER, says

FORMS = {
    "single": "one row per person, one value per row",
    "rows": "several rows per person, merged into one set of values",
    "list": "one row per person, with a list of values",
    "delimited": "one row per person, with values separated by the delimiter",
}


def check_records(
    table: pl.DataFrame,
    person: str,
    sensitive: Sequence[str],
    plain: Sequence[str],
) -> None:
    """Refuse columns that are not there or have two roles."""
    named = [*sensitive, *plain]
    if problems := missing_columns(table, named, "the table"):
        raise TableError(problems[0], remedy="name a column that the table has", problems=problems)
    if person and person in named:
        role = "a plain column" if person in plain else "the sensitive column"
        raise TableError(
            f"column {person!r} cannot be both the person's id and {role}",
            remedy="name two columns",
        )
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise InputRefused(
            f"column {twice[0]!r} is named twice",
            remedy="name each column once: --sensitive or --plain",
        )


def guesses_of(table: pl.DataFrame, columns: Sequence[str]) -> dict[str, ColumnGuess]:
    """What each of these columns looks like."""
    return {name: guess_column(table[name]) for name in columns}


def known_to_outsiders(plain: Sequence[str]) -> list[str]:
    """A note on plain columns that are otherwise quasi-identifiers, by their names."""
    known = [name for name in plain if says(name, QUASI_IDENTIFIER)]
    if not known:
        return []
    are, them = ("is", "it") if len(known) == 1 else ("are", "them")
    return [
        f"{', '.join(map(repr, known))} {are} plain, and no quasi-identifier, because you named "
        f"{them} so: the promise assumes that nobody knows {them} of a person, which outsiders "
        "usually do"
    ]


def check_rows_agree(table: pl.DataFrame, plain: Sequence[str], person: str) -> None:
    """Refuse plain columns that differ between the rows of a person, who has one record."""
    ids, *cells = (read_text(table[name], Reading())[0] for name in (person, *plain))
    named = dict(zip(plain, cells, strict=True))
    if problems := contradicting_rows(ids, named, "the table"):
        raise TableError(
            "a person has one record, and plain columns differ between rows",
            remedy="leave these columns out of --plain, or give each person one row",
            problems=problems,
        )


def column_sections(
    table: pl.DataFrame, kinds: Mapping[str, SensitiveKind], person: str
) -> dict[str, list[str]]:
    """The section of each sensitive column, of the given kind, without what is protected."""
    ids = read_text(table[person], Reading())[0]
    rows_repeat = ids.n_unique() < table.height
    found = {}
    for name, kind in kinds.items():
        form, delimiter = form_of(table[name], rows_repeat)
        lines = [
            f"[sensitive.{key(name)}]",
            *kind_line(kind),
            f'form = "{form}"  # {FORMS[form]}; or single, rows, list, delimited',
        ]
        if delimiter:
            lines.append(f"delimiter = {quoted(delimiter)}")
        found[name] = [*lines, 'missing = "no value"  # meaning of an empty cell; or "error"', ""]
    return found


def classes_across(near: Mapping[str, Nearby | None]) -> list[str]:
    """How to write a class of values of several columns, given what is near each other in each."""
    (first, its), (second, others) = list(near.items())[:2]
    return [
        "# A class of values of several columns is protected like a value:",
        '# [classes."any of them"]',
        '# threshold = "1/10"',
        '# [classes."any of them".values]',
        f'# {key(first)} = ["{its.example if its else "one value"}"]',
        f'# {key(second)} = ["{others.example if others else "another value"}"]',
        "",
    ]


def plain_section(table: pl.DataFrame, plain: Sequence[str]) -> list[str]:
    """The section on plain columns, if there are any."""
    if not plain:
        return []
    return [
        "# Published as they are beside the values. Nobody may know them of a person and, beside",
        "# transient values, nobody may keep them from one release to the next. "
        '"numeric", "date" or "text".',
        "[plain]",
        *(f'{key(name)} = "{_kind(table[name])}"' for name in plain),
        "",
    ]


def _kind(column: pl.Series) -> str:
    kind = guess_column(column).kind
    return kind if kind in ("numeric", "date") else "text"
