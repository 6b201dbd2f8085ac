"""What a publisher's folders let others see, and what the commands say about files of nobody."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.running import run
from ledger.modes import modes, open_to_others
from publishing.clinic import clinic, new_series, policy_text


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    made = clinic(releases=2, people=200, registered=500, seed=31, protected_share=0.1)
    paths = [tmp_path / "2024H1.csv", tmp_path / "2024H2.csv"]
    for path, table in zip(paths, made.tables, strict=True):
        table.write_csv(path)
    return paths


@pytest.mark.usefixtures("open_umask")
def test_everything_in_a_series_and_an_export_is_private(
    tables: list[Path], tmp_path: Path
) -> None:
    series = tmp_path / "clinic"
    assert run("init", series, "--from", tables[0]).code == 0
    assert not open_to_others(series)
    (series / "policy.toml").write_text(
        policy_text(output='form = "generalised"\nfiles = ["csv", "parquet"]')
    )
    assert run("publish", tables[0], "--series", series).code == 0
    assert run("report", series).code == 0
    assert run("report", series).code == 0, "a second report replaces the first"
    assert run("export", series, tmp_path / "export").code == 0
    written = tmp_path / "written"
    written.mkdir(mode=0o700)
    column, files = ("--column", "age", "--by", "intervals", "--part", "10"), ("t.csv", "t.svg")
    for _again in range(2):
        out = [each for name in files for each in ("--out", written / name)]
        assert run("taxonomy", tables[0], *column, *out).code == 0
        plan = run("plan", tables[0], "--series", series, "--out", written / "plan.html")
        assert plan.code == 0, plan.err
    assert {each.name for each in written.iterdir()} == {*files, "plan.html"}
    assert not open_to_others(written)
    assert {"folder clinic/report", "file clinic/releases/2024H1/table.csv"} <= set(modes(series))
    assert not open_to_others(series)
    assert not open_to_others(tmp_path / "export")


def test_files_of_nobody_are_noticed_and_kept(tables: list[Path], tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", policy_text()).path
    assert run("publish", tables[0], "--series", series).code == 0
    assert run("status", series, "--json").json["notes"] == []
    unknown = ["ledger/0001/copy.parquet", "releases/2024H1/raw.csv"]
    for name in unknown:
        (series / name).write_text("patient,diagnosis")
    told = [
        run("status", series),
        run("audit", series),
        run("publish", tables[1], "--series", series),
    ]
    noted = [
        run("status", series, "--json").json["notes"],
        run("audit", series, "--json").json["audit"]["notes"],
    ]
    for each in told:
        assert each.code == 0
        assert all(f"note: no release has the file {name!r}" in each.out for name in unknown)
    for notes in noted:
        assert [name in note for name, note in zip(unknown, notes, strict=True)] == [True, True]
    assert all((series / name).read_text() == "patient,diagnosis" for name in unknown)


def test_many_files_of_nobody_are_counted(tables: list[Path], tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", policy_text()).path
    for number in range(20):
        (series / "releases" / f"{number:02}.tmp").touch()
    notes = run("publish", tables[0], "--series", series, "--json").json["notes"]
    assert [note for note in notes if "'releases/07.tmp'" in note]
    assert not [note for note in notes if "'releases/08.tmp'" in note]
    assert [note for note in notes if "12 further files" in note]
