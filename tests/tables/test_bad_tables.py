"""Tables that do not fit the policy: all problems at once, and no cell in any message."""

from __future__ import annotations

import polars as pl
import pytest

from serigraph.errors import TableError
from serigraph.policy import Policy
from serigraph.tables import prepare
from tables.examples import clinic_policy, clinic_table, registry_of

ROWS = ('column = "diagnosis"', 'column = "diagnosis"\nform = "rows"')
LIST = ('column = "diagnosis"', 'column = "diagnosis"\nform = "list"')
STRICT = ('column = "diagnosis"', 'column = "diagnosis"\nmissing = "error"')
MARK = "SECRET"


def problems_of(
    table: pl.DataFrame, policy: Policy | None = None, registry: pl.DataFrame | None = None
) -> list[str]:
    with pytest.raises(TableError) as caught:
        prepare(table, policy or clinic_policy(), registry)
    return list(caught.value.problems)


def test_an_empty_table() -> None:
    assert problems_of(clinic_table().clear()) == ["the table is empty: it has no rows"]
    assert problems_of(clinic_table(), registry=registry_of([])) == [
        "the registry is empty: it has no rows"
    ]


def test_missing_columns_are_all_named() -> None:
    found = problems_of(clinic_table().select("age"), registry=registry_of([1]).drop("zip"))
    assert found == [
        "the table has no column 'patient'",
        "the table has no column 'born'",
        "the table has no column 'zip'",
        "the table has no column 'diagnosis'",
        "the registry has no column 'zip'",
    ]


def test_null_ids() -> None:
    table = clinic_table().with_columns(patient=pl.Series([1, None, 3, None, 5]))
    assert problems_of(table) == ["the table: 2 ids in column 'patient' are missing, rows 2, 4"]
    blank = clinic_table().with_columns(patient=pl.Series(["a", "b", " ", "d", "e"]))
    assert problems_of(blank) == ["the table: 1 id in column 'patient' is missing, row 3"]
    registry = registry_of([1, None])
    assert "the registry: 1 id" in problems_of(clinic_table(), registry=registry)[0]


@pytest.mark.parametrize("form", ["single", "list", "delimited"])
def test_duplicate_people(form: str) -> None:
    delimiter = '\ndelimiter = ";"' if form == "delimited" else ""
    policy = clinic_policy(
        ('column = "diagnosis"', f'column = "diagnosis"\nform = "{form}"{delimiter}')
    )
    table = clinic_table().with_columns(patient=pl.Series([7, 3, 7, 1, 2]))
    if form == "list":
        table = table.with_columns(pl.concat_list("diagnosis"))
    found = problems_of(table, policy)
    assert len(found) == 1
    assert "1 person has several rows" in found[0]
    assert "rows 1, 3" in found[0]


def test_rows_of_a_person_that_disagree() -> None:
    table = pl.concat([clinic_table(), clinic_table().with_columns(pl.col("age") + 1)])
    found = problems_of(table, clinic_policy(ROWS))
    assert found == [
        "the table: column 'age' differs between the rows of 4 people, "
        "rows 1, 3, 4, 5, 6 and 3 more"
    ]
    registry = registry_of([9, 8, 9], age=[1, 2, None])
    assert problems_of(clinic_table(), registry=registry) == [
        "the registry: column 'age' differs between the rows of 1 person, rows 1, 3"
    ]


@pytest.mark.parametrize(
    ("column", "cells", "expected"),
    [
        ("age", ["1", "2", "x", "4", "y"], "in 2 cells, rows 3, 5"),
        ("age", [1.0, 2.0, float("inf"), 4.0, float("nan")], "infinite numbers in 1 cell, row 3"),
        ("born", ["2024-01-01", "x", None, "", "2024-01-02"], "in 1 cell, row 2"),
        ("zip", [[1]] * 5, "where single values are expected"),
        ("diagnosis", [{"a": 1}] * 5, "where single values are expected"),
        ("patient", [1.5, 2.0, 3.0, 4.0, 5.0], "numbers with decimals or too large"),
        ("patient", [True] * 5, "where ids are expected"),
    ],
)
def test_wrong_types(column: str, cells: list[object], expected: str) -> None:
    table = clinic_table().with_columns(pl.Series(column, cells, strict=False))
    assert expected in problems_of(table)[0]


