"""Nobody but the owner can read anything in a series or an export, whatever the umask."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.builders import FIRST, SECOND, changes_of, new_series, publish
from ledger.modes import modes, open_to_others
from serigraph.ledger import Series


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that everybody may enter, made before the umask is set."""
    (tmp_path / "shared").mkdir(mode=0o755)
    return tmp_path / "shared"


@pytest.mark.usefixtures("umask")
def test_a_series(shared: Path) -> None:
    series = Series.create(
        shared / "clinic", {"policy.toml": b"# policy\n", "lists/of/zip.csv": b"1\n"}
    )
    publish(series, "a", FIRST, cohorts=changes_of({"ann": 0}))
    publish(series, "b", SECOND, cohorts=changes_of({}))
    assert len(modes(series.path)) > 26
    assert "file clinic/ledger/0002/retired.parquet" in modes(series.path)
    assert not open_to_others(series.path)


@pytest.mark.usefixtures("umask")
def test_what_lies_there_while_somebody_publishes(shared: Path) -> None:
    series = new_series(shared)
    with series.writing() as writer:
        assert not open_to_others(writer.staging)
        assert not open_to_others(series.path)


@pytest.mark.usefixtures("umask")
def test_the_journal_of_the_catalog(shared: Path) -> None:
    catalog = new_series(shared).path / "catalog.sqlite"
    with closing(sqlite3.connect(catalog, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = PERSIST")  # it stays, for us to look at
        connection.execute("UPDATE series SET format = format + 1")
        assert "file clinic/catalog.sqlite-journal" in modes(catalog.parent)
        assert not open_to_others(catalog.parent)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("place", ["new", "new/in/another", "empty"])
def test_an_export(shared: Path, place: str) -> None:
    series = new_series(shared)
    publish(series, "a", FIRST)
    if place == "empty":
        (shared / place).mkdir()
        (shared / place).chmod(0o755)
    series.export(shared / place, confidential=True)
    assert len(modes(shared / place)) == 10
    assert not open_to_others(shared / place)
