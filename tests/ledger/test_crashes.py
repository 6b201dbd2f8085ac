"""SIGKILL at every point: the next command recovers, and no release is half there."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from ledger import crashing
from ledger.builders import FIRST, SECOND, new_series, proof_of, publish
from serigraph.errors import AlreadyPublished, LedgerDamaged
from serigraph.ledger import Series


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    series = new_series(tmp_path_factory.mktemp("template"))
    publish(series, "a", FIRST)
    return series.path


def killed(exit_code: int) -> bool:
    return exit_code == -signal.SIGKILL


def labels_in_catalog(path: Path) -> set[str]:
    with closing(sqlite3.connect(path / "catalog.sqlite")) as catalog:
        return {label for (label,) in catalog.execute("SELECT label FROM release")}


def assert_recovers(path: Path) -> bool:
    """Check a series after a kill; says whether its second release was out."""
    assert set(os.listdir(path / "releases")) <= labels_in_catalog(path)
    series = Series.open(path)
    releases = series.releases()
    labels = [release.label for release in releases]
    assert labels in (["a"], ["a", "b"])
    assert all(release.is_published for release in releases)
    assert sorted(os.listdir(path / "ledger")) == [f"{n:04d}" for n in range(1, len(labels) + 1)]
    assert sorted(os.listdir(path / "releases")) == labels
    assert os.listdir(path / "staging") == []
    series.check()
    if is_out := labels == ["a", "b"]:
        with pytest.raises(AlreadyPublished, match="nothing is left to do"):
            publish(series, "b", SECOND)
    else:
        publish(series, "b", SECOND)
    series.check()
    exposed, *_ = series.history(proof_of(SECOND).ids, ["HIV", "flu"]).numbered()
    assert exposed.T.tolist() == [[-1, 0, 1, 1, -1], [2, 2, 2, 3, 3]]
    return is_out


def points_of(action: str, path: Path, folder: Path) -> list[int]:
    """Where to kill, found by a run that lives."""
    copy = shutil.copytree(path, folder / "rehearsal")
    assert crashing.exit_code_of(crashing.list_points, action, copy, folder / "points") == 0
    points: list[int] = json.loads((folder / "points").read_text())
    return points


def killed_copies(action: str, path: Path, folder: Path) -> list[Path]:
    copies = []
    for point in points_of(action, path, folder):
        copy = shutil.copytree(path, folder / f"killed-at-{point}")
        assert killed(crashing.exit_code_of(crashing.act_and_die, action, copy, point))
        copies.append(copy)
    return copies


def test_killed_at_any_point_of_a_publication(template: Path, tmp_path: Path) -> None:
    outcomes = [assert_recovers(copy) for copy in killed_copies("publish", template, tmp_path)]
    assert len(outcomes) >= 20
    # Once it is out it stays out: there is one moment that decides.
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {False, True}


def test_killed_while_recovering_from_a_kill(template: Path, tmp_path: Path) -> None:
    tried = {"orphan": 0, "pending": 0}
    for copy in killed_copies("publish", template, tmp_path):
        is_pending = "b" in labels_in_catalog(copy) and not (copy / "releases" / "b").exists()
        is_orphan = (copy / "ledger" / "0002" / "values.parquet").exists() and not is_pending
        kind = "pending" if is_pending else "orphan"
        if (is_pending or is_orphan) and tried[kind] == 0:
            inner = tmp_path / kind
            inner.mkdir()
            for again in killed_copies("open", copy, inner):
                tried[kind] += 1
                assert assert_recovers(again) is is_pending
    assert all(count >= 3 for count in tried.values()), tried


def test_files_that_changed_between_commit_and_move_are_not_published(
    template: Path, tmp_path: Path
) -> None:
    copy = next(
        copy
        for copy in killed_copies("publish", template, tmp_path)
        if "b" in labels_in_catalog(copy) and not (copy / "releases" / "b").exists()
    )
    (copy / "staging" / "0002" / "table.csv").write_text("something else")
    series = Series.open(copy)
    assert [release.state for release in series.releases()] == ["published", "committed"]
    for command in (series.check, lambda: publish(series, "c", SECOND)):
        with pytest.raises(LedgerDamaged, match=r"staging/0002/table\.csv"):
            command()
    assert os.listdir(copy / "releases") == ["a"]


def test_a_sweep_that_stops_after_the_marker_looks_like_no_release(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(template, tmp_path / "clinic")
    assert killed(crashing.exit_code_of(crashing.write_half_and_die, copy, 3))

    def stop_early(folder: Path) -> None:
        (folder / "UNCOMMITTED").unlink(missing_ok=True)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", stop_early)
        Series.open(copy)
    assert os.listdir(copy / "staging") != []
    assert not assert_recovers(copy)


@pytest.mark.parametrize("nth", range(5))
def test_killed_inside_the_writing_of_a_part(template: Path, tmp_path: Path, nth: int) -> None:
    copy = shutil.copytree(template, tmp_path / "clinic")
    assert killed(crashing.exit_code_of(crashing.write_half_and_die, copy, nth))
    assert not assert_recovers(copy)


@pytest.mark.parametrize("attempt", range(12))
def test_killed_inside_the_commit(template: Path, tmp_path: Path, attempt: int) -> None:
    copy = shutil.copytree(template, tmp_path / "clinic")
    listening, speaking = crashing.pipe()
    child = crashing.in_child(crashing.commit_when_told, copy, speaking)
    assert listening.recv() == "committing"
    time.sleep(attempt * 0.0005)
    child.kill()
    child.join()
    assert_recovers(copy)


def test_a_creation_that_is_killed_leaves_no_series(tmp_path: Path) -> None:
    points = 0
    for point in range(0, 1000, 7):
        folder = tmp_path / str(point)
        folder.mkdir()
        exit_code = crashing.exit_code_of(crashing.create_and_die, folder / "clinic", point)
        if not killed(exit_code):
            break
        points += 1
        if (folder / "clinic").exists():
            Series.open(folder / "clinic").check()
        else:
            new_series(folder).check()
    assert points > 5
