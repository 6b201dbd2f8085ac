"""One record per person: ids, quasi-identifiers and values of a table or a registry, merged."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import cast

import numpy as np
import polars as pl

from serigraph.model import are_in_order, whole_where_possible
from serigraph.policy import Policy
from serigraph.runtime.threads import parallel_map
from serigraph.tables.cells import (
    Read,
    counted,
    plain_integers,
    read_categories,
    rows_where,
)
from serigraph.tables.columns import canonical
from serigraph.texts import qualified, qualifier

_WHOLE_NUMBER = r"^(?:0|-?[1-9]\d{0,18})$"


def read_ids(
    columns: dict[str, pl.Series], policy: Policy
) -> tuple[dict[str, pl.Series], list[str]]:
    """The id columns of the table and of the registry (by name), as one type, and what is wrong.

    Unless the policy names the type, ids are integers if all of them are written as integers are;
    one leading zero or letter, in either, makes all of them text.
    """
    if policy.person.type != "text":
        plain = {source: _plain_ids(column, policy) for source, column in columns.items()}
        known = {source: ids for source, ids in plain.items() if ids is not None}
        if len(known) == len(columns):
            return known, []
    problems: list[str] = []
    texts: dict[str, pl.Series] = {}
    for source, column in columns.items():
        text, wrong = canonical(column, "id", policy.reading)
        texts[source] = text
        problems += [f"{source}: {each}" for each in wrong]
        missing = int(text.null_count()) if not wrong else 0
        if missing:
            problems.append(
                f"{source}: {counted(missing, 'id')} in column {column.name!r} "
                f"{'is' if missing == 1 else 'are'} missing, {rows_where(text.is_null())}"
            )
    if policy.person.type == "text":
        return texts, problems
    whole = {source: whole_ids(text) for source, text in texts.items()}
    lossless = {
        source: whole[source].null_count() == texts[source].null_count() for source in texts
    }
    if all(lossless.values()):
        return whole, problems
    if policy.person.type == "integer":
        problems += [
            f"{source}: the policy says that ids are integers, but "
            + rows_where(whole[source].is_null() & texts[source].is_not_null())
            + " hold something else"
            for source, fits in lossless.items()
            if not fits
        ]
        return texts, problems
    native = {source: column.dtype.is_numeric() for source, column in columns.items()}
    if len(set(native.values())) > 1:
        integer = next(source for source, is_native in native.items() if is_native)
        other = next(source for source, is_native in native.items() if not is_native)
        problems.append(
            f"ids are integers in {integer} and text in {other}: make them one type, or set "
            "type in the section [person] of the policy"
        )
    return texts, problems


def _plain_ids(column: pl.Series, policy: Policy) -> pl.Series | None:
    """The ids, if all are plainly integers; a fast path."""
    if column.null_count() or policy.reading.null_values:
        return None
    if column.dtype.is_integer() and column.dtype != pl.UInt64:
        return column.cast(pl.Int64)
    whole = plain_integers(column, policy.reading)
    if whole is None:
        return None
    begins = column.str.starts_with
    is_odd = begins("+") | begins("-0") | (begins("0") & (column.str.len_bytes() > 1))
    return None if is_odd.any() else whole


def whole_ids(text: pl.Series) -> pl.Series:
    """The ids as integers, null where one is not written as an integer."""
    written_so = text.str.contains(_WHOLE_NUMBER)
    return text.set(~written_so.fill_null(True), None).cast(pl.Int64, strict=False)


def read_values(column: pl.Series, policy: Policy) -> tuple[pl.DataFrame, list[str]]:
    """One line (``row``, ``value``) for each value of each row, and what is wrong.

    Values are an Enum of all of them, ascending. Rows count from 0; blanks are left out. A row
    without a value has no line, which is wrong if the policy says so.
    """
    rows = pl.int_range(len(column), dtype=pl.UInt32, eager=True)
    cells = pl.DataFrame({"row": rows, "value": column})
    form, kind = policy.only_column.form, policy.only_column.kind
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
        parts = text.str.split(policy.only_column.delimiter or "")
        cells = cells.with_columns(value=parts).explode("value")
    given = cells["value"].alias(column.name)
    if kind != "text" and not problems:
        given, problems = canonical(given, kind, policy.reading)
    text, wrong = read_categories(given, policy.reading)
    problems += wrong
    values = cells.with_columns(value=text).drop_nulls()
    if policy.only_column.missing == "error" and not problems and not values["row"].equals(rows):
        empty = ~rows.is_in(values["row"].implode())
        if empty.any():
            number = int(empty.sum())
            problems = [
                f"column {column.name!r}: {counted(number, 'row')} "
                f"{'has' if number == 1 else 'have'} no value, {rows_where(empty)}"
            ]
    return values, problems


def read_sensitive(table: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, list[str]]:
    """The values of all sensitive columns of a table, as ``read_values`` gives those of one. If
    there are several, values have qualified names, and a person with a value in any column has one.
    """
    if not policy.has_several_columns:
        return read_values(table[next(iter(policy.sensitive_columns))], policy)
    columns = list(policy.sensitive_columns)
    read = parallel_map(lambda name: read_values(table[name], policy.of_column(name)), columns)
    values = qualified_values(dict(zip(columns, (each for each, _ in read), strict=True)))
    return values, [problem for _, wrong in read for problem in wrong]


def qualified_values(columns: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The values of several columns, each as ``read_values`` gives them, under qualified names."""
    names: list[str] = []
    rows, codes = [], []
    for column in sorted(columns, key=qualifier):
        values = columns[column]
        kind = cast(pl.Enum, values["value"].dtype)
        rows.append(values["row"])
        codes.append(values["value"].to_physical().cast(pl.UInt32) + len(names))
        names += [qualified(column, value) for value in kind.categories]
    known = pl.Series(names, dtype=pl.Enum(names))
    return pl.DataFrame({"row": pl.concat(rows), "value": known.gather(pl.concat(codes))})