def test_a_list_column_is_expected() -> None:
    assert "where lists are expected" in problems_of(clinic_table(), clinic_policy(LIST))[0]


def test_missing_cells_can_be_refused() -> None:
    policy = clinic_policy(STRICT, sections='[missing]\nquasi_identifiers = "error"\n')
    assert problems_of(clinic_table(), policy) == [
        "the table: column 'age': 1 cell is missing, row 2",
        "the table: column 'born': 1 cell is missing, row 3",
        "the table: column 'zip': 1 cell is missing, row 4",
        "the table: column 'diagnosis': 1 row has no value, row 5",
    ]


def test_ids_of_table_and_registry_must_have_one_type() -> None:
    found = problems_of(clinic_table(), registry=registry_of(["A", "B"]))
    assert "integers in the table and text in the registry" in found[0]
    integers = clinic_policy(('id = "patient"', 'id = "patient"\ntype = "integer"'))
    assert (
        "rows 1, 2 hold something else"
        in problems_of(clinic_table(), integers, registry_of(["A", "B"]))[0]
    )


def test_many_problems_are_reported_at_once() -> None:
    table = (
        clinic_table()
        .drop("zip")
        .with_columns(
            age=pl.lit("x"),
            born=pl.lit("x"),
            patient=pl.Series([1, 1, None, 4, 5]),
        )
    )
    registry = registry_of(["A", None]).drop("born").with_columns(age=float("inf"))
    sections = '[protected.classes]\nflu = ["gout"]\n'
    found = problems_of(table, clinic_policy(sections=sections), registry)
    assert len(found) == 10, found


def spoilt_tables() -> dict[str, tuple[pl.DataFrame, Policy, pl.DataFrame | None]]:
    """Tables of which every cell holds the mark, each wrong in a way of its own."""
    secret = pl.DataFrame(
        {
            "patient": [f"{MARK}{i}" for i in range(5)],
            "age": [str(i) for i in range(5)],
            "born": ["2024-01-01"] * 5,
            "zip": [f"{MARK} zip {i}" for i in range(5)],
            "diagnosis": [f"{MARK} value {i}" for i in range(5)],
        }
    )
    twice = pl.concat([secret, secret.with_columns(zip=pl.lit(f"{MARK}"))])
    listed = secret.drop("diagnosis")
    integers = clinic_policy(('id = "patient"', 'id = "patient"\ntype = "integer"'))
    return {
        "numbers": (secret.with_columns(age="zip"), clinic_policy(), None),
        "dates": (secret.with_columns(born="zip"), clinic_policy(), None),
        "given date format": (
            secret.with_columns(born="zip"),
            clinic_policy(sections='[reading]\ndate_format = "%d.%m.%Y"\n'),
            None,
        ),
        "duplicates": (twice, clinic_policy(), None),
        "disagreeing rows": (twice, clinic_policy(ROWS), None),
        "integer ids": (secret, integers, None),
        "types of ids": (secret, clinic_policy(), listed.with_columns(patient=pl.lit(3))),
        "registry": (secret, clinic_policy(), listed.with_columns(age="zip")),
        "lists": (secret, clinic_policy(LIST), None),
        "composite": (secret.with_columns(pl.struct("zip").alias("zip")), clinic_policy(), None),
    }


@pytest.mark.parametrize("name", spoilt_tables())
def test_no_error_holds_a_cell(name: str) -> None:
    table, policy, registry = spoilt_tables()[name]
    with pytest.raises(TableError) as caught:
        prepare(table, policy, registry)
    assert MARK not in str(caught.value)
    assert MARK not in repr(caught.value)
    # What a traceback would show of the errors behind it.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
