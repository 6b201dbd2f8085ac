"""Workbooks, SQLite, standard input, pipes, folders, stores, and several tables as one."""

from __future__ import annotations

import gzip
import io
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import fsspec
import openpyxl
import pandas as pd
import polars as pl
import pytest

import serigraph
from serigraph.errors import MissingExtra, TableError
from serigraph.policy import Reading
from serigraph.tables import prepare, read_table
from tables.examples import clinic_policy, clinic_table
from tables.test_formats import EXPECTED, same


def refusal(source: Any, query: str | None = None) -> TableError:
    with pytest.raises(TableError) as caught:
        read_table(source, Reading(query=query))
    assert caught.value.remedy
    assert "secret" not in str(caught.value)
    return caught.value


def workbook(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def sqlite(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_a_sheet_is_the_same_as_a_file(tmp_path: Path) -> None:
    table = clinic_table()
    path = workbook(tmp_path / "t.xlsx", visits=[table.columns, *table.rows()], notes=[["a"]])
    found = read_table(path, Reading(query="visits"))
    assert same(prepare(found, clinic_policy()).population, EXPECTED)


def test_a_cell_of_a_workbook_keeps_what_it_is_among_others(tmp_path: Path) -> None:
    late = [["x"] + [None] * 5] * 1500  # beyond what is usually looked at to find a type
    rows: list[Sequence[Any]] = [
        ["code", "day", "time", "stamp", "true", "none"],
        [7, date(2024, 1, 31), time(10, 30), datetime(2024, 1, 31, 10), True, None],
        ["007", "unknown", time(1), datetime(2024, 1, 31), None, None],
        [7.5, 5, None, None, False, None],
        [None] * 6,
        *late,
    ]
    table = read_table(workbook(tmp_path / "t.xlsx", a=rows))
    assert table["code"].to_list() == ["7", "007", "7.5"] + ["x"] * 1500
    assert table["day"].head(3).to_list() == ["2024-01-31", "unknown", "5"]
    assert table["time"].head(2).to_list() == [time(10, 30), time(1)]
    assert table["stamp"].head(2).to_list() == [datetime(2024, 1, 31, 10), datetime(2024, 1, 31)]
    assert table["true"].head(3).to_list() == [True, None, False]
    assert table["none"].null_count() == table.height


def test_sheets_that_are_not_there_or_not_clear(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", visits=[["a"], [1]], notes=[], empty=[["a"]])
    assert "has 3 sheets" in str(refusal(path))
    assert "no sheet 'vistis'; did you mean 'visits'?" in str(refusal(path, "vistis"))
    assert "does not name the columns" in str(refusal(path, "notes"))
    assert read_table(path, Reading(query="empty")).shape == (0, 1)
    for header in (["a", "a"], ["a", None]):
        bad = workbook(tmp_path / "bad.xlsx", one=[header, ["secret", 2]])
        assert "does not name the columns" in str(refusal(bad))
    (tmp_path / "cut.xlsx").write_bytes(path.read_bytes()[:500])
    assert "damaged, or protected" in str(refusal(tmp_path / "cut.xlsx"))
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 99)
    assert "save it as .xlsx" in str(refusal(tmp_path / "old.xls"))


def test_a_sqlite_table_is_the_same_as_a_file(tmp_path: Path) -> None:
    columns = "patient integer, age integer, born date, zip varchar(9), diagnosis text"
    path = sqlite(tmp_path / "t.db", f"create table visits ({columns})", "create table b (x)")
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = [
            [str(x) if isinstance(x, date) else x for x in row] for row in clinic_table().rows()
        ]
        connection.executemany("insert into visits values (?, ?, ?, ?, ?)", rows)
    for query in (
        "visits",
        "select * from visits order by zip",
        "with v as (select * from visits) select * from v",
    ):
        found = read_table(path, Reading(query=query))
        assert same(prepare(found, clinic_policy()).population, EXPECTED)


def test_types_of_sqlite(tmp_path: Path) -> None:
    path = sqlite(
        tmp_path / "t.sqlite",
        "create table t (code, flag boolean, stamp timestamp, odd timestamp, bytes blob)",
        "insert into t values (7, 1, '2024-01-31 00:00:00', 'unknown', x'41')",
        "insert into t values ('007', 0, '2024-01-31T10:00:00.5', '2024-01-31', null)",
        "insert into t values (7.0, null, null, null, null)",
    )
    table = read_table(path)
    assert table["code"].to_list() == ["7", "007", "7"]
    assert table["flag"].to_list() == [True, False, None]
    assert table["stamp"].to_list()[:2] == [
        datetime(2024, 1, 31),
        datetime(2024, 1, 31, 10, 0, 0, 500_000),
    ]
    assert table["odd"].to_list() == ["unknown", "2024-01-31", None]
    assert table.schema["bytes"] == pl.Binary
    assert read_table(path, Reading(query="select * from t where false")).columns == table.columns


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("absent", "no such table: absent"),
        ("select absent from visits", "no such column: absent"),
        ("selec 1", "syntax error"),
        ("delete from visits returning name", "syntax error"),
        ("select 1; drop table visits", "one statement"),
        ("select load_extension('/tmp/x')", "query failed"),
        ("select cast(x'80' as text) || name from visits", "the query failed: OperationalError"),
        ("select name from visits union all select x'41'", "mixes bytes"),
        ("attach 'other.db' as other", "syntax error"),
        ("pragma journal_mode = wal", "syntax error"),
    ],
)
def test_what_a_query_of_sqlite_cannot_do(query: str, why: str, tmp_path: Path) -> None:
    path = sqlite(
        tmp_path / "t.db", "create table visits (name)", "insert into visits values ('secret')"
    )
    before = path.read_bytes()
    assert why in str(refusal(path, query))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["t.db"]


