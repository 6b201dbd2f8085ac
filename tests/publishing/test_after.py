"""A publisher who says which release it has seen last never publishes to an old or another past."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import serigraph
from cli.running import run
from publishing.clinic import Clinic, clinic, new_series, policy_text
from serigraph.errors import SeriesDiverged
from serigraph.ledger import Series


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=4, people=200, registered=500, seed=31, protected_share=0.1)


@pytest.fixture(scope="module")
def original(hospital: Clinic, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with one release."""
    series = new_series(tmp_path_factory.mktemp("after") / "clinic", policy_text())
    serigraph.publish(hospital.tables[0], series, label="r1")
    return series.path


@pytest.fixture
def series(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "clinic")


def publish(hospital: Clinic, series: Path, number: int, after: str | None) -> str:
    table = hospital.tables[number - 1]
    return serigraph.publish(table, series, label=f"r{number}", after=after).record.chain


def refused(hospital: Clinic, series: Path, number: int, after: str, words: str) -> None:
    before = Series.open(series).releases()
    with pytest.raises(SeriesDiverged, match=words):
        publish(hospital, series, number, after)
    assert Series.open(series).releases() == before
    assert not any((series / "staging").iterdir())


def test_a_restored_backup(hospital: Clinic, series: Path, tmp_path: Path) -> None:
    first = serigraph.status(series).releases[-1].chain
    backup = shutil.copytree(series, tmp_path / "backup")
    second = publish(hospital, series, 2, after=first)
    assert second != first
    refused(hospital, backup, 3, second, "restored from an old backup")
    assert publish(hospital, series, 3, after=second)


def test_two_copies_that_published_the_same_table(
    hospital: Clinic, series: Path, tmp_path: Path
) -> None:
    fork = shutil.copytree(series, tmp_path / "fork")
    ours, theirs = (publish(hospital, each, 2, after=None) for each in (series, fork))
    assert ours != theirs
    refused(hospital, fork, 3, ours, "a copy that diverged")


def test_somebody_else_has_published_meanwhile(hospital: Clinic, series: Path) -> None:
    first = serigraph.status(series).releases[-1].chain
    publish(hospital, series, 2, after=None)
    refused(hospital, series, 3, first, "^1 release came after the one")
    publish(hospital, series, 3, after=None)
    refused(hospital, series, 4, first, "^2 releases came after the one")
    refused(hospital, series, 4, "", "^3 releases came after the one")


def test_a_series_without_a_release(hospital: Clinic, tmp_path: Path) -> None:
    series = new_series(tmp_path / "new", policy_text()).path
    refused(hospital, series, 1, "0" * 64, "does not have the release")
    assert publish(hospital, series, 1, after="")


def test_the_command(hospital: Clinic, tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", policy_text()).path
    for number, table in enumerate(hospital.tables, 1):
        table.write_csv(tmp_path / f"r{number}.csv")
    seen = run("status", series, "--json").json["chain"]
    assert seen == ""
    first = run("publish", tmp_path / "r1.csv", "--series", series, "--after", seen, "--json")
    assert first.code == 0
    seen = run("status", series, "--json").json["chain"]
    assert seen == first.json["chain"]
    wrong = run("publish", tmp_path / "r2.csv", "--series", series, "--after", "0" * 64, "--json")
    assert wrong.code == 6
    assert wrong.json["error"] == "SeriesDiverged"
    second = run("publish", tmp_path / "r2.csv", "--series", series, "--after", seen)
    assert second.code == 0
    listed = run("status", series, "--json").json
    assert listed["releases"][0]["chain"] == seen
    assert listed["releases"][-1]["chain"] == listed["chain"]


def test_a_clock_that_runs_backwards(hospital: Clinic, series: Path) -> None:
    last = datetime.fromisoformat(Series.open(series).releases()[-1].published_at)
    back = serigraph.publish(
        hospital.tables[1], series, label="r2", published_at=last - timedelta(days=900)
    )
    assert back.figures["is_dated_back"] is True
    assert [note for note in back.notes if "dated before the previous one" in note]
    folder = series / "releases" / "r2"
    assert "dated before the previous one" in (folder / "report.html").read_text()
    assert serigraph.verify(folder / "certificate.json").certificate.figures["is_dated_back"]
    onward = serigraph.publish(
        hospital.tables[2], series, label="r3", published_at=datetime(1971, 1, 1, tzinfo=UTC)
    )
    assert onward.figures["is_dated_back"] is True
    forward = serigraph.publish(hospital.tables[3], series, label="r4")
    assert forward.figures["is_dated_back"] is False
    assert not [note for note in forward.notes if "dated" in note]
    assert serigraph.audit(series).is_within
    assert serigraph.report(series).certificate.exists()
