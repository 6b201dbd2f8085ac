"""Progress is for people at a terminal: a bar there, and nothing of it in a pipe."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from publishing.clinic import clinic, new_series, policy_text


@pytest.fixture
def publication(tmp_path: Path) -> list[str]:
    """The command that publishes a table."""
    made = clinic(releases=1, people=200, registered=400, seed=5, protected_share=0.1)
    made.tables[0].write_parquet(tmp_path / "first.parquet")
    series = new_series(tmp_path / "clinic", policy_text())
    table = str(tmp_path / "first.parquet")
    return [sys.executable, "-m", "serigraph", "publish", table, "--series", str(series.path)]


def test_a_pipe_gets_the_result_only(publication: list[str]) -> None:
    run = subprocess.run(publication, capture_output=True, text=True, check=True)
    assert run.stderr == ""
    assert run.stdout.startswith("Values, with the number of people who hold each:\n")
    assert "\nRelease 1, first: 200 people published\n" in run.stdout
    assert "\x1b" not in run.stdout
    assert "\r" not in run.stdout


def seen_on_a_terminal(command: list[str]) -> tuple[bytes, bytes]:
    """What the terminal gets, and what the pipe beside it."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment)
    os.close(theirs)
    seen = bytearray()
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how a terminal ends on Linux
            break
        if not part:
            break
        seen += part
    out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0
    return bytes(seen), out


def test_a_terminal_gets_a_bar_beside_the_result(publication: list[str]) -> None:
    seen, out = seen_on_a_terminal(publication)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "━" in shown
    for stage in ("forming groups", "writing"):
        assert stage in shown
    # The result is still clean, and the bar is gone at the end.
    assert out.decode().startswith("Values, with the number of people who hold each:\n")
    assert "\nRelease 1, first: 200 people published\n" in out.decode()
    assert b"\x1b" not in out
    assert seen.rstrip().endswith((b"\x1b[2K", b"\x1b[?25h"))


def test_python_shows_the_same_bar_unless_told_otherwise(publication: list[str]) -> None:
    *_, table, _, series = publication
    published = f"import serigraph; print(serigraph.publish({table!r}, {series!r}).record.number)"
    seen, out = seen_on_a_terminal([sys.executable, "-c", published])
    assert "━" in seen.decode()
    assert out.split() == [b"1"]
    audited = "from serigraph.auditing import audit_series as audit; "
    quiet = f"print(audit({series!r}, progress=lambda _: None).audit.is_within)"
    seen, out = seen_on_a_terminal([sys.executable, "-c", audited + quiet])
    assert seen == b""
    assert out.split() == [b"True"]
