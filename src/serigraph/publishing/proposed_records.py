"""The sections of a proposed policy on several sensitive columns, and on plain ones."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from serigraph.errors import InputRefused, TableError
from serigraph.policy import Reading
from serigraph.publishing.toml_text import key, quoted
from serigraph.tables.cells import read_text
from serigraph.tables.column_guesses import guess_column
from serigraph.tables.people import contradicting_rows, missing_columns
from serigraph.tables.sensitive_column import form_of

FORMS = {
    "single": "one row per person, one value per row",
    "rows": "several rows per person, merged into one set of values",
    "list": "one row per person, with a list of values",
    "delimited": "one row per person, with values separated by the delimiter",
}


def check_records(table: pl.DataFrame, sensitive: Sequence[str], plain: Sequence[str]) -> None:
    """Refuse columns that are not there or have two roles."""
    named = [*sensitive, *plain]
    if problems := missing_columns(table, named, "the table"):
        raise TableError(problems[0], remedy="name a column that the table has", problems=problems)
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise InputRefused(
            f"column {twice[0]!r} is named twice",
            remedy="name each column once: --sensitive or --plain",
        )


def missing_texts(table: pl.DataFrame, columns: Sequence[str]) -> set[str]:
    """The texts that stand for missing cells in these columns."""
    return {text for name in columns for text in guess_column(table[name]).missing_texts}


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
    table: pl.DataFrame, sensitive: Sequence[str], person: str
) -> dict[str, list[str]]:
    """The section of each sensitive column, without what is protected."""
    ids = read_text(table[person], Reading())[0]
    rows_repeat = ids.n_unique() < table.height
    found = {}
    for name in sensitive:
        form, delimiter = form_of(table[name], rows_repeat)
        lines = [
            f"[sensitive.{key(name)}]",
            f'form = "{form}"  # {FORMS[form]}; or single, rows, list, delimited',
        ]
        if delimiter:
            lines.append(f"delimiter = {quoted(delimiter)}")
        found[name] = [*lines, 'missing = "no value"  # meaning of an empty cell; or "error"', ""]
    return found


def classes_across(sensitive: Sequence[str]) -> list[str]:
    """How to write a class of values of several columns."""
    first, second = sensitive[:2]
    return [
        "# A class of values of several columns is protected like a value:",
        '# [classes."any of them"]',
        '# threshold = "1/10"',
        '# [classes."any of them".values]',
        f'# {key(first)} = ["one value"]',
        f'# {key(second)} = ["another value"]',
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
