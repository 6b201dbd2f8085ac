"""Guessing what the columns of a table are, as a proposal for its publisher to correct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading, why_unusable
from serigraph.tables.cells import read_text, without_time
from serigraph.tables.column_guesses import ColumnGuess, guess_column
from serigraph.tables.header import MOST_GUESSED, check_names, check_number
from serigraph.tables.naming_columns import FEW, why_it_names_people
from serigraph.tables.people import missing_columns
from serigraph.tables.person_column import called, find_person
from serigraph.tables.sensitive_column import Form, find_sensitive, form_of
from serigraph.tables.vocabulary import QUASI_IDENTIFIER, SENSITIVE, says

_MOST_QUASI_IDENTIFIERS = 15  # in more dimensions nobody has neighbours
_SMALL_GROUP = 10
_UNKNOWN = (
    "outsiders hardly know it, and too many quasi-identifiers cost precision; add it if they may "
    "know it"
)


@dataclass(frozen=True)
class Roles:
    """What each column seems to be, and what its publisher should check (``notes``)."""

    person: str
    person_type: Literal["integer", "text"]
    sensitive: str
    form: Form
    delimiter: str  # empty unless the form is delimited
    quasi_identifiers: dict[str, ColumnGuess]
    left_out: dict[str, str]  # column -> why it is not published
    missing_texts: tuple[str, ...]
    date_format: str  # empty where none needs to be given
    notes: tuple[str, ...]


def guess_roles(  # one guess builds on the other, in this order
    table: pl.DataFrame,
    *,
    person: str = "",
    sensitive: str = "",
    others: Mapping[str, ColumnGuess] | None = None,
) -> Roles:
    """The roles of the columns; ``person`` and ``sensitive`` name columns that are known.

    Columns that name people get none. ``others`` are columns of the policy that are not in the
    table: texts for missing cells and the format of dates have to fit them too. Raises
    ``TableError`` where it is not clear which column is the id or the sensitive one, and where no
    column can be a quasi-identifier.
    """
    if table.height == 0:
        raise TableError("the table is empty: it has no rows", remedy="give a table with rows")
    check_number(table.width, MOST_GUESSED)
    named = [name for name in (person, sensitive) if name]
    if not set(named) <= set(table.columns):
        check_names(table, [])
        problems = missing_columns(table, named, "the table", are_names=True)
        raise TableError(problems[0], remedy="name a column that the table has")
    if person and person == sensitive:
        raise TableError(
            f"column {person!r} cannot be both the id and the sensitive column",
            remedy="name two columns",
        )
    check_names(table, named)
    unusable = {name: why for name in table.columns if (why := why_unusable(name))}
    if wrong := [f"column {name!r}: {unusable[name]}" for name in named if name in unusable]:
        raise TableError("these columns cannot be used", remedy="rename them", problems=wrong)
    table = pl.DataFrame([each for each in table.get_columns() if each.name not in unusable])
    guesses = {name: guess_column(table[name]) for name in table.columns}
    notes = []
    if not person:
        person, note = find_person(table, guesses)
        notes.append(note)
    if not sensitive:
        sensitive, note = find_sensitive(table, guesses, person)
        notes.append(note)
    elif why := why_it_names_people(sensitive, _text(table[sensitive]), guesses[sensitive]):
        notes.append(f"column {sensitive!r} would be published unchanged, and {why}")
    ids = _text(table[person])
    form, delimiter = form_of(table[sensitive], rows_repeat=ids.n_unique() < table.height)
    rest = [name for name in table.columns if name not in (person, sensitive)]
    left_out = unusable | {
        name: why for name in rest if (why := _why_left_out(table[name], guesses[name], ids))
    }
    kept = {name: guesses[name] for name in rest if name not in left_out}
    known = {**(others or {}), sensitive: guesses[sensitive]}
    date_format, date_note, unclear = _date_format({**kept, **known})
    if wrong := [f"column {name!r}: {unclear[name]}" for name in known if name in unclear]:
        raise TableError(
            "it is not clear which dates these columns hold",
            remedy="write all dates of the table in one way, such as 2024-01-31",
            problems=wrong,
        )
    left_out |= unclear
    kept = {name: guess for name, guess in kept.items() if name not in unclear}
    proposed = _known_to_outsiders(kept)
    left_out |= dict.fromkeys((name for name in kept if name not in proposed), _UNKNOWN)
    if not proposed:
        raise TableError(
            "no column can be a quasi-identifier",
            remedy="add the columns that outsiders may know about a person, or write the policy by "
            "hand",
            problems=[f"column {name!r} is left out: {why}" for name, why in left_out.items()],
        )
    return Roles(
        person=person,
        person_type="integer" if ids.str.contains(r"^(?:0|-?[1-9]\d{0,17})$").all() else "text",
        sensitive=sensitive,
        form=form,
        delimiter=delimiter,
        quasi_identifiers=proposed,
        left_out=left_out,
        missing_texts=tuple(
            sorted(
                {
                    text
                    for guess in (*proposed.values(), *known.values())
                    for text in guess.missing_texts
                }
            )
        ),
        date_format=date_format,
        notes=tuple(filter(None, (*notes, date_note))),
    )


def _why_left_out(column: pl.Series, guess: ColumnGuess, ids: pl.Series) -> str:
    """Why a column cannot be, or should not be, a quasi-identifier; empty if it can."""
    if guess.kind == "unusable":
        return "it is empty, or holds lists or other compound values"
    cells = _text(column)
    if guess.kind == "date":
        cells = without_time(cells)
    per_person = pl.DataFrame({"id": ids, "cell": cells}).unique(maintain_order=True)
    people = ids.n_unique()
    said = called(column.name)
    if said in ("person", "number", "id", "record", "row"):
        return "it seems to hold ids or numbers of people, visits or records"
    if said == "group" and cells.n_unique() * _SMALL_GROUP > people > FEW:
        return "it seems to hold ids of small groups of people"
    if why := why_it_names_people(column.name, per_person["cell"], guess):
        return why
    if says(column.name, SENSITIVE):
        return "it seems sensitive too: name each sensitive column to publish both"
    if per_person.height > people:
        return "it differs between the rows of one person"
    return ""


def _text(column: pl.Series) -> pl.Series:
    return read_text(column, Reading())[0]


def _known_to_outsiders(kept: dict[str, ColumnGuess]) -> dict[str, ColumnGuess]:
    """The columns that make the best quasi-identifiers, where there are too many of them."""
    if len(kept) <= _MOST_QUASI_IDENTIFIERS:
        return kept
    known = [name for name in kept if says(name, QUASI_IDENTIFIER)] or list(kept)
    return {name: kept[name] for name in known[:_MOST_QUASI_IDENTIFIERS]}


def _date_format(kept: dict[str, ColumnGuess]) -> tuple[str, str, dict[str, str]]:
    """One format for all dates, a note on it, and why columns stay unclear without one."""
    dated = {name: guess.date_formats for name, guess in kept.items() if guess.date_formats}
    if not dated:
        return "", "", {}
    first = next(iter(dated.values()))
    common = [each for each in first if all(each in formats for formats in dated.values())]
    if common:
        note = ""
        if len(common) > 1:
            note = f"dates fit {' and '.join(common)}; {common[0]} is proposed"
        return ("" if common == ["%Y-%m-%d"] else common[0]), note, {}
    why = "its dates may have the day or the month first, and other columns use other formats"
    return "", "", {name: why for name, formats in dated.items() if len(formats) > 1}
