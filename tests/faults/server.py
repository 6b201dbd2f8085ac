"""``python -m faults.server`` under the shim: each line of the input is a command to run in a fork.

The fork begins with everything imported and no thread but one. How it ended is a line of the
output.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import selectors
import signal
import sys
import tempfile
import time
from typing import Any

import jinja2  # noqa: F401 - what commands import when they need it is there before they fork
import pyarrow.parquet  # noqa: F401

import serigraph.publishing.publication
import serigraph.reporting  # noqa: F401
from faults.shim import Fault
from serigraph.cli import main

_BUG = 70
_UNREACHED = 1 << 46  # bytes


def run(case: dict[str, Any], report: int) -> None:
    """In the fork: the command, and what the shim has counted."""
    shim = ctypes.CDLL(None)
    log = os.open(case["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if case["log"] else -1
    sys.argv = ["serigraph", *case["arguments"]]
    if case["fault"] == Fault.NO_MEMORY:
        # Allocations fail under a limit only: this one is never reached.
        resource.setrlimit(resource.RLIMIT_AS, (_UNREACHED, _UNREACHED))
    shim.faults_arm(case["watched"].encode(), log, ctypes.c_long(case["at"]), case["fault"])
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        shim.faults_disarm()
        os.write(report, f"\n[{shim.faults_met()}, {shim.faults_counted()}]".encode())
    sys.stderr.flush()
    os._exit(code)


def _read_to_the_end(pipe: int, patience: float) -> tuple[bytes, bool]:
    """All that comes until the process, and whatever it has started, is gone; and whether that
    does not happen."""
    content, last = b"\n", time.monotonic() + patience
    with selectors.DefaultSelector() as waiting:
        waiting.register(pipe, selectors.EVENT_READ)
        while waiting.select(max(last - time.monotonic(), 0)):
            piece = os.read(pipe, 1000)
            if not piece:
                return content, False
            content += piece
    return content, True


def ended(case: dict[str, Any], patience: float) -> dict[str, object]:
    with tempfile.TemporaryFile() as said, open(os.devnull, "r+b") as nothing:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(nothing.fileno(), 0)
            os.dup2(nothing.fileno(), 1)
            os.dup2(said.fileno(), 2)
            try:
                run(case, writing)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            os._exit(_BUG)
        os.close(writing)
        said_of_faults, is_hung = _read_to_the_end(reading, patience)
        if is_hung:
            os.kill(child, signal.SIGKILL)
        os.close(reading)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        # A command that was killed says nothing; one that forks says it once for each process.
        is_met, operations = json.loads(said_of_faults.rpartition(b"\n")[2] or b"[1, 0]")
        return {
            "exit_code": os.waitstatus_to_exitcode(status),
            "said": said.read().decode(errors="replace"),
            "is_met": bool(is_met),
            "operations": operations,
            "is_hung": is_hung,
        }


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(ended(json.loads(line), float(sys.argv[1]))), file=answers, flush=True)
