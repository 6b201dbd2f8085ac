"""The ids of people: integers or text, the same in the table and in the registry."""

from __future__ import annotations

import polars as pl

from serigraph.policy import Policy
from serigraph.tables.canonical import canonical
from serigraph.tables.cells import plain_integers
from serigraph.tables.rows import counted, rows_where

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
            f"{source}: ids are integers by the policy, and "
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
    """The ids, if all of them are integers and written as integers are, without a look at each."""
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
    """The ids as integers, null where one is not written as an integer is."""
    written_so = text.str.contains(_WHOLE_NUMBER)
    return text.set(~written_so.fill_null(True), None).cast(pl.Int64, strict=False)