def read_plain(table: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, list[str]]:
    """The plain columns of a table, each in the form that its kind has, and what is wrong. Texts
    are an Enum of all of them: most repeat, and take a fraction of the time."""
    found = [name for name in policy.plain if name in table.columns]

    def read_one(name: str) -> Read:
        kind = policy.plain[name]
        if kind == "text":
            return read_categories(table[name], policy.reading)
        return canonical(table[name], kind, policy.reading)

    read = parallel_map(read_one, found)
    columns = [
        whole_where_possible(column).alias(name)
        for name, (column, _) in zip(found, read, strict=True)
    ]
    return pl.DataFrame(columns), [problem for _, wrong in read for problem in wrong]


def value_sets(people: int, person_of_value: pl.Series, values: pl.Series) -> pl.Series:
    """The values of each person as a list, ascending and without repetition."""
    everybody = pl.int_range(people, dtype=pl.UInt32, eager=True)
    if len(values) == people and not person_of_value.equals(everybody):
        place = np.full(people, people, dtype=np.uint32)
        place[person_of_value.to_numpy()] = np.arange(people, dtype=np.uint32)
        if (place < people).all():  # everybody has one value
            person_of_value, values = everybody, values.gather(place)
    if len(values) == people and person_of_value.equals(everybody):
        return values.reshape((people, 1)).arr.to_list()
    if alike := _sets_of_one_length(people, person_of_value, values):
        return alike[0]
    pairs = pl.DataFrame({"person": person_of_value.cast(pl.UInt32), "value": values})
    in_order = pairs.unique().sort("person", "value").group_by("person", maintain_order=True)
    sets = pl.DataFrame({"person": everybody}).join(
        in_order.agg("value"), on="person", how="left", maintain_order="left"
    )["value"]
    nothing = pl.Series([[]], dtype=sets.dtype)
    return sets.zip_with(sets.is_not_null(), nothing)


