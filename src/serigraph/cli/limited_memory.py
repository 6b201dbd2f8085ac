"""Under a memory limit (``ulimit -v``), run a command in a child process.

A library that runs out of memory may abort the process at any point, or lose a thread that others
wait for. The parent is left to report what happened.
"""

from __future__ import annotations

import ctypes
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from serigraph.cli.streams import Writing
from serigraph.errors import MemoryExhausted
from serigraph.runtime.unforeseen import SHOW_ALL

_PASSED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_FROM_KERNEL = 0x80  # si_code of a signal from the terminal, which the child gets too
_PR_SET_PDEATHSIG = 1
_SHOWN = 1  # exit code of Python after a traceback
_LOOK = 2.0  # seconds between checks of the child
_PATIENCE = 30.0  # kill the child if, in this many seconds, it has used less than
_NO_WORK = 0.05  # seconds of CPU time; waiting for another publisher uses twice that


def is_memory_limited() -> bool:
    """Whether a resource limit can make allocations fail."""
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    return any(resource.getrlimit(kind)[0] != resource.RLIM_INFINITY for kind in kinds)


def supervised(
    run: Callable[[Writing | None], int], complain: Callable[[MemoryExhausted], int]
) -> int:
    """Run in a child process and return its exit code; if it ends without one, report that memory
    ran out. Where no child process is possible, run in this one."""
    if not hasattr(signal, "sigtimedwait"):  # macOS
        return run(None)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    try:
        writing = Writing()
        read_end, write_end = os.pipe()
        parent, child = os.getpid(), os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return run(None)
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _end_with(parent)
        if not os.environ.get(SHOW_ALL):
            _say_nothing_but_in_python()
        _end_when_a_thread_is_lost()
        return _reported(lambda: run(writing), write_end)
    os.close(write_end)
    status = _outlived(child, writing)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = os.read(read_end, 1)
    os.close(read_end)
    if code:
        return code[0]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in _PASSED_ON:
        return 128 + os.WTERMSIG(status)
    return complain(
        MemoryExhausted(
            "not enough memory",
            where="the limit of this process (ulimit -v)",
            remedy="raise the limit, or use --engine spark; 'serigraph status' shows which "
            "releases are out",
        )
    )


def _reported(run: Callable[[], int], write_end: int) -> int:
    """The exit code, also written to a pipe; that of Python if a traceback is shown. Running out of
    memory and interrupts are left for the parent to report."""
    try:
        code = run()
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException:
        os.write(write_end, bytes([_SHOWN]))
        raise
    os.write(write_end, bytes([code]))
    return code


def _outlived(child: int, writing: Writing) -> int:
    """Wait for the child and return its status, passing signals on to it. A deadlocked child is
    killed: a Polars thread that runs out of memory leaves the others waiting. A child that waits
    for its output to be read is not."""
    worked, since = 0.0, time.monotonic()
    while True:
        info = signal.sigtimedwait({*_PASSED_ON, signal.SIGCHLD}, _LOOK)
        if info is not None and info.si_signo != signal.SIGCHLD:
            if info.si_code != _FROM_KERNEL:
                os.kill(child, info.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        now = None if writing.is_under_way else _worked(child)
        if now is None or now > worked + _NO_WORK:
            worked, since = now or 0.0, time.monotonic()
        elif time.monotonic() > since + _PATIENCE:
            os.kill(child, signal.SIGKILL)


def _worked(process: int) -> float | None:
    """Seconds of CPU time that a process has used; None if unknown, if it is running, stopped or
    waiting for a disk right now, or if it has children that may be running."""
    here = Path(f"/proc/{process}")
    try:
        state, *numbers = (here / "stat").read_text().rpartition(")")[2].split()
        if state != "S" or (here / f"task/{process}/children").read_text():
            return None
    except (OSError, MemoryError):  # this process has the same limit
        return None
    return (int(numbers[10]) + int(numbers[11])) / os.sysconf("SC_CLK_TCK")


def _end_with(parent: int) -> None:
    """Ask the kernel to kill this process when its parent ends, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _say_nothing_but_in_python() -> None:
    """Keep libraries' messages about memory, at times thousands of lines, off the terminal."""
    if sys.stderr is not None:
        sys.stderr = os.fdopen(os.dup(sys.stderr.fileno()), "w", buffering=1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)


def _end_when_a_thread_is_lost() -> None:
    """End this process if a thread dies for lack of memory: others might wait for it forever."""

    class Ending(logging.Handler):
        def emit(self, _record: logging.LogRecord) -> None:
            os._exit(1)

    logging.getLogger("concurrent.futures").addHandler(Ending(logging.CRITICAL))
    threading.excepthook = lambda _lost: os._exit(1)

    def end_if_lost(lost: sys.UnraisableHookArgs) -> None:
        if isinstance(lost.exc_value, MemoryError) or "in thread" in (lost.err_msg or ""):
            os._exit(1)
        sys.__unraisablehook__(lost)

    sys.unraisablehook = end_if_lost
