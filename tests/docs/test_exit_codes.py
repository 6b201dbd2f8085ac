"""The command line ends as the page of exit codes says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docs.pages import ROOT
from serigraph.cli import main
from serigraph.errors import ImpossibleState
from serigraph.ledger import Series


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    shutil.copytree(ROOT / "docs/example", folder)
    monkeypatch.chdir(folder)
    return folder


def exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["serigraph", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(str(end.value.code))


def test_each_kind_of_end_has_its_code(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "status", "nowhere") == 6
    begin = ["init", "clinic", "--from", "2024H1.csv", "--persistence", "transient"]
    assert exit_code(monkeypatch, *begin) == 0
    assert exit_code(monkeypatch, *begin) == 6
    assert exit_code(monkeypatch, "publish", "2024H1.csv") == 2
    assert exit_code(monkeypatch, "publish", "nothing.csv", "--series", "clinic") == 3
    policy = clinic / "clinic/policy.toml"
    proposed = policy.read_text()
    policy.write_text(proposed.replace("releases = 3", "releases = 30"))
    assert exit_code(monkeypatch, "publish", "2024H1.csv", "--series", "clinic") == 4
    policy.write_text(proposed)
    assert exit_code(monkeypatch, "publish", "2024H1.csv", "--series", "clinic") == 0
    assert exit_code(monkeypatch, "publish", "2024H1.csv", "--series", "clinic") == 5
    capsys.readouterr()


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [(KeyboardInterrupt(), 130, "Interrupted"), (ImpossibleState("a bug"), 70, "ImpossibleState")],
)
def test_an_interrupt_and_a_bug_say_so(
    raised: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def end(_: object) -> None:
        raise raised

    # Neither can be brought about from outside at a moment that a test could rely on.
    monkeypatch.setattr(Series, "open", end)
    assert exit_code(monkeypatch, "status", "clinic") == code
    assert said in capsys.readouterr().err


def test_an_interrupt_that_typer_does_not_see_says_so_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def end() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("serigraph.cli.app.app", end)
    assert exit_code(monkeypatch, "status", "clinic") == 130
    assert capsys.readouterr().err.startswith("Interrupted: ")