def _sets_of_one_length(
    people: int, person_of_value: pl.Series, values: pl.Series
) -> tuple[pl.Series, ...]:
    """The sets of everybody if all have the same number of values, which saves most of the time;
    else nothing."""
    number, rest = divmod(len(values), max(people, 1))
    if number < 2 or rest or not isinstance(values.dtype, pl.Enum):
        return ()
    person = person_of_value.to_numpy()
    if (np.bincount(person, minlength=people) != number).any():
        return ()
    bits = np.uint64(32)
    words = person.astype(np.uint64) << bits | values.to_physical().to_numpy().astype(np.uint64)
    words.sort()
    if (words[1:] == words[:-1]).any():
        return ()
    known = pl.Series(values.dtype.categories, dtype=values.dtype)
    in_order = known.gather(pl.Series((words & np.uint64(2**32 - 1)).astype(np.uint32)))
    return (in_order.reshape((people, number)).arr.to_list(),)


ID = "id"  # in the frames below; the quasi-identifiers are named q0, q1, ... in policy order

_ALIKE = 0.7  # of the letters: names that may be one, misspelt


def column_name(number: int) -> str:
    """The internal name of a quasi-identifier, which cannot collide with a user's name."""
    return f"q{number}"


def missing_columns(
    frame: pl.DataFrame, needed: list[str], source: str, *, are_names: bool = False
) -> list[str]:
    """The needed columns that are missing, each with the most similar name if at least half of the
    needed ones are there, whatever their case, or the frame surely has names.

    No other name is shown: where a file has no header, its "columns" are a person's cells, one of
    which may be spelt nearly like a column of the policy.
    """
    wanted = list(dict.fromkeys(needed))
    spelled = {name.casefold(): name for name in frame.columns}
    missing = [name for name in wanted if name not in frame.columns]
    known = sum(name.casefold() in spelled for name in wanted)
    if missing and not known and not are_names:
        names = " or ".join(map(repr, missing))
        return [f"{source} has no column {names}: does its first line name the columns?"]
    near = {
        name: difflib.get_close_matches(name.casefold(), spelled, 1, _ALIKE)
        for name in missing
        if are_names or 2 * known >= len(wanted)
    }
    return [
        f"{source} has no column {name!r}"
        + "".join(f"; did you mean {spelled[each]!r}?" for each in near.get(name, ()))
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
    """The problem that people have several rows, if the policy allows only one."""
    forms = [each.form for each in policy.sensitive_columns.values()]
    if "rows" in forms or not has_repeats(ids):
        return []
    repeated = ids.is_duplicated() & ids.is_not_null()
    if not repeated.any():
        return []
    people = ids.filter(repeated).n_unique()
    return [
        f"{source}: {counted(people, 'person has', 'people have')} several rows, where form = "
        f'"{forms[0]}" allows one row per person, {rows_where(repeated)}: merge them, or set '
        f'form = "rows" in [sensitive{".NAME" * policy.has_several_columns}]'
    ]


def differing_records(
    ids: pl.Series, table: pl.DataFrame, plain: pl.DataFrame, policy: Policy
) -> list[str]:
    """The problem that the rows of a person disagree on what a record has only one of: plain cells,
    and cells of sensitive columns whose form is not "rows"."""
    if not policy.shows_records or not has_repeats(ids):
        return []
    columns = {name: plain[name] for name in plain.columns}
    for name, how in policy.sensitive_columns.items():
        if how.form in ("single", "delimited") and name in table.columns:
            columns[name] = canonical(table[name], "value", policy.reading)[0]
    remedy = ': give each person one row, or one cell in this column, or set form = "rows"'
    return [each + remedy for each in contradicting_rows(ids, columns, "the table")]


def contradicting_rows(ids: pl.Series, columns: dict[str, pl.Series], source: str) -> list[str]:
    """The problem that the rows of a person disagree on a quasi-identifier."""
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
