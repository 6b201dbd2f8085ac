"""What people give that is no table: the command says what, where and what to do."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from cli.running import run
from docs.pages import ROOT
from serigraph import publish
from serigraph.errors import TableError
from serigraph.ledger import Series
from serigraph.policy import Reading
from serigraph.tables import read_table

POLICY = """version = 1
person = { id = "patient" }
quasi_identifiers = { born = { kind = "numeric" } }
sensitive = { column = "diagnosis" }
guarantee = { threshold = "1/2" }
protected = { values = ["HIV"] }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sources") / "you"
    shutil.copytree(ROOT / "docs/example", made)
    Series.create(made / "clinic", {"policy.toml": POLICY.encode()})
    for name in ("visits.sqlite", "visits.db"):
        with sqlite3.connect(made / name) as database:
            database.execute("create table visits (patient text)")
            database.execute("create table wards (ward text)")
        database.close()
    for name in ("visits.xlsx", "visits.ods"):
        (made / name).write_bytes(b"PK\x03\x04" + bytes(100))
    return made


def serigraph(folder: Path, *arguments: str) -> tuple[int, str]:
    with contextlib.chdir(folder):
        ran = run(*arguments)
    return ran.code, ran.err


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("visits.xlsx", ["the workbook is damaged", "visits.xlsx", "save it again"]),
        ("visits.ods", ["spreadsheets are read as .xlsx only", "visits.ods", "save it as .xlsx"]),
        ("visits.sqlite", ["has 2 tables", "visits.sqlite", "name one of its tables with --query"]),
        ("visits.db", ["has 2 tables", "visits.db", "name one of its tables with --query"]),
        ("memory://a/visits.csv", ["no file at this address", "memory://.../visits.csv", "check"]),
        (
            "https://example.org/visits.csv",
            ["https addresses cannot be read", "https://...", "download the file"],
        ),
        (
            "postgres://me:pass1234@127.0.0.1:1/visits",
            ["the server cannot be reached", "postgres://...", "check host and port"],
        ),
        (
            "jdbc:mysql://host/?password=pass1234",
            ["jdbc addresses cannot be read", "jdbc://...", "export"],
        ),
        ("/dev/null", ["cannot come from a device", "/dev/null", "give the path of a file"]),
        ("taxonomies", ["a folder without Parquet files", "taxonomies", "give the path of a file"]),
        ("nothing.xlsx", ["the file does not exist", "nothing.xlsx", "check the path"]),
    ],
)
def test_a_source_that_is_not_read(folder: Path, source: str, words: list[str]) -> None:
    for command in (
        ["publish", source, "--series", "clinic"],
        ["init", "another", "--from", source],
        ["publish", "2024H1.csv", "--series", "clinic", "--registry", source],
    ):
        code, said = serigraph(folder, *command)
        assert code == 3, said
        assert said.startswith("TableError: ")
        assert [word for word in words if word not in said] == []
        assert "pass1234" not in said


def test_a_missing_column_is_named_with_the_nearest_one(folder: Path) -> None:
    text = (folder / "2024H1.csv").read_text()
    (folder / "renamed.csv").write_text(text.replace("diagnosis", "Diagnoses", 1))
    code, said = serigraph(folder, "publish", "renamed.csv", "--series", "clinic")
    assert code == 3
    assert "the table has no column 'diagnosis'; did you mean 'Diagnoses'?" in said
    assert "'born'" not in said
    code, said = serigraph(folder, "init", "another", "--from", "2024H1.csv", "--person", "Patiens")
    assert code == 3
    assert "the table has no column 'Patiens'; did you mean 'patient'?" in said


def test_a_file_without_a_header_shows_no_cell(folder: Path) -> None:
    _, first, *rows = (folder / "2024H1.csv").read_text().splitlines(keepends=True)
    (folder / "bare.csv").write_text("".join([first, *rows]))
    code, said = serigraph(folder, "publish", "bare.csv", "--series", "clinic")
    assert code == 3
    assert "does its first line name the columns?" in said
    assert [cell for cell in first.split(",") if len(cell) > 2 and cell in said] == []


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_query_for_a_file_that_takes_none_is_refused(ending: str, tmp_path: Path) -> None:
    """The rows that the query was to leave out would go out."""
    table = pl.DataFrame(
        {"patient": range(60), "born": [1950 + n % 30 for n in range(60)], "diagnosis": "flu"}
    )
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        table.write_parquet(path)
    else:
        text = table.write_csv().encode()
        path.write_bytes(gzip.compress(text) if ending == "csv.gz" else text)
    series = Series.create(tmp_path / "clinic", {"policy.toml": POLICY.encode()}).path
    for command in (
        ("publish", path, "--series", series),
        ("draft", path, "--series", series),
        ("plan", path, "--series", series),
        ("init", tmp_path / "new", "--from", path),
        ("taxonomy", path, "--column", "born", "--by", "mask"),
    ):
        ran = run(*command, "--query", "select * from t where born < 1960")
        assert ran.code == 3, command
        assert "takes no query" in ran.err
        assert str(path) in ran.err
    with pytest.raises(TableError, match="a table in memory takes no query"):
        publish(table, series, query="t")
    assert not Series.open(series).releases()
    assert not (tmp_path / "new").exists()


def test_a_query_of_the_policy_is_for_databases_only() -> None:
    assert read_table(pl.DataFrame({"a": [1]}), Reading(query="visits")).height == 1
