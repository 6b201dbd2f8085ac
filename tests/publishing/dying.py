"""What runs in child processes that publish and are killed, held up or interrupted."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 300.0  # seconds: a busy machine compiles kernels meanwhile

# The command line, held up while it forms groups until a file appears.
_HELD_UP = """
import sys, time
from pathlib import Path
from serigraph.cli import main
from serigraph.engines import one_machine as module
make, folder = module.make_release, Path(sys.argv.pop(1))
def held_up(*arguments, **options):
    (folder / "ready").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    return make(*arguments, **options)
module.make_release = held_up
main()
"""


def command(*arguments: object) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    return _popen("-m", "serigraph", *arguments)


def script(text: str, *arguments: object) -> subprocess.Popen[str]:
    """Some lines of Python in a process of their own."""
    return _popen("-c", text, *arguments)


def held_up(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """The same, held up in the middle until the file ``go`` appears in the folder."""
    process = script(_HELD_UP, folder, *arguments)
    wait_for(lambda: (folder / "ready").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait until something has happened, and not for ever."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


def _popen(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
