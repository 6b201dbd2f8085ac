"""A query in a policy reads its database, changes nothing, and reaches nothing else."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables import read_table


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "secret.csv").write_text("name\nmarble\n")
    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as connection:
        connection.execute("create table visits as select 1 as patient, 'flu' as diagnosis")
        connection.execute(f"create view outside as select * from '{tmp_path / 'secret.csv'}'")
    return tmp_path / "hospital.duckdb"


def read(database: Path, query: str) -> pl.DataFrame:
    return read_table(str(database), Reading(query=query))


def test_what_the_database_holds_is_read(database: Path) -> None:
    query = "with v as (select * from visits) select patient, upper(diagnosis) as d from v"
    assert read(database, query).rows() == [(1, "FLU")]


@pytest.mark.parametrize(
    "query",
    [
        "select * from '{folder}/secret.csv'",
        "select * from read_csv('{folder}/secret.csv')",
        "select * from read_text('{folder}/secret.csv')",
        "select * from glob('{folder}/*')",
        "select * from outside",
        "select * from 'https://example.org/people.csv'",
        "attach '{folder}/other.duckdb'; select * from visits",
        "copy visits to '{folder}/stolen.csv'",
        "export database '{folder}/stolen'",
        "install httpfs",
        "load httpfs",
    ],
)
def test_nothing_else_is_reached(database: Path, query: str) -> None:
    before = sorted(database.parent.iterdir())
    with pytest.raises(TableError, match="outside the database") as caught:
        read(database, query.format(folder=database.parent))
    assert "marble" not in str(caught.value)
    assert sorted(database.parent.iterdir()) == before


@pytest.mark.parametrize(
    "query",
    [
        "set enable_external_access = true",
        "set lock_configuration = false",
        "reset enable_external_access",
        "insert into visits values (2, 'gout')",
        "drop table visits",
        "select * from reading",
        "select * from database",
    ],
)
def test_neither_the_settings_nor_the_data_change(database: Path, query: str) -> None:
    before = database.read_bytes()
    with pytest.raises(TableError, match="the query failed"):
        read(database, query)
    assert database.read_bytes() == before
