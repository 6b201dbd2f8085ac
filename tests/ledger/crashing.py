"""What runs in a child process that is to die: publish or open, up to a given point.

A *point* is a line of the ledger's code, or an operation on files anywhere below it (removing a
tree takes several). Between two points nothing happens on the disk but the one operation.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import serigraph.ledger
from ledger.builders import SECOND, publish
from serigraph.errors import SerigraphError
from serigraph.ledger import Series
from watching import watch

LEDGER_CODE = os.path.dirname(serigraph.ledger.__file__)

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["pytest", "pyarrow.parquet", "duckdb", "serigraph.ledger"])


def in_child(target: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """Start a child from a server that has imported everything, and no threads to lose."""
    process = _processes.Process(target=target, args=arguments)
    process.start()
    return process


def exit_code_of(target: Callable[..., None], *arguments: object) -> int:
    process = in_child(target, *arguments)
    process.join(60)
    assert process.exitcode is not None
    return process.exitcode


def pipe() -> Any:
    return _processes.Pipe(duplex=False)


def act(action: str, path: Path) -> None:
    if action == "publish":
        publish(Series.open(path), "b", SECOND)
    else:
        Series.open(path)


def act_and_report(action: str, path: Path) -> None:
    """Leave with the exit code of the error, if there is one."""
    try:
        act(action, path)
    except SerigraphError as error:
        os._exit(error.exit_code)


def act_with_small_files(path: Path, limit: int) -> None:
    """Publish while no file may grow past ``limit`` bytes, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    act_and_report("publish", path)


def act_and_die(action: str, path: Path, point: int) -> None:
    """Kill this process at the given point."""

    def die_there(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch((LEDGER_CODE,), die_there)
    act(action, path)


def create_and_die(path: Path, point: int) -> None:
    """Make a new series, and die at the given point."""

    def die_there(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch((LEDGER_CODE,), die_there)
    Series.create(path, {"policy.toml": b"# the policy"})


def list_points(action: str, path: Path, answer: Path) -> None:
    """Write down the first point at each state that the disk goes through."""
    seen: list[object] = []
    points: list[int] = []

    def look(number: int) -> None:
        state = _state(path)
        if not seen or seen[-1] != state:
            seen.append(state)
            points.append(number)

    watch((LEDGER_CODE,), look)
    act(action, path)
    sys.settrace(None)
    answer.write_text(json.dumps(points))


def write_half_and_die(path: Path, nth: int) -> None:
    """Publish, and die when half of the nth part is written."""
    from serigraph.ledger import writer

    whole, calls = writer.write_durably, iter(range(1000))

    def half(target: Path, content: bytes) -> None:
        if next(calls) == nth:
            target.write_bytes(content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        whole(target, content)

    writer.write_durably = half
    act("publish", path)


def commit_when_told(path: Path, ready: Any) -> None:
    """Publish, saying when the commit begins, so that another can end this process inside it."""
    from serigraph.ledger import writer

    commit = writer.Catalog.commit

    def announced(catalog: Any) -> None:
        ready.send("committing")
        commit(catalog)

    writer.Catalog.commit = announced  # type: ignore[method-assign]
    act("publish", path)


def hold_the_lock(path: Path, ready: Any, release: Any) -> None:
    with Series.open(path).writing():
        ready.send("locked")
        release.recv()


def _state(path: Path) -> list[tuple[str, int, int]]:
    return sorted(
        (name, (stat := os.lstat(name)).st_size, stat.st_mtime_ns)
        for folder, folders, files in os.walk(path)
        for name in [os.path.join(folder, entry) for entry in folders + files]
    )
