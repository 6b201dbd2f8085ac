"""ISO dates in a CSV file, however often each occurs, with any kind of registry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import serigraph
from cli.running import run
from publishing.clinic import new_series, policy_text
from serigraph.ledger import Series

PEOPLE = 300
POLICY = policy_text(
    columns='[quasi_identifiers.born]\nkind = "date"\n',
    protected='values = ["HIV"]',
    guarantee='threshold = "1/2"\nminimum_group_size = 2',
    strategy='name = "constant"\nreleases = 2',
)


def people(number: int, days: int) -> pl.DataFrame:
    """So many people, born on so many different days, in rows without an order."""
    numbers = pl.int_range(number, eager=True)
    return pl.DataFrame(
        {
            "patient": numbers,
            "born": [date(1980, 1, 31) + timedelta(days=each % days) for each in numbers],
            "diagnosis": ["HIV" if each % 20 == 0 else "flu" for each in numbers],
        }
    ).sample(fraction=1, shuffle=True, seed=3)


def as_csv(frame: pl.DataFrame, path: Path) -> Path:
    frame.write_csv(path)
    return path


def as_dates(frame: pl.DataFrame, _path: Path) -> pl.DataFrame:
    return frame


def as_text(frame: pl.DataFrame, _path: Path) -> pl.DataFrame:
    return frame.cast({"born": pl.String})


def as_midnights(frame: pl.DataFrame, path: Path) -> Path:
    frame.cast({"born": pl.Datetime("ns")}).write_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


SIDES: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "csv": as_csv,
    "dates": as_dates,
    "text": as_text,
    "midnights": as_midnights,
}
REPEATED, ALONE = 7, 2 * PEOPLE


def check(series: Series, expected: set[date]) -> None:
    release = serigraph.status(series).releases[-1]
    table = pl.read_parquet(series.path / "releases" / release.label / "table.parquet")
    ends = table["born"].str.extract_all(r"\d{4}-\d\d-\d\d").explode().unique()
    assert set(ends.str.to_date()) <= expected
    assert serigraph.audit(series).files_agree


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("days", [1, REPEATED, ALONE])
def test_dates_of_a_table(side: str, days: int, tmp_path: Path) -> None:
    series = new_series(tmp_path / "series", POLICY)
    frame = people(PEOPLE, days)
    serigraph.publish(SIDES[side](frame, tmp_path / "t.csv"), series, label="r")
    check(series, set(frame["born"]))


@pytest.mark.parametrize("registered", SIDES)
@pytest.mark.parametrize("listed", SIDES)
@pytest.mark.parametrize(
    ("days", "registry_days"), [(REPEATED, ALONE), (ALONE, REPEATED), (REPEATED, REPEATED)]
)
def test_dates_of_a_table_and_a_registry(
    listed: str, registered: str, days: int, registry_days: int, tmp_path: Path
) -> None:
    series = new_series(tmp_path / "series", POLICY)
    frame, registry = people(PEOPLE, days), people(2 * PEOPLE, registry_days).drop("diagnosis")
    release = serigraph.publish(
        SIDES[listed](frame, tmp_path / "t.csv"),
        series,
        registry=SIDES[registered](registry, tmp_path / "r.csv"),
        label="r",
    )
    same = frame.join(registry, on=["patient", "born"]).height
    assert release.figures["people_differing_from_registry"] == PEOPLE - same
    check(series, {*frame["born"], *registry["born"]})


def test_the_command_publishes_them(tmp_path: Path) -> None:
    table = as_csv(people(PEOPLE, REPEATED), tmp_path / "t.csv")
    registry = as_csv(people(2 * PEOPLE, ALONE).drop("diagnosis"), tmp_path / "r.csv")
    series = new_series(tmp_path / "series", POLICY)
    ran = run("publish", table, "--series", series.path, "--registry", registry)
    assert (ran.code, ran.err) == (0, "")