def test_a_sqlite_file_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 2000)
    assert "cannot be opened" in str(refusal(path))


def as_bytes(write: str) -> bytes:
    file = io.BytesIO()
    getattr(clinic_table(), write)(file)
    return file.getvalue()


def excel_bytes() -> bytes:
    book = openpyxl.Workbook()
    for row in (clinic_table().columns, *clinic_table().rows()):
        book.worksheets[0].append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


BYTES: dict[str, Callable[[], bytes]] = {
    "csv": lambda: as_bytes("write_csv"),
    "csv.gz": lambda: gzip.compress(as_bytes("write_csv")),
    "parquet": lambda: as_bytes("write_parquet"),
    "arrow": lambda: as_bytes("write_ipc"),
    "xlsx": excel_bytes,
}


class Piped(io.TextIOWrapper):
    """Standard input that somebody writes to."""


@pytest.mark.parametrize("form", BYTES)
def test_every_way_to_bring_bytes(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = BYTES[form]()
    monkeypatch.setattr(sys, "stdin", Piped(io.BytesIO(data)))
    os.mkfifo(tmp_path / "pipe")
    writing = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(data))
    writing.start()
    with fsspec.open(f"memory://bucket/of/t.{form}", "wb") as file:
        file.write(data)
    for source in ("-", tmp_path / "pipe", f"memory://bucket/of/t.{form}"):
        assert same(prepare(read_table(source), clinic_policy()).population, EXPECTED)
    writing.join()
    assert "the file is empty" in str(refusal("-"))  # it was read


@pytest.mark.parametrize(
    ("data", "why"), [(b"", "empty"), (b"%PDF-1.7", "PDF"), (b"SQLite format 3\0", "files only")]
)
def test_bytes_that_are_no_table(data: bytes, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(io.BytesIO(data)))
    assert why in str(refusal("-"))


