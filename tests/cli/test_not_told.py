"""Once a release is out, nothing looks like a publish that failed, whoever listens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import serigraph
from docs.pages import ROOT
from serigraph.cli import main
from serigraph.cli.streams import Outlet
from serigraph.errors import NotInPlace, NotTold
from serigraph.ledger import Series, writer

COMMAND = [sys.executable, "-m", "serigraph"]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("begun") / "here"
    shutil.copytree(ROOT / "docs/example", folder)
    serigraph.init(folder / "clinic", folder / "2024H1.csv", persistence="transient")
    return folder


@pytest.fixture
def here(begun: Path, tmp_path: Path) -> Path:
    return shutil.copytree(begun, tmp_path / "here")


def out(folder: Path) -> list[str]:
    return [release.label for release in Series.open(folder / "clinic").releases()]


LISTENERS = {
    "a full disk": '"$@" > /dev/full',
    "a reader that is gone": '"$@" | true; exit ${PIPESTATUS[0]}',
    "standard output closed": '"$@" >&-',
    "all streams closed": '"$@" <&- >&- 2>&-',
    "standard error closed": '"$@" 2>&-',
    "input and standard error closed": '"$@" <&- 2>&-',
}


def run(folder: Path, listener: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", LISTENERS[listener], "bash", *COMMAND, *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("listener", list(LISTENERS)[:4])
def test_a_release_that_nobody_hears_of_is_out(here: Path, listener: str, as_json: bool) -> None:
    arguments = ["publish", "2024H1.csv", "--series", "clinic", *["--json"] * as_json]
    done = run(here, listener, *arguments)
    assert out(here) == ["2024H1"]
    assert done.returncode == NotTold.exit_code, done.stderr
    if "all" not in listener:
        assert done.stderr.startswith("NotTold: the command succeeded")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("listener", list(LISTENERS)[4:])
def test_closed_standard_error_changes_nothing(here: Path, listener: str) -> None:
    done = run(here, listener, "publish", "2024H1.csv", "--series", "clinic")
    assert done.returncode == 0
    assert "Release 1, 2024H1" in done.stdout
    refused = run(here, listener, "publish", "nothing.csv", "--series", "clinic")
    assert (refused.returncode, refused.stdout) == (3, "")


@pytest.mark.parametrize("arguments", [["status", "clinic"], ["--help"], ["--version"]])
def test_what_is_asked_for_and_not_heard_is_said_so(here: Path, arguments: list[str]) -> None:
    done = run(here, "a full disk", *arguments)
    assert done.returncode == NotTold.exit_code, done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_keeps_its_code_whoever_listens(here: Path) -> None:
    done = run(here, "a full disk", "publish", "nothing.csv", "--series", "clinic", "--json")
    assert done.returncode == 3
    assert done.stderr.startswith("TableError: ")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_that_the_terminal_cannot_show_are_escaped(here: Path, encoding: str) -> None:
    shutil.copy(here / "2024H1.csv", here / "søknad €.csv")
    for as_json in (["--json"], []):
        done = subprocess.run(
            [*COMMAND, "init", f"søknad{len(as_json)} €", "--from", "søknad €.csv", *as_json],
            cwd=here,
            check=False,
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        assert done.returncode == 0, done.stderr
        if as_json:
            assert json.loads(done.stdout.decode(encoding))["path"].endswith("søknad1 €")


def test_files_that_cannot_be_moved_leave_a_release_that_is_out(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object) -> None:
        raise OSError("the disk went away")

    monkeypatch.chdir(here)
    monkeypatch.setattr(writer, "settle", fail)  # at this very moment, which nothing outside hits
    monkeypatch.setattr("sys.argv", ["serigraph", "publish", "2024H1.csv", "--series", "clinic"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == NotInPlace.exit_code
    assert "the release is committed" in capsys.readouterr().err
    assert out(here) == ["2024H1"]


def test_a_stream_without_a_file_can_fail_too() -> None:
    class Broken:
        encoding = "utf-8"

        def write(self, _text: str) -> int:
            raise OSError

        def flush(self) -> None:
            raise ValueError

        def isatty(self) -> bool:
            raise ValueError

    outlet = Outlet(Broken())  # type: ignore[arg-type]
    outlet.flush()
    assert outlet.has_failed
    assert outlet.write("so what") == len("so what")
    assert not outlet.isatty()
