"""What runs in child processes that publish and are killed, held up or interrupted.

A *point* is a line of the publishing or of the ledger's code, or an operation on files anywhere
below it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import serigraph.ledger
import serigraph.publishing
from serigraph.randomness import SeededRandomness
from watching import watch

WATCHED = tuple(
    os.path.dirname(str(module.__file__)) for module in (serigraph.ledger, serigraph.publishing)
)
PATIENCE = 120.0

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    ["pytest", "pyarrow.parquet", "duckdb", "serigraph.publishing.publication"]
)

# The command line, held up while it forms groups until a file appears.
_HELD_UP = """
import sys, time
from pathlib import Path
from serigraph.cli import main
from serigraph.publishing import publication as module
make, folder = module.make_release, Path(sys.argv.pop(1))
def held_up(*arguments, **options):
    (folder / "ready").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    return make(*arguments, **options)
module.make_release = held_up
main()
"""


def run_to_the_end(target: Callable[..., None], *arguments: object) -> int:
    """The exit code of a function in a child from a server that has imported everything."""
    process = _processes.Process(target=target, args=arguments)
    process.start()
    process.join(PATIENCE)
    assert process.exitcode is not None
    return process.exitcode


def publish_and_die(series: Path, table: Path, point: int) -> None:
    """Publish, and kill this process at the given point."""

    def die_there(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(WATCHED, die_there)
    _publish(series, table)


def list_points(series: Path, table: Path, answer: Path) -> None:
    """Publish, and write down the first point at each state that the disk goes through."""
    seen: list[object] = []
    points: list[int] = []

    def look(number: int) -> None:
        state = _state(series)
        if not seen or seen[-1] != state:
            seen.append(state)
            points.append(number)

    watch(WATCHED, look)
    _publish(series, table)
    sys.settrace(None)
    answer.write_text(json.dumps(points))


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


def _publish(series: Path, table: Path) -> None:
    # The same choices in each process, so that its points are the same.
    serigraph.publishing.publish(table, series, randomness=SeededRandomness(3))


def _state(path: Path) -> list[str]:
    """What there is, by name: the ledger's own tests look into half-written files."""
    return sorted(
        os.path.join(folder, entry)
        for folder, folders, files in os.walk(path)
        for entry in folders + files
    )
