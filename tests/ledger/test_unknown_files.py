"""Files in the ledger or among the public files that no release has are named, and stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ledger.builders import FIRST, SECOND, new_series, publish
from serigraph.ledger import Series

UNKNOWN = [
    "ledger/0001/people-copy.parquet",
    "ledger/notes.txt",
    "releases/.hidden/ids.csv",
    "releases/a/plots/extra.json",
    "releases/a/raw.csv",
    "releases/index.html",
]


@pytest.fixture
def series(tmp_path: Path) -> Series:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    return series


def test_nothing_is_unknown_in_a_series_as_it_was_made(series: Series) -> None:
    assert series.unknown_files() == ()
    with series.writing() as writer:
        assert writer.unknown_files == ()
    publish(series, "b", SECOND)
    assert series.unknown_files() == ()


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_file_of_nobody(series: Series, name: str) -> None:
    path = series.path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("what is this")
    assert series.unknown_files() == (name,)
    with series.writing() as writer:
        assert writer.unknown_files == (name,)
    publish(series, "b", SECOND)
    series.check()
    assert path.read_text() == "what is this"


def test_a_link_to_a_folder(series: Series, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (series.path / "releases" / "a" / "data").symlink_to(tmp_path / "data")
    assert series.unknown_files() == ("releases/a/data",)


def test_a_name_that_is_no_text(series: Series) -> None:
    odd = os.fsencode(series.path) + b"/releases/a/\xff\n.csv"
    Path(os.fsdecode(odd)).touch()
    assert series.unknown_files() == ("releases/a/\udcff\n.csv",)


def test_what_a_publisher_is_writing_is_not_unknown(series: Series) -> None:
    parts = series.path / "ledger" / "0002"
    parts.mkdir()
    (parts / "UNCOMMITTED").touch()
    (parts / "people.parquet").touch()
    assert series.unknown_files() == ()
