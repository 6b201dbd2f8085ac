"""Guessing what the columns of a table are, as a proposal for its publisher to correct."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.cells import read_text
from serigraph.tables.column_guesses import ColumnGuess, guess_column, words
from serigraph.tables.people import missing_columns

_PERSON_WORDS = frozenset(
    words(
        "id pid patient person subject member mrn client customer employee resident identifier "
        "patid usubjid primaryid"
    )
)
_OF_SOMETHING_ELSE = frozenset(
    words("visit hospital encounter record row admission case ward doctor site event report")
)
_SENSITIVE_WORDS = words(
    "diagnosis diagnoses disease condition illness disorder reaction icd diag offence religion "
    "occupation medication drug treatment procedure symptom"
)
_KNOWN_QUASI_IDENTIFIERS = frozenset(
    words(
        "sex gender age zip postcode city region county state country race ethnicity marital "
        "education birth born"
    )
)
_CONTACTS = frozenset(
    words("surname firstname lastname forename email mail phone telephone mobile address street")
)
_FEW = 20  # below so many values, repetition says nothing
_NEARLY_UNIQUE = 0.8
_FREE_TEXT_LENGTH = 40


@dataclass(frozen=True)
class Roles:
    """What each column seems to be; columns in no role are left out, and ``notes`` says why."""

    person: str
    person_type: Literal["integer", "text"]
    sensitive: str
    form: Literal["single", "rows", "list", "delimited"]
    delimiter: str  # empty unless the form is delimited
    quasi_identifiers: dict[str, ColumnGuess]
    missing_texts: tuple[str, ...]
    date_format: str  # empty where none needs to be given
    notes: tuple[str, ...]


def guess_roles(table: pl.DataFrame, *, person: str = "", sensitive: str = "") -> Roles:
    """The roles of the columns; ``person`` and ``sensitive`` name columns that are known.

    Raises ``TableError`` where no column can be the id, the sensitive column or a
    quasi-identifier.
    """
    if table.height == 0:
        raise TableError("the table is empty: it has no rows", remedy="propose from a full table")
    named = [name for name in (person, sensitive) if name]
    if problems := missing_columns(table, named, "the table"):
        raise TableError(problems[0], remedy="name a column that the table has")
    guesses = {name: guess_column(table[name]) for name in table.columns}
    person = person or _person(table)
    sensitive = sensitive or _sensitive(table, guesses, person)
    ids, _ = read_text(table[person], Reading())
    rows_repeat = ids.n_unique() < table.height
    form, delimiter = _form(table[sensitive], rows_repeat)
    rest = [name for name in table.columns if name not in (person, sensitive)]
    left_out = {name: _why_left_out(table, name, guesses[name], ids) for name in rest}
    kept = {name: guesses[name] for name in rest if not left_out[name]}
    date_format, date_notes, unclear = _date_format(kept)
    kept = {name: guess for name, guess in kept.items() if name not in unclear}
    if not kept:
        raise TableError(
            "no column is left that could be a quasi-identifier",
            remedy="write the policy by hand, or add the columns that outsiders may know",
        )
    return Roles(
        person=person,
        person_type="integer" if ids.str.contains(r"^(?:0|-?[1-9]\d{0,17})$").all() else "text",
        sensitive=sensitive,
        form=form,
        delimiter=delimiter,
        quasi_identifiers=kept,
        missing_texts=tuple(sorted({t for guess in kept.values() for t in guess.missing_texts})),
        date_format=date_format,
        notes=(
            *(f"column {name!r} is left out: {why}" for name, why in left_out.items() if why),
            *date_notes,
        ),
    )


def _person(table: pl.DataFrame) -> str:
    def score(name: str) -> tuple[int, float]:
        named = words(name)
        says_so = bool(named) and (named[-1] in _PERSON_WORDS or named[0] == "id")
        return (
            2 * says_so - 2 * bool(_OF_SOMETHING_ELSE & set(named)),
            table[name].n_unique() / table.height,
        )

    candidates = [
        name
        for name, kind in table.schema.items()
        if (kind.is_integer() or kind == pl.String) and table[name].null_count() == 0
    ]
    usable = [name for name in candidates if score(name)[0] > 0 or score(name)[1] == 1]
    if not usable:
        raise TableError(
            "no column looks like the id of a person",
            remedy="add a column that is the same for a person in every release, without gaps",
        )
    return max(usable, key=score)


def _sensitive(table: pl.DataFrame, guesses: dict[str, ColumnGuess], person: str) -> str:
    others = [name for name in table.columns if name != person]
    for word in _SENSITIVE_WORDS:
        for name in others:
            if word in words(name) and guesses[name].kind != "date":
                return name
    nested = [name for name in others if isinstance(table.schema[name], pl.List)]
    categorical = [
        name
        for name in others
        if guesses[name].kind == "categorical"
        and not guesses[name].is_digit_code
        and not _KNOWN_QUASI_IDENTIFIERS & set(words(name))
    ]
    if not nested and not categorical:
        raise TableError(
            "no column looks sensitive",
            remedy="name the sensitive column, or write the policy by hand",
        )
    return (nested or categorical)[-1]


def _form(
    column: pl.Series, rows_repeat: bool
) -> tuple[Literal["single", "rows", "list", "delimited"], str]:
    if isinstance(column.dtype, pl.List | pl.Array):
        return "list", ""
    if rows_repeat:
        return "rows", ""
    cells = read_text(column, Reading())[0].drop_nulls()
    for delimiter in (";", "|", ","):
        several = cells.str.contains(delimiter, literal=True)
        items = cells.str.split(delimiter).explode().str.strip_chars()
        # Names of diseases hold commas; lists repeat their items in many combinations.
        ratio = 2 if delimiter == "," else 1
        if several.mean() and items.n_unique() * ratio < cells.n_unique():
            return "delimited", delimiter
    return "single", ""


def _why_left_out(table: pl.DataFrame, name: str, guess: ColumnGuess, ids: pl.Series) -> str:
    """Why a column cannot be, or should not be, a quasi-identifier; empty if it can."""
    named = set(words(name))
    if guess.kind == "unusable":
        return "it is empty, or holds lists or other composite values"
    if named & _CONTACTS:
        return "it seems to name or locate a person directly"
    if named & set(_SENSITIVE_WORDS):
        return "it seems sensitive too, and a policy has one sensitive column"
    cells = read_text(table[name], Reading())[0]
    per_person = pl.DataFrame({"id": ids, "cell": cells}).unique()
    people = ids.n_unique()
    if per_person.height > people:
        return "it differs between the rows of one person"
    distinct = cells.drop_nulls().n_unique()
    is_nearly_unique = distinct > _FEW and distinct > _NEARLY_UNIQUE * people
    is_whole = guess.kind == "numeric" and not cells.str.contains(r"[.,eE]").any()
    if is_nearly_unique and is_whole and distinct == people:
        return "it is different for everybody, as another id would be"
    if guess.kind == "categorical" and not guess.is_digit_code:
        length = cells.str.len_chars().mean()
        if is_nearly_unique or (isinstance(length, float) and length > _FREE_TEXT_LENGTH):
            return "it is free text, or different for almost everybody"
    return ""


def _date_format(kept: dict[str, ColumnGuess]) -> tuple[str, list[str], set[str]]:
    """One format for all dates, notes on it, and the columns that stay unclear without one."""
    dated = {name: guess.date_formats for name, guess in kept.items() if guess.date_formats}
    if not dated:
        return "", [], set()
    first = next(iter(dated.values()))
    common = [each for each in first if all(each in formats for formats in dated.values())]
    if common:
        notes = []
        if len(common) > 1:
            notes = [f"dates fit {' and '.join(common)}; {common[0]} is proposed, check it"]
        return ("" if common == ["%Y-%m-%d"] else common[0]), notes, set()
    unclear = {name for name, formats in dated.items() if len(formats) > 1}
    notes = [
        f"column {name!r} is left out: its dates may have the day or the month first, and other "
        "dates of the table are written otherwise"
        for name in sorted(unclear)
    ]
    return "", notes, unclear
