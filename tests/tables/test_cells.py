"""What cells mean: numbers, dates and text, and which of them are missing."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import polars as pl
import pytest

from serigraph.policy import Reading
from serigraph.tables.cells import Reader, read_dates, read_numbers, read_text

PLAIN = Reading()


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", " 2 ", "", None], [1, 2, None, None]),
        (["1", "2.5", "1e3"], [1.0, 2.5, 1000.0]),
        (["1.0", "2"], [1, 2]),
        (["1,5", "2"], [1.5, 2.0]),
        ([1.0, float("nan"), 3.0], [1, None, 3]),
        ([True, False], [1, 0]),
        ([Decimal("1.50")], [1.5]),
        (["nan", "7"], [None, 7]),
        ([-0.0, 0.5], [0.0, 0.5]),
    ],
)
def test_numbers(cells: list[object], expected: list[object]) -> None:
    column, problems = read_numbers(pl.Series("c", cells), PLAIN)
    assert not problems
    assert column.to_list() == expected
    assert "-0.0" not in str(column.to_list())


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (["1", "x", "y"], "text where numbers are expected"),
        (["1", "inf"], "infinite numbers in 1 cell, row 2"),
        ([1.0, float("-inf")], "infinite numbers in 1 cell, row 2"),
        (["1,234", "5,678"], "set decimal"),
        ([date(2020, 1, 1)], "where numbers are expected"),
        ([[1], [2]], "where numbers are expected"),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), "64-bit"),
    ],
)
def test_what_is_no_number(cells: list[object], problem: str) -> None:
    _, problems = read_numbers(pl.Series("c", cells), PLAIN)
    assert problem in problems[0]


def test_reading_options_say_what_a_number_is() -> None:
    column = pl.Series("c", ["1,234", "NA"])
    numbers, problems = read_numbers(column, Reading(decimal=",", null_values=("NA",)))
    assert (numbers.to_list(), problems) == ([1.234, None], [])
    _, problems = read_numbers(column, Reading(decimal="."))
    assert "2 cells, rows 1, 2" in problems[0]


@pytest.mark.parametrize(
    "cells",
    [
        ["2024-02-13", "2024-03-01"],
        ["2024-02-13T10:00:00", "2024-03-01 23:59"],
        ["2024/02/13", "2024/03/01"],
        ["20240213", "20240301"],
        [20240213, 20240301],
        ["13.02.2024", "01.03.2024"],
        ["13/02/2024", "1/3/2024"],
        ["02/13/2024", "03/01/2024"],
        ["13-02-2024", "01-03-2024"],
        [datetime(2024, 2, 13, 5), datetime(2024, 3, 1)],
        [date(2024, 2, 13), date(2024, 3, 1)],
    ],
)
def test_dates(cells: list[object]) -> None:
    column, problems = read_dates(pl.Series("c", cells), PLAIN)
    assert not problems
    assert column.to_list() == [date(2024, 2, 13), date(2024, 3, 1)]


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (["01/02/2024", "03/04/2024"], "day or the month first"),
        (["2024-02-13", "soon"], "1 cell, row 2"),
        (["13/02/24"], "not a date"),
        ([1.5], "where dates are expected"),
        ([["2024-01-01"]], "where dates are expected"),
    ],
)
def test_what_is_no_date(cells: list[object], problem: str) -> None:
    _, problems = read_dates(pl.Series("c", cells), PLAIN)
    assert problem in problems[0]


def test_the_same_day_and_month_is_not_ambiguous() -> None:
    column, problems = read_dates(pl.Series("c", ["01/01/2024", "02/02/2024"]), PLAIN)
    assert (column.to_list(), problems) == ([date(2024, 1, 1), date(2024, 2, 2)], [])


def test_a_given_date_format_is_used() -> None:
    column, problems = read_dates(pl.Series("c", ["01/02/24"]), Reading(date_format="%m/%d/%y"))
    assert (column.to_list(), problems) == ([date(2024, 1, 2)], [])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["02139", " x ", "  ", None], ["02139", "x", None, None]),
        ([65001, None], ["65001", None]),
        ([65001.0, float("nan")], ["65001", None]),
        ([1.5, 2.0], ["1.5", "2"]),
        ([True, False], ["true", "false"]),
        ([date(2024, 1, 2)], ["2024-01-02"]),
    ],
)
def test_text(cells: list[object], expected: list[object]) -> None:
    column, problems = read_text(pl.Series("c", cells), PLAIN)
    assert (column.to_list(), problems) == (expected, [])


@pytest.mark.parametrize(
    ("read", "cells"),
    [
        (read_text, [" a", "a", "", None, "b "]),
        (read_text, ["a", "b", None]),
        (read_numbers, ["1", " 2 ", "", None, "1,5"]),
        (read_numbers, ["1", "two", "3"]),
        (read_dates, ["2024-01-31", "2024-02-01"]),
        (read_dates, ["2024-01-31", "2024-02-01 10:00", None, ""]),
        (read_dates, ["01/02/2024", "02/01/2024"]),
    ],
)
def test_cells_that_repeat_are_read_as_each_of_them_is(
    read: Reader, cells: list[str | None]
) -> None:
    once, problems = read(pl.Series("c", cells, dtype=pl.String), PLAIN)
    often, repeated = read(pl.Series("c", cells * 100, dtype=pl.String), PLAIN)
    assert often.dtype == once.dtype
    assert often.to_list() == once.to_list() * 100
    assert often.name == "c"
    assert bool(problems) == bool(repeated)
    assert all("row" in each or "[reading]" in each for each in repeated)


@pytest.mark.parametrize("days", [-100_000_000, -800_000, 2_932_897, 100_000_000])
@pytest.mark.parametrize(
    ("kind", "per_day"),
    [
        (pl.Date(), 1),
        (pl.Datetime("ms"), 86_400 * 10**3),
        (pl.Datetime("us", "UTC"), 86_400 * 10**6),
    ],
)
def test_dates_beyond_the_calendar_are_refused(days: int, kind: pl.DataType, per_day: int) -> None:
    cells = pl.Series("born", [0, days * per_day]).cast(pl.Int32 if per_day == 1 else pl.Int64)
    found, problems = read_dates(cells.cast(kind), Reading())
    assert found.null_count() == 2
    assert problems == ["column 'born': dates outside the years 1 to 9999 in 1 cell, row 2"]


def test_a_year_of_five_digits_is_no_date() -> None:
    found, problems = read_dates(pl.Series("born", ["2020-01-31", "+12020-01-31"]), Reading())
    assert found.null_count() == 1
    assert len(problems) == 1
