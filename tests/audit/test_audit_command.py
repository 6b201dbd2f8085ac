"""``serigraph audit`` from the command line: what it prints, and how it ends."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from audit.foreign_examples import DIALECTS, write
from audit.series_examples import published


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "serigraph", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_series(tmp_path: Path) -> None:
    series = published(tmp_path / "clinic", releases=2)
    told = run("audit", series.path)
    assert told.returncode == 0, told.stderr
    assert "The published files and the ledger agree" in told.stdout
    assert told.stdout.splitlines()[-1] == (  # the policy states nothing
        "The policy does not say whether values persist. The promise holds only if values change "
        "freely between releases."
    )
    assert "secret" not in told.stdout
    kept = tmp_path / "who.csv"
    result = run("audit", series.path, "--json", "--pseudonyms", kept, "--worst", 3)
    found = json.loads(result.stdout)
    assert found["within_threshold"] is True
    assert found["files_agree"] is True
    assert len(found["audit"]["worst"]) == 3
    lines = kept.read_text().splitlines()
    assert lines[0] == "pseudonym,id"
    assert lines[1].split(",")[1].startswith("secret-")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    again = run("audit", series.path, "--pseudonyms", kept)
    assert again.returncode == 3
    assert "already" in again.stderr


def test_releases_that_break_the_promise_end_with_4(tmp_path: Path) -> None:
    files = write(tmp_path, one=DIALECTS["anonypy"], two=DIALECTS["Serigraph"])
    result = run(
        "audit",
        "--releases",
        files["one"],
        files["two"],
        "--policy",
        files["policy"],
        "--raw",
        files["raw"],
        "--raw",
        files["raw"],
    )
    assert result.returncode == 4, result.stderr
    assert "largest probability 0.7500 (3/4)" in result.stdout
    assert "The promise is BROKEN." in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--releases", "one.csv"], 3, "against a policy"),
        (["one", "two"], 3, "one series is audited at a time"),
        (["nowhere"], 6, "there is no series"),
        (["--releases", "one.csv", "--tolerate", "everything"], 2, "everything"),
    ],
)
def test_wrong_use(arguments: list[str], code: int, words: str) -> None:
    result = run("audit", *arguments)
    assert result.returncode == code
    assert words in result.stderr


def test_errors_are_json_too(tmp_path: Path) -> None:
    files = write(tmp_path, one=DIALECTS["Serigraph"].replace("[40, 59]", "[30, 59]"))
    result = run(
        "audit",
        "--releases",
        files["one"],
        "--policy",
        files["policy"],
        "--raw",
        files["raw"],
        "--json",
    )
    assert result.returncode == 3
    error = json.loads(result.stdout)
    assert error["error"] == "TableError"
    assert "overlap" in error["problems"][0]
