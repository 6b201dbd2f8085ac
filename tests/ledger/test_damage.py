"""A file that was changed or lost is noticed before the next release, and named."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from ledger.builders import FIRST, SECOND, changes_of, new_series, publish, shape_on_disk
from serigraph.errors import LedgerDamaged, SeriesError
from serigraph.ledger import Series

PARTS = [
    f"ledger/{release}/{part}.parquet"
    for release in ("0001", "0002")
    for part in ("people", "members", "groups", "values", "holders", "cohorts", "retired")
]
PUBLIC = [f"releases/{label}/{name}" for label in "ab" for name in ("table.csv", "plots/risk.json")]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    series = new_series(tmp_path_factory.mktemp("template"))
    publish(series, "a", FIRST, cohorts=changes_of({"ann": 0, "bob": 0}))
    publish(series, "b", SECOND, cohorts=changes_of({"zoe": 1}, ["bob"]))
    return series.path


@pytest.fixture
def series(template: Path, tmp_path: Path) -> Series:
    return Series.open(shutil.copytree(template, tmp_path / "clinic"))


def change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def refuses_to_publish(series: Series, match: str) -> None:
    before = shape_on_disk(series.path)
    with pytest.raises(LedgerDamaged, match=match):
        publish(series, "c", FIRST)
    assert shape_on_disk(series.path) == before


@pytest.mark.parametrize("damage", [change_a_byte, Path.unlink])
@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_changed_or_missing(series: Series, name: str, damage: object) -> None:
    assert callable(damage)
    damage(series.path / name)
    with pytest.raises(LedgerDamaged, match=name):
        series.check()
    refuses_to_publish(series, name)
    with pytest.raises(LedgerDamaged, match=name):
        series.history(pl.Series(["ann"]), ["HIV", "flu"])
    with pytest.raises(LedgerDamaged, match=name):
        series.export(series.path.parent / "out", confidential=True)


@pytest.mark.parametrize("damage", [change_a_byte, Path.unlink])
@pytest.mark.parametrize("part", ["people", "holders", "cohorts", "retired"])
@pytest.mark.parametrize("release", ["0001", "0002"])
def test_a_part_of_cohorts_is_changed_or_missing(
    series: Series, release: str, part: str, damage: object
) -> None:
    assert callable(damage)
    name = f"ledger/{release}/{part}.parquet"
    damage(series.path / name)
    with pytest.raises(LedgerDamaged, match=name):
        series.reader().cohorts(["HIV", "flu"])
    if part == "holders":
        with pytest.raises(LedgerDamaged, match=name):
            list(series.reader().holders())


@pytest.mark.parametrize("damage", [change_a_byte, Path.unlink])
@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_file_is_changed_or_missing(series: Series, name: str, damage: object) -> None:
    assert callable(damage)
    series.check()
    damage(series.path / name)
    with pytest.raises(LedgerDamaged, match=name):
        series.check()


def test_a_whole_folder_of_parts_is_missing(series: Series) -> None:
    shutil.rmtree(series.path / "ledger" / "0001")
    refuses_to_publish(series, "ledger/0001")


def test_a_marker_in_a_committed_folder_does_not_get_it_swept(series: Series) -> None:
    (series.path / "ledger" / "0002" / "UNCOMMITTED").touch()
    Series.open(series.path)
    publish(series, "c", FIRST)
    series.check()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("label", "c"),
        ("published_at", "2020-01-01T00:00:00+00:00"),
        ("id_type", "integer"),
        ("table_digest", "forget that this table is out"),
        ("policy_json", "{}"),
        ("protected_json", "[]"),
        ("threshold", "1/2"),
        ("strategy", "none"),
        ("adversary", "presence known"),
        ("summary_json", "not even JSON"),
        ("newcomers", 4),
        ("members", "many"),
        ("groups", 2.5),
        ("parts", "{}"),
        ("files", b"\xff"),
        ("chain", "0" * 64),
        ("number", 7),
    ],
)
def test_a_row_of_the_catalog_was_changed_by_hand(
    series: Series, column: str, value: object
) -> None:
    with closing(sqlite3.connect(series.path / "catalog.sqlite")) as catalog:
        catalog.execute(f"UPDATE release SET {column} = ? WHERE number = 1", (value,))
        catalog.commit()
    for reading in (series.releases, series.check, series.people):
        with pytest.raises(LedgerDamaged, match=r"catalog\.sqlite, release"):
            reading()
    refuses_to_publish(series, "catalog")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM release WHERE number = 1",
        "UPDATE series SET identity = 'another'",
        "DELETE FROM series",
        "DROP TABLE release",
    ],
)
def test_the_catalog_was_changed_as_a_whole(series: Series, statement: str) -> None:
    with closing(sqlite3.connect(series.path / "catalog.sqlite")) as catalog:
        catalog.execute(statement)
        catalog.commit()
    with pytest.raises(LedgerDamaged, match="catalog"):
        series.check()
    refuses_to_publish(series, "catalog")


@pytest.mark.parametrize("stranger", ["ledger/0002", "releases/b"])
def test_an_old_copy_of_the_catalog_forgets_nothing(series: Series, stranger: str) -> None:
    """The last release is in no chain, but the folders that it left show that it was made."""
    with closing(sqlite3.connect(series.path / "catalog.sqlite")) as catalog:
        catalog.execute("DELETE FROM release WHERE number = 2")
        catalog.commit()
    for name in {"ledger/0002", "releases/b"} - {stranger}:
        shutil.rmtree(series.path / name)
    Series.open(series.path)
    assert (series.path / stranger).is_dir()
    with pytest.raises(LedgerDamaged, match=stranger):
        series.check()
    refuses_to_publish(series, stranger)


def test_a_catalog_that_is_no_database(series: Series) -> None:
    (series.path / "catalog.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(LedgerDamaged, match="catalog"):
        Series.open(series.path).releases()


def test_a_series_of_a_later_format(series: Series) -> None:
    with closing(sqlite3.connect(series.path / "catalog.sqlite")) as catalog:
        catalog.execute("UPDATE series SET format = 99")
        catalog.commit()
    with pytest.raises(SeriesError, match="format 99"):
        series.releases()


def test_hidden_folders_beside_the_releases_do_no_harm(series: Series) -> None:
    (series.path / "releases" / ".git").mkdir()
    series.check()
    publish(series, "c", FIRST)
