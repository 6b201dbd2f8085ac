"""A sample of what ``make faults`` does, and that its model of a disk is one."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

import serigraph
from faults.campaign import ERRORS, KINDS, POWER_CUT, cases
from faults.power_cut import Disk, Operation, read_log, write_tree
from faults.scenarios import (
    APPROVING,
    DISCARDING,
    DRAFTING,
    FINISHING,
    OUTCOMES,
    PUBLISHING,
    PUBLISHING_A_DRAFT,
    RECOVERED,
    SCENARIOS,
    UNDOING,
    Scenario,
    scenario_of,
)
from faults.shim import Commands, Fault
from serigraph.errors import LedgerDamaged

# At least one case of each kind in each scenario.
SHARE = {POWER_CUT: 0.02, "I/O error": 0.008, "full disk": 0.015, "no memory": 0.005}


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with Commands() as started:
        yield started


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory, commands: Commands) -> dict[str, Scenario]:
    return {
        name: scenario_of(name, tmp_path_factory.mktemp("scenario"), commands) for name in SCENARIOS
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_after_a_fault_everything_is_there_or_nothing(
    scenarios: dict[str, Scenario], commands: Commands, tmp_path: Path, name: str, kind: str
) -> None:
    found = list(cases(scenarios[name], kind, commands, tmp_path, SHARE[kind]))
    assert [(place, verdict) for place, verdict in found if verdict.outcome != RECOVERED] == []


def test_every_kind_of_fault_is_met(
    scenarios: dict[str, Scenario], commands: Commands, tmp_path: Path
) -> None:
    """Each kind makes the second half of a publication fail somewhere."""
    _, operations = scenarios[PUBLISHING].record(commands, tmp_path)
    codes = {}
    for name, fault in (ERRORS | {"SIGKILL": Fault.KILLED}).items():
        for at in range(operations // 2, operations):
            folder = shutil.copytree(scenarios[PUBLISHING].before, tmp_path / "case")
            command = scenarios[PUBLISHING].command(folder)
            ended = commands.run(*command, watched=folder, fault=fault, at=at)
            shutil.rmtree(folder)
            if ended.is_met and ended.exit_code:
                codes[name] = ended.exit_code
                break
    assert codes["I/O error"] == codes["full disk"] == 7
    assert codes["SIGKILL"] == -signal.SIGKILL
    assert set(codes) == {*ERRORS, "SIGKILL"}


def test_a_disk_that_fails_at_the_end_of_the_commit_does_not_look_like_no_release(
    scenarios: dict[str, Scenario], commands: Commands, tmp_path: Path
) -> None:
    """SQLite says that the commit failed, and yet the release is there."""
    publishing = scenarios[PUBLISHING]
    _, operations = publishing.record(commands, tmp_path)
    said = ""
    for at in range(operations * 3 // 4, operations // 2, -1):  # from behind the commit back to it
        verdict = publishing.after_fault(commands, Fault.INPUT_OUTPUT, at, tmp_path / "case")
        shutil.rmtree(tmp_path / "case")
        assert verdict is None or verdict.outcome == RECOVERED, (at, verdict)
        said = verdict.reason if verdict else ""
        if "failed at the end of the commit" in said:
            break
    assert "failed at the end of the commit" in said


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_that_changes_files_goes_unnoticed(
    scenarios: dict[str, Scenario], commands: Commands, tmp_path: Path, name: str
) -> None:
    """What was noted of a command, done again, is the disk as the command left it."""
    scenario = scenarios[name]
    folder = shutil.copytree(scenario.before, tmp_path / "real")
    commands.run(*scenario.command(folder), watched=folder, log=tmp_path / "log")
    disk = Disk(scenario.before, read_log(tmp_path / "log", folder))
    assert disk.after_cut(len(disk) - 1, "kept") == {
        path.relative_to(folder).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in folder.rglob("*")
    }


_EXPORTING = (PUBLISHING, ("export", "{folder}/series", "{folder}/export"))


@pytest.mark.parametrize(
    ("name", "other"),
    [*((each, ()) for each in (PUBLISHING_A_DRAFT, DRAFTING, APPROVING, DISCARDING)), _EXPORTING],
    ids=["publishing a draft", "drafting", "approving", "discarding", "exporting"],
)
def test_a_move_is_on_disk_in_both_folders_before_a_command_ends(
    scenarios: dict[str, Scenario],
    commands: Commands,
    tmp_path: Path,
    name: str,
    other: tuple[str, ...],
) -> None:
    """And first in the new one, so that nothing is ever without a name."""
    scenario = replace(scenarios[name], arguments=other or scenarios[name].arguments)
    folder = shutil.copytree(scenario.before, tmp_path / "real")
    ended = commands.run(*scenario.command(folder), watched=folder, log=tmp_path / "log")
    assert ended.exit_code == 0, ended.said
    operations = read_log(tmp_path / "log", folder)
    moves = 0
    for at, each in enumerate(operations):
        if each.what != "r" or each.other is None or each.other.parent == each.path.parent:
            continue
        synced = [later.path for later in operations[at:] if later.what == "s"]
        assert each.other.parent in synced, each
        assert each.path.parent in synced[synced.index(each.other.parent) :], each
        moves += 1
    assert moves


def _operation(what: str, path: str, offset: int, data: bytes) -> Operation:
    return Operation(what, PurePosixPath(path), None, offset, data)


def test_what_is_synced_survives_and_nothing_else(tmp_path: Path) -> None:
    before = write_tree(tmp_path / "before", {"old": b"old"})
    log = [
        ("c", "new", 0, b""),
        ("w", "new", 0, b"new"),
        ("s", "new", 0, b""),
        ("u", "old", 0, b""),
    ]
    disk = Disk(before, [_operation(*each) for each in log])
    assert disk.after_cut(4, "lost") == {"old": b"old"}
    assert disk.after_cut(4, "kept") == {"new": b"new"}
    synced = Disk(before, [_operation(*each) for each in [*log, ("s", ".", 0, b"")]])
    assert synced.after_cut(5, "lost") == {"new": b"new"}
    assert disk.after_cut(2, "kept") == {"new": b"new", "old": b"old"}
    mixed = {tuple(disk.after_cut(4, "mixed", seed)) for seed in range(20)}
    assert mixed == {(), ("new",), ("old",), ("new", "old")}


def test_without_syncs_a_power_cut_does_harm(
    scenarios: dict[str, Scenario], commands: Commands, tmp_path: Path
) -> None:
    """The same publication by a program that never waits for the disk: the model finds it out."""
    scenario = scenarios[PUBLISHING]
    folder = shutil.copytree(scenario.before, tmp_path / "real")
    commands.run(*scenario.command(folder), watched=folder, log=tmp_path / "log")
    operations = [each for each in read_log(tmp_path / "log", folder) if each.what != "s"]
    disk = Disk(scenario.before, operations)
    last = len(disk) - 1
    found = {
        scenario.after_cut(disk, last, "mixed", seed, tmp_path / f"{seed}").outcome
        for seed in range(12)
    }
    assert found & set(OUTCOMES[1:])


def test_files_that_changed_between_commit_and_move_are_not_published(
    scenarios: dict[str, Scenario], tmp_path: Path
) -> None:
    series = shutil.copytree(scenarios[FINISHING].before, tmp_path / "copy") / "series"
    (series / "staging" / "0002" / "table.csv").write_text("something else")
    opened = serigraph.Series.open(series)
    assert [release.state for release in opened.releases()] == ["published", "committed"]
    for command in (
        opened.check,
        lambda: serigraph.publish(tmp_path / "copy" / "third.parquet", opened),
    ):
        with pytest.raises(LedgerDamaged, match=r"staging/0002/table\.csv"):
            command()
    assert os.listdir(series / "releases") == ["first"]


def test_a_sweep_that_stops_after_the_marker_looks_like_no_release(
    scenarios: dict[str, Scenario], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(scenarios[UNDOING].before, tmp_path / "copy")

    def stop_early(folder: Path) -> None:
        (folder / "UNCOMMITTED").unlink(missing_ok=True)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", stop_early)
        serigraph.Series.open(copy / "series")
    assert os.listdir(copy / "series" / "staging") != []
    opened = serigraph.Series.open(copy / "series")
    assert [release.label for release in opened.releases()] == ["first"]
    opened.check()
    assert os.listdir(copy / "series" / "staging") == []
