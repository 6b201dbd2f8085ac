"""What runs in child processes: publish or open, publish with small files, hold the lock."""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from ledger.builders import SECOND, publish
from serigraph.errors import SerigraphError
from serigraph.ledger import Series

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


def act_and_report(action: str, path: Path) -> None:
    """Publish or open; leave with the exit code of the error, if there is one."""
    try:
        series = Series.open(path)
        if action == "publish":
            publish(series, "b", SECOND)
    except SerigraphError as error:
        os._exit(error.exit_code)


def publish_with_small_files(path: Path, limit: int) -> None:
    """Publish while no file may grow past ``limit`` bytes, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    act_and_report("publish", path)


def hold_the_lock(path: Path, ready: Any, release: Any) -> None:
    with Series.open(path).writing():
        ready.send("locked")
        release.recv()
