"""Finds the column with a person's id; if that is not clear, asks the publisher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from serigraph.errors import TableError
from serigraph.model import whole_where_possible
from serigraph.policy import Reading
from serigraph.tables.cells import read_text
from serigraph.tables.column_guesses import LIKELY_MISSING, ColumnGuess
from serigraph.tables.vocabulary import (
    BIRTH,
    CONTACT,
    GROUP,
    IDENTIFIER,
    NUMBER,
    NUMBER_OF_PERSON,
    PERSON,
    QUASI_IDENTIFIER,
    RECORD,
    ROW,
    SENSITIVE,
    SEX,
    is_called_by_name,
    says,
    words,
)

Called = Literal["person", "number", "id", "record", "row", "group", "anything"]
_NAMED = 12
_COMPOUND = "*nr *nummer *number"
_MOST_ROWS = 20  # per person, on average
_ENOUGH = 10  # repeated ids: by chance, the rows of this many would not all agree
_SLIPS = 0.05  # of the people may have rows that contradict each other by mistake


@dataclass(frozen=True)
class IdCandidate:
    """A column without gaps that could hold ids, and what speaks for and against it."""

    name: str
    called: Called
    repeats: bool
    looks_like_ids: bool
    is_one_person: bool | None  # by what does not change in a person; None: nothing says so

    def reason(self) -> str:
        said = {
            "person": "its name is that of a person's id",
            "number": "its name is that of a person's number",
            "id": "its name is that of an id",
            "record": "its name is that of a record",
            "row": "its name is that of a visit or a row",
            "group": "its name is that of a group or place",
            "anything": "its name says nothing",
        }[self.called]
        if not self.repeats:
            return f"different in every row; {said}"
        rows = {
            True: "rows with the same one agree on sex and birth",
            False: "rows with the same one differ in sex or birth",
            None: "it is not known whether rows with the same one belong to one person",
        }[self.is_one_person]
        return f"repeated; {said}; {rows}"


def find_person(table: pl.DataFrame, guesses: dict[str, ColumnGuess]) -> tuple[str, str]:
    """The column of the person's id, and a note where it should be checked.

    Where rows are people, a column with repeated values is never preferred to one without. Raises
    ``TableError`` that asks for ``--person``, with all candidates, where it is not clear.
    """
    candidates = [
        found for name in table.columns if (found := _candidate(table, name, guesses[name]))
    ]
    unique = [each for each in candidates if not each.repeats]
    repeated = [each for each in candidates if each.repeats and each.is_one_person is not False]

    def named(what: Called, among: list[IdCandidate]) -> list[IdCandidate]:
        return [each for each in among if each.called == what]

    of_people = named("person", unique)
    if of_people:
        return of_people[0].name, ""
    of_visits = named("person", repeated) or named("number", repeated) or named("id", repeated)
    proven = [each for each in of_visits if each.is_one_person]
    if len(proven) == 1:
        return proven[0].name, ""
    of_rows = (
        named("id", unique)
        or named("number", unique)
        or named("record", unique)
        or [each for each in named("anything", unique) if each.looks_like_ids]
    )
    if len(of_visits + of_rows) == 1:
        found = (of_visits + of_rows)[0]
        return found.name, _check(found)
    raise _question(candidates)


def _candidate(table: pl.DataFrame, name: str, guess: ColumnGuess) -> IdCandidate | None:
    column = table[name]
    if column.dtype.is_float():
        column = whole_where_possible(column.cast(pl.Float64).fill_nan(None))
    if guess.kind == "date" or not (column.dtype.is_integer() or column.dtype == pl.String):
        return None
    cells, _ = read_text(column, Reading(null_values=LIKELY_MISSING))
    said = called(name)
    distinct = cells.n_unique()
    repeats = distinct < table.height
    if distinct * _MOST_ROWS < table.height:
        return None
    if cells.null_count() or (repeats and said in ("anything", "record", "row")):
        return None
    return IdCandidate(
        name,
        said,
        repeats,
        looks_like_ids=not says(name, CONTACT) and _have_one_shape(cells),
        is_one_person=_agree(table, cells) if repeats else None,
    )


def called(name: str) -> Called:
    """What the name of a column says of the ids in it, if it holds any.

    >>> called("patient_id"), called("Fallnummer"), called("household_id"), called("zip code")
    ('person', 'record', 'group', 'group')
    >>> called("PassengerId"), called("caseid"), called("covid"), called("code")
    ('person', 'record', 'anything', 'anything')
    """
    found = words(name)
    if says(name, NUMBER_OF_PERSON):
        return "number"
    if not found or says(name, CONTACT) or is_called_by_name(name):
        return "anything"
    ends = (found[0], found[-1])
    is_id = any(says(word, IDENTIFIER) for word in ends)
    is_number = is_id or any(says(word, f"{NUMBER} {_COMPOUND}") for word in ends)
    # Many words end as "id" does: only with one of these it is an id.
    is_code = is_number or any(says(word, "code *id *key") for word in ends)
    if is_code and says(name, ROW):
        return "row"
    if says(found[-1], PERSON) or (is_code and says(name, PERSON)):
        return "person"
    if is_code and says(name, RECORD):
        return "record"
    if is_code and says(name, f"{GROUP} {QUASI_IDENTIFIER} {SENSITIVE}"):
        return "group"
    return "id" if is_id or (is_number and len(found) == 1) else "anything"


def _have_one_shape(cells: pl.Series) -> bool:
    """Whether the cells are written alike, as numbers in a row or keys of one form are."""
    if cells.str.contains(r"^\d+$").all():
        numbers = cells.cast(pl.Float64).sort()
        return bool(numbers[-1] - numbers[0] < len(numbers))
    shapes = cells.str.replace_all(r"\p{L}", "a").str.replace_all(r"\d", "9")
    return shapes.n_unique() == 1 and bool(cells.str.contains(r"\d").all())


def _agree(table: pl.DataFrame, ids: pl.Series) -> bool | None:
    """Whether rows of one id agree on what does not change in a person; None if too little says
    so."""
    lasting = [name for name in table.columns if says(name, f"{SEX} {BIRTH}")]
    if not lasting:
        return None
    cells = {f"c{i}": read_text(table[name], Reading())[0] for i, name in enumerate(lasting)}
    several = (
        pl.DataFrame({"id": ids, **cells})
        .group_by("id")
        .agg(pl.len(), pl.col(cells).drop_nulls().n_unique())
    ).filter(pl.col("len") > 1)
    differing = several.select((pl.col(each) > 1).mean() for each in cells).row(0)
    if max(differing) > _SLIPS:
        return False
    return True if several.height >= _ENOUGH else None


def _check(candidate: IdCandidate) -> str:
    if candidate.called in ("person", "number", "id"):
        return ""
    return (
        f"column {candidate.name!r} is taken as the person's id ({candidate.reason()}); an id must "
        "be the same for a person in every release: if it is not, choose another with --person"
    )


def _question(candidates: list[IdCandidate]) -> TableError:
    listed = [f"column {each.name!r}: {each.reason()}" for each in candidates]
    if not listed:
        return TableError(
            "no column looks like a person's id",
            remedy="add an id column, the same for a person in every release and without gaps, "
            "and name it with --person COLUMN",
        )
    more = [f"and {len(listed) - _NAMED} more"] if len(listed) > _NAMED else []
    return TableError(
        "it is not clear which column is the person's id",
        remedy="name the column that is the same for a person in every release: --person COLUMN",
        problems=[*listed[:_NAMED], *more],
    )
