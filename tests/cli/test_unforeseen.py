"""An error that nobody foresaw: no traceback, no message of a library, and a code of its own."""

from __future__ import annotations

import os
import subprocess
import sys

CRASHING = """
import sys
import serigraph.publishing
def crash(*_args, **_options):
    raise ValueError("could not parse 'chlamydia' in row 17")
serigraph.publishing.status = crash
sys.argv = ["serigraph", "status", "anywhere"]
from serigraph.cli import main
main()
"""


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CRASHING],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_a_bug_is_named_without_what_the_library_said() -> None:
    ended = run()
    assert ended.returncode == 70
    assert "ValueError: a bug in serigraph" in ended.stderr
    assert "chlamydia" not in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr


def test_whoever_asks_for_it_sees_everything() -> None:
    ended = run(SERIGRAPH_TRACEBACK="1")
    assert ended.returncode == 1
    assert "chlamydia" in ended.stderr