def test_a_table_is_piped_into_the_command(tmp_path: Path) -> None:
    people = pl.DataFrame({"patient": range(200), "age": [i % 90 for i in range(200)]})
    table = people.with_columns(
        diagnosis=pl.when(pl.col("patient") % 40 == 0).then(pl.lit("HIV")).otherwise(pl.lit("flu"))
    )
    run = [sys.executable, "-m", "serigraph"]
    for command in (
        ["init", str(tmp_path / "s"), "--from", "-", "--persistence", "transient"],
        ["publish", "-", "--series", str(tmp_path / "s")],
    ):
        done = subprocess.run(
            [*run, *command], input=table.write_csv().encode(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert [each.label for each in serigraph.status(tmp_path / "s").releases] == ["release-1"]


def hive(folder: Path) -> Path:
    for path, rows in {
        "year=2024/ward=A%2FB/x.parquet": [1, 2],
        "year=2023/ward=__HIVE_DEFAULT_PARTITION__/x.parquet": [3],
        "year=2023/ward=007/y.pq": [4],
        "_temporary/z.parquet": [5],
    }.items():
        (folder / path).parent.mkdir(parents=True)
        pl.DataFrame({"id": rows}).write_parquet(folder / path)
    return folder


ROWS = [(4, "2023", "007"), (3, "2023", None), (1, "2024", "A/B"), (2, "2024", "A/B")]


def test_folders_that_name_columns(tmp_path: Path) -> None:
    folder = hive(tmp_path / "t")
    assert sorted(read_table(folder).rows(), key=lambda row: row[0]) == sorted(
        ROWS, key=lambda row: row[0]
    )
    store = fsspec.filesystem("memory")
    store.put(f"{folder}/", "/hive", recursive=True)
    assert sorted(read_table("memory://hive").rows()[:1]) == ROWS[:1]
    pl.DataFrame({"id": [6], "ward": ["x"]}).write_parquet(
        folder / "year=2024/ward=A%2FB/y.parquet"
    )
    assert "stand in the files, too" in str(refusal(folder))
    (tmp_path / "empty").mkdir()
    assert "without Parquet files" in str(refusal(tmp_path / "empty"))


@pytest.mark.parametrize(
    ("address", "extra"),
    [
        ("s3://bucket/secret.csv", "s3"),
        ("s3a://key:secret@bucket/t.csv", "s3"),
        ("gs://bucket/t.parquet", "gs"),
        ("abfss://container@secret.dfs.core.windows.net/t.csv", "azure"),
        ("postgresql://me:secret@host/t", "postgres"),
        ("memory://t.csv", "fsspec"),
        ("t.xlsx", "excel"),
    ],
)
def test_the_extra_is_named(
    address: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("s3fs", "gcsfs", "adlfs", "psycopg", "fsspec", "fastexcel"):
        monkeypatch.setitem(sys.modules, package, None)
    if "://" not in address:
        address = str(workbook(tmp_path / address, a=[["a"], [1]]))
    with pytest.raises(MissingExtra, match=rf"serigraph\[{extra}\]") as caught:
        read_table(Path(address) if address.startswith("s3:") else address)
    assert "secret" not in str(caught.value)


def test_a_store_without_the_file() -> None:
    error = refusal("memory://secret:bucket/absent.csv")
    assert error.where == "memory://.../absent.csv"
    assert "no file at this address" in error.what


class _Answered(Exception):
    """As packages of stores raise them, with the server's status."""

    status_code = 403


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (PermissionError("secret"), "the store refuses access (PermissionError)"),
        (OSError("Forbidden: secret"), "the store refuses access (OSError)"),
        (_Answered("secret"), "the store refuses access (_Answered)"),
        (ConnectionError("secret"), "the store gives nothing (ConnectionError)"),
        (ValueError("secret"), "the store gives nothing (ValueError)"),
    ],
)
def test_why_a_store_gives_nothing(
    failure: Exception, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(fsspec.get_filesystem_class("memory"), "cat_file", fail)
    with fsspec.open("memory://bucket/t.csv", "wb") as file:
        file.write(b"a\n1\n")
    assert refusal("memory://bucket/t.csv").what == why


def test_an_audit_reads_a_release_from_an_address_and_names_it_without_secrets(
    tmp_path: Path,
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'version = 1\nperson = { id = "id" }\nsensitive = { column = "d" }\n'
        'quasi_identifiers = { age = { kind = "numeric" } }\nprotected = { values = ["flu"] }\n'
        'guarantee = { threshold = "1/2" }\n'
    )
    raw = pl.DataFrame({"id": [1, 2], "age": [30, 31], "d": ["flu", "gout"]})
    with fsspec.open("memory://bucket/first.csv", "wb") as file:
        file.write(b'age,d\n"[30, 31]",flu\n"[30, 31]",gout\n')
    found = serigraph.audit(releases=["memory://bucket/first.csv"], policy=policy, raw=[raw])
    assert [each.label for each in found.releases] == ["first.csv"]
    for address in (
        "memory://bucket/absent.csv?key=secret",
        "postgresql://me:secret@127.0.0.1:1/x",
    ):
        with pytest.raises(TableError) as caught:
            serigraph.audit(releases=[address], policy=policy, raw=[raw])
        assert "secret" not in str(caught.value)


def test_several_tables_are_one(tmp_path: Path) -> None:
    table = clinic_table()
    table[:2].write_csv(tmp_path / "a.csv")
    table[2:3].select(table.columns[::-1]).write_parquet(tmp_path / "b.parquet")
    parts = [tmp_path / "a.csv", tmp_path / "b.parquet", table[3:].to_pandas()]
    assert same(prepare(read_table(parts), clinic_policy()).population, EXPECTED)
    assert same(prepare(read_table(tuple(parts[::-1])), clinic_policy()).population, EXPECTED)


def test_tables_that_are_not_one(tmp_path: Path) -> None:
    first = pl.DataFrame({"id": [1], "secret": ["x"]})
    assert "1 of the first are missing, and 0" in str(refusal([first, first.select("id")]))
    assert "different types" in str(refusal([first, first.with_columns(secret=pl.lit(b"x"))]))
    assert "no table in the list" in str(refusal([]))
    late = pl.DataFrame({"id": [2**60 + 1], "secret": [None]})
    early = pl.DataFrame({"id": [0.5], "secret": ["y"]})
    both = read_table([late, early])
    assert both.rows() == [(str(2**60 + 1), None), ("0.5", "y")]


def test_ids_in_the_index_of_pandas(tmp_path: Path) -> None:
    columns = {"age": [i % 90 for i in range(200)], "diagnosis": ["HIV", *["flu"] * 39] * 5}
    index = pd.Index([f"P{i}" for i in range(200)], name="patient")
    begun = serigraph.init(
        tmp_path / "s", pd.DataFrame(columns, index=index), persistence="transient"
    )
    assert begun.person == "patient"
    release = serigraph.publish(pd.DataFrame(columns, index=index), tmp_path / "s")
    assert release.figures["people"] == 200
