"""Killed at any point, the release is whole or not there at all, and a retry is harmless."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from marks import thorough
from publishing import dying
from publishing.clinic import Clinic, clinic, new_series, policy_text
from publishing.series_digest import digest_of_series
from serigraph.cli.app import app
from serigraph.errors import AlreadyPublished
from serigraph.ledger import Series
from serigraph.publishing import publish

SEED = 17


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A series with one release, and the file of the second."""
    folder = tmp_path_factory.mktemp("template")
    made: Clinic = clinic(releases=2, people=120, registered=300, seed=12, protected_share=0.08)
    series = new_series(folder / "clinic", policy_text())
    publish(made.tables[0], series, label="first")
    made.tables[1].write_parquet(folder / "second.parquet")
    return series.path, folder / "second.parquet"


def check_recovered(path: Path, table: Path, before: dict[str, str]) -> bool:
    """Run the next command, and see a whole series; returns whether the release is out."""
    shown = CliRunner().invoke(app, ["status", str(path), "--json"])
    assert shown.exit_code == 0
    labels = [release["label"] for release in json.loads(shown.stdout)["releases"]]
    is_out = labels == ["first", "second"]
    assert is_out or labels == ["first"]
    series = Series.open(path)
    series.check()
    assert not list((path / "staging").iterdir())
    if is_out:
        with pytest.raises(AlreadyPublished, match="nothing is left to do"):
            publish(table, path)
    else:
        assert digest_of_series(path) == before
        publish(table, path)
        series.check()
    assert [release.label for release in series.releases()] == ["first", "second"]
    names = {each.name for each in (path / "releases" / "second").iterdir()}
    assert {"table.csv", "table.parquet"} <= names
    return is_out


@pytest.mark.parametrize("times", [3, thorough(20)])
def test_a_real_process_killed_at_random(
    hospital: tuple[Path, Path], tmp_path: Path, times: int
) -> None:
    template, table = hospital
    before = digest_of_series(template)
    draw = random.Random(SEED)
    for number in range(times):
        copy = shutil.copytree(template, tmp_path / f"{number}")
        process = dying.command("publish", table, "--series", copy)
        dying.wait_for(lambda: any((copy / "staging").iterdir()) or process.poll() is not None)  # noqa: B023
        time.sleep(draw.uniform(0, 0.6))
        process.kill()
        process.communicate()
        check_recovered(copy, table, before)


@pytest.mark.parametrize("times", [3, thorough(20)])
def test_a_real_process_interrupted_at_random(
    hospital: tuple[Path, Path], tmp_path: Path, times: int
) -> None:
    template, table = hospital
    before = digest_of_series(template)
    draw = random.Random(SEED)
    for number in range(times):
        copy = shutil.copytree(template, tmp_path / f"{number}")
        process = dying.command("publish", table, "--series", copy)
        dying.wait_for(lambda: any((copy / "staging").iterdir()) or process.poll() is not None)  # noqa: B023
        time.sleep(draw.uniform(0, 0.6))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=dying.PATIENCE)
        check_recovered(copy, table, before)


# Publishes, and says which threads had Numba's lock before all kernels were loaded. These are not
# loaded before the table is prepared.
_WHO_HAS_THE_LOCK = """
import sys, threading
from numba.core.compiler_lock import global_compiler_lock
from serigraph.engines import compiling
from serigraph.engines import one_machine
from serigraph.publishing import publish
lock, load, prepare = type(global_compiler_lock), compiling.load_kernels, one_machine.prepare
acquire, had, is_prepared = lock.acquire, [], threading.Event()
def noted(self):
    if not is_prepared.is_set():
        had.append(threading.current_thread() is threading.main_thread())
    acquire(self)
def load_late():
    is_prepared.wait()
    load()
def prepared(*arguments):
    result = prepare(*arguments)
    is_prepared.set()
    return result
lock.acquire, compiling.load_kernels, one_machine.prepare = noted, load_late, prepared
publish(sys.argv[1], sys.argv[2])
print(len(had) > 0, any(had))
"""


def test_no_interrupt_can_leave_a_lock_closed_that_loading_waits_for(
    hospital: tuple[Path, Path], tmp_path: Path
) -> None:
    template, table = hospital
    path = shutil.copytree(template, tmp_path / "clinic")
    process = dying.script(_WHO_HAS_THE_LOCK, table, path)
    out, err = process.communicate(timeout=dying.PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert out.split() == ["True", "False"]


def test_interrupted_while_kernels_are_compiled(
    hospital: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template, table = hospital
    path = shutil.copytree(template, tmp_path / "clinic")
    before = digest_of_series(path)
    cache = tmp_path / "cache"
    with monkeypatch.context() as patched:
        patched.setenv("NUMBA_CACHE_DIR", str(cache))
        process = dying.command("publish", table, "--series", path)
    dying.wait_for(lambda: any(cache.rglob("*.nbi")) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=dying.PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert err.startswith("Interrupted: ")
    assert digest_of_series(path) == before


def test_interrupted_by_the_user(hospital: tuple[Path, Path], tmp_path: Path) -> None:
    template, table = hospital
    path = shutil.copytree(template, tmp_path / "clinic")
    before = digest_of_series(path)
    process = dying.held_up(tmp_path, "publish", table, "--series", path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=dying.PATIENCE)
    assert process.returncode == 130
    assert out == ""
    assert err.startswith("Interrupted: ")
    assert digest_of_series(path) == before
    assert check_recovered(path, table, before) is False
