"""One form for a cell in each role: type by type against each other, and format by format."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import duckdb
import fsspec
import numpy as np
import openpyxl
import polars as pl
import pyreadstat
import pytest

from serigraph.policy import Reading
from serigraph.tables import read_table
from serigraph.tables.columns import Role, canonical

PLAIN = Reading()
INTEGERS = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128),
    *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.UInt128),
)
FLOATS = (pl.Float16, pl.Float32, pl.Float64)
DECIMALS = tuple(pl.Decimal(38, scale) for scale in (0, 1, 2, 10))
NUMBERS = [*INTEGERS, *FLOATS, *DECIMALS]


def read(column: pl.Series, role: Role) -> list[object]:
    cells, problems = canonical(column.alias("c"), role, PLAIN)
    assert not problems
    return cells.to_list()


def refusal(column: pl.Series, role: Role) -> str:
    _, problems = canonical(column.alias("c"), role, PLAIN)
    return problems[0]


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@pytest.mark.parametrize("role", ["id", "categorical", "value"])
def test_a_whole_number_is_one_text_in_every_type(kind: Any, role: Role) -> None:
    assert read(pl.Series([5, 0, 120, None]).cast(kind), role) == ["5", "0", "120", None]
    assert read(pl.Series(["5", "0", "120", None]), role) == ["5", "0", "120", None]


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_a_whole_number_is_one_number_in_every_type(kind: Any) -> None:
    for column in (pl.Series([5, 0, 120]).cast(kind), pl.Series(["5.0", " 0", "120.00"])):
        assert read(column, "numeric") == [5, 0, 120]


@pytest.mark.parametrize("kind", [*FLOATS[1:], pl.Decimal(20, 2), pl.Decimal(38, 12)], ids=str)
def test_a_number_with_decimals_has_the_digits_that_it_needs(kind: Any) -> None:
    numbers = pl.Series([Decimal("2.50"), Decimal("-0.10"), Decimal("7.00")]).cast(kind)
    assert read(numbers, "value") == ["2.5", "-0.1", "7"]
    assert read(numbers, "numeric") == [2.5, -0.1, 7.0]
    assert read(pl.Series(["2.50", "-0.1", "7"]), "numeric") == [2.5, -0.1, 7.0]


def test_what_a_number_is_called_does_not_depend_on_other_rows() -> None:
    whole = read(pl.Series([5.0, 7.0]), "value")
    assert read(pl.Series([5.0, 7.0, 2.5]), "value")[:2] == whole == ["5", "7"]


@pytest.mark.parametrize("number", [10**17, 10**20, -(10**20)])
def test_large_numbers_are_written_without_an_exponent(number: int) -> None:
    for column in (
        pl.Series([float(number)]),
        pl.Series([number], dtype=pl.Int128),
        pl.Series([Decimal(number)], dtype=pl.Decimal(38, 2)),
    ):
        assert read(column, "value") == [str(number)]


def test_small_numbers_are_written_without_an_exponent() -> None:
    assert read(pl.Series([1e-7, 1.5e-7]), "value") == ["0.0000001", "0.00000015"]
    assert read(pl.Series([Decimal("0.00000010")]), "value") == ["0.0000001"]


def test_negative_zero_is_zero_and_not_a_number_is_missing() -> None:
    assert read(pl.Series([-0.0, float("nan")]), "value") == ["0", None]
    assert read(pl.Series([Decimal("-0.00")]), "value") == ["0"]


@pytest.mark.parametrize("role", ["id", "categorical", "value"])
def test_text_keeps_its_zeros_and_loses_its_blanks(role: Role) -> None:
    cells = ["007", "7", " 7\t", "5.00", "\u00a07", "\ufeff7", "7\u200b", " "]
    assert read(pl.Series(cells), role) == ["007", "7", "7", "5.00", "7", "7", "7", None]


@pytest.mark.parametrize("role", ["id", "categorical", "value"])
def test_one_text_in_every_unicode_form(role: Role) -> None:
    names = ["Ménière", "Ångström", "한국", "plain"]
    expected = [unicodedata.normalize("NFC", name) for name in names]
    for form in ("NFC", "NFD"):
        written = pl.Series([unicodedata.normalize(form, name) for name in names])
        for kind in (pl.String, pl.Categorical, pl.Enum(written)):
            assert read(written.cast(kind), role) == expected


def test_truth_is_a_value_and_a_number_but_no_id() -> None:
    truth = pl.Series([True, False, None])
    assert read(truth, "value") == read(truth, "categorical") == ["true", "false", None]
    assert read(truth, "numeric") == [1, 0, None]
    assert "holds Boolean, where ids are expected" in refusal(truth, "id")


DAYS = [date(2024, 1, 31), date(2024, 2, 1)]
MIDNIGHTS = pl.Series([datetime(day.year, day.month, day.day) for day in DAYS])
DATES = {
    "date": pl.Series(DAYS),
    "text": pl.Series([str(day) for day in DAYS]),
    "text that repeats": pl.Series([str(day) for day in DAYS] * 50),
    "categories": pl.Series([str(day) for day in DAYS]).cast(pl.Categorical),
    "milliseconds": MIDNIGHTS.cast(pl.Datetime("ms")),
    "microseconds": MIDNIGHTS,
    "nanoseconds": MIDNIGHTS.cast(pl.Datetime("ns")),
    "a zone": MIDNIGHTS.dt.replace_time_zone("Europe/Berlin"),
}


@pytest.mark.parametrize("name", DATES)
def test_a_date_is_one_date_in_every_type(name: str) -> None:
    assert read(DATES[name], "date")[:2] == DAYS
    assert read(DATES[name], "value")[:2] == [str(day) for day in DAYS]
    assert read(DATES[name], "categorical")[:2] == [str(day) for day in DAYS]


def test_a_time_of_day_is_left_out_of_dates() -> None:
    for column in (
        pl.Series([datetime(2024, 1, 31, 23, 30)]),
        pl.Series(["2024-01-31 23:30"]),
        pl.Series(["2024-01-31T23:30:00.000"]),
    ):
        assert read(column, "date") == DAYS[:1]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([datetime(2024, 1, 31, 23, 30, tzinfo=ZoneInfo("UTC"))]),
        pl.Series(["2024-01-31T23:30:00Z"]),
        pl.Series(["2024-01-31 23:30+02:00"]),
        pl.Series(["2024-01-31 23:30:00 CET"]),
    ],
)
def test_a_time_with_a_zone_may_be_of_another_day(column: pl.Series) -> None:
    assert "whose day depends on the zone (give dates), in 1 cell, row 1" in refusal(column, "date")


REFUSED: dict[str, tuple[pl.Series, tuple[Role, ...]]] = {
    "times of day": (
        pl.Series([time(1)]),
        ("id", "categorical", "value", "numeric", "date"),
    ),
    "durations": (
        pl.Series([timedelta(days=1)]),
        ("id", "categorical", "value", "numeric", "date"),
    ),
    "time stamps": (
        pl.Series([datetime(2024, 1, 31, 10)]),
        ("id", "categorical", "value", "numeric"),
    ),
    "dates": (pl.Series(DAYS), ("id", "numeric")),
    "lists": (pl.Series([["secret"]]), ("id", "categorical", "value", "numeric", "date")),
    "arrays": (
        pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
        ("id", "categorical", "value", "numeric", "date"),
    ),
    "structs": (
        pl.Series([{"a": "secret"}]),
        ("id", "categorical", "value", "numeric", "date"),
    ),
    "bytes": (pl.Series([b"secret"]), ("id", "categorical", "value", "numeric", "date")),
    "enums in lists": (
        pl.Series([["secret"]], dtype=pl.List(pl.Enum(["secret"]))),
        ("id", "categorical", "value", "numeric", "date"),
    ),
    "fractions": (pl.Series([1.5]), ("id", "date")),
    "decimals": (pl.Series([Decimal("1.50")]), ("id", "date")),
    "rounded": (pl.Series([2.0**53]), ("id",)),
    "rounded early": (pl.Series([2.0**24], dtype=pl.Float32), ("id",)),
}


@pytest.mark.parametrize(
    ("name", "role"), [(name, role) for name, (_, roles) in REFUSED.items() for role in roles]
)
def test_what_has_no_certain_form_is_refused_without_a_cell(name: str, role: Role) -> None:
    problem = refusal(REFUSED[name][0], role)
    assert "column 'c'" in problem
    assert "secret" not in problem


FRAME = pl.DataFrame(
    {
        "whole": [1, 2, 40],
        "half": [0.5, 2.0, -7.25],
        "name": ["Ménière", "007", "5.00"],
        "day": [date(2024, 1, 31), date(1950, 2, 1), date(2000, 12, 24)],
    }
)


def by_pyreadstat(path: Path, write: Callable[..., None]) -> Path:
    frame = FRAME.to_pandas()
    frame["day"] = FRAME["day"].to_list()
    write(frame, str(path))
    return path


def in_duckdb(path: Path) -> Path:
    frame = FRAME
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create table t as select whole::decimal(9, 3) as whole, half::float as half, "
            "name, day::timestamp as day from frame"
        )
    assert frame.height
    return path


def by_polars(path: Path, write: str, **kinds: Any) -> Path:
    getattr(FRAME.cast(kinds), write)(path)
    return path


def by_pandas_for_stata(path: Path) -> Path:
    FRAME.cast({"half": pl.Float32, "whole": pl.Float32}).to_pandas().to_stata(
        path, convert_dates={"day": "td"}, write_index=False, version=118
    )
    return path


def in_workbook(path: Path) -> Path:
    book = openpyxl.Workbook()
    for row in (FRAME.columns, *FRAME.rows()):
        book.worksheets[0].append(row)
    book.save(path)
    return path


def in_sqlite(path: Path, columns: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"create table t ({columns})")
        rows = [(*row[:3], str(row[3])) for row in FRAME.rows()]
        connection.executemany("insert into t values (?, ?, ?, ?)", rows)
    return path


def in_folders(folder: Path) -> Path:
    """A folder for each name, of which the files know nothing."""
    for name, part in FRAME.partition_by("name", as_dict=True, include_key=False).items():
        below = folder / "t" / f"name={quote(name[0])}"
        below.mkdir(parents=True)
        part.write_parquet(below / "part-0.parquet")
    (folder / "t" / "_SUCCESS").touch()
    return folder / "t"


def in_store(path: Path) -> str:
    address = "memory://bucket/t.csv"
    with fsspec.open(address, "wb") as file:
        file.write(FRAME.write_csv().encode())
    return address


def in_two_files(folder: Path) -> list[Path]:
    FRAME.head(1).write_parquet(folder / "a.parquet")
    FRAME.tail(2).write_csv(folder / "b.csv")
    return [folder / "a.parquet", folder / "b.csv"]


FORMATS: dict[str, Callable[[Path], Any]] = {
    "csv": lambda folder: by_polars(folder / "t.csv", "write_csv"),
    "parquet": lambda folder: by_polars(
        folder / "t.parquet", "write_parquet", whole=pl.Decimal(12, 4), day=pl.Datetime("ns")
    ),
    "arrow": lambda folder: by_polars(
        folder / "t.arrow", "write_ipc", whole=pl.UInt8, half=pl.Float32, name=pl.Categorical
    ),
    "duckdb": lambda folder: in_duckdb(folder / "t.duckdb"),
    "excel": lambda folder: in_workbook(folder / "t.xlsx"),
    "sqlite": lambda folder: in_sqlite(
        folder / "t.sqlite", "whole int, half real, name text, day date"
    ),
    "sqlite without types": lambda folder: in_sqlite(folder / "t.db", "whole, half, name, day"),
    "sqlite with time stamps": lambda folder: in_sqlite(
        folder / "t.db3", "whole real, half numeric, name varchar(9), day text"
    ),
    "folders": in_folders,
    "a store": in_store,
    "several files": in_two_files,
    "stata": lambda folder: by_pyreadstat(folder / "t.dta", pyreadstat.write_dta),
    "short floats of stata": lambda folder: by_pandas_for_stata(folder / "t.dta"),
    "spss": lambda folder: by_pyreadstat(folder / "t.sav", pyreadstat.write_sav),
    "sas transport": lambda folder: by_pyreadstat(folder / "t.xpt", pyreadstat.write_xport),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_cells(name: str, tmp_path: Path) -> None:
    has_the_same_cells(read_table(FORMATS[name](tmp_path)))


def has_the_same_cells(table: pl.DataFrame) -> None:
    order = {"1": 0, "2": 1, "40": 2}
    table = table[np.argsort([order[cell] for cell in read(table["whole"], "id")])]
    assert read(table["whole"], "id") == read(table["whole"], "value") == ["1", "2", "40"]
    assert read(table["whole"], "numeric") == [1, 2, 40]
    assert read(table["half"], "numeric") == [0.5, 2.0, -7.25]
    assert read(table["name"], "value") == read(table["name"], "id") == ["Ménière", "007", "5.00"]
    assert read(table["day"], "date") == FRAME["day"].to_list()
    assert read(table["day"], "value") == FRAME["day"].cast(pl.String).to_list()
