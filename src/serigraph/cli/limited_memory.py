"""A command under a limit on memory (``ulimit -v``) runs in a process of its own.

Libraries that get no memory end the process at once, in the middle of anything, or lose a thread
that others wait for. Somebody has to be left to say what happened.
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

from serigraph.cli.streams import Telling
from serigraph.cli.unforeseen import SHOW_ALL
from serigraph.errors import MemoryExhausted

_PASSED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_FROM_KERNEL = 0x80  # si_code of what the terminal sends, to the child as well
_PR_SET_PDEATHSIG = 1
_SHOWN = 1  # how Python ends after a traceback
_LOOK = 2.0  # seconds until the child is looked at again
_PATIENCE = 30.0  # seconds in which it must have worked for longer than
_NO_WORK = 0.05  # seconds; whoever waits for another publisher works twice as long


def is_memory_limited() -> bool:
    """Whether there is a limit below which allocations fail."""
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    return any(resource.getrlimit(kind)[0] != resource.RLIM_INFINITY for kind in kinds)


def supervised(
    run: Callable[[Telling | None], int], complain: Callable[[MemoryExhausted], int]
) -> int:
    """Run in a process of its own and return its exit code; where it ends without one, say that
    there was not enough memory. Where there can be no other process, run in this one."""
    if not hasattr(signal, "sigtimedwait"):  # macOS
        return run(None)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    try:
        telling = Telling()
        reading, writing = os.pipe()
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
        return _reported(lambda: run(telling), writing)
    os.close(writing)
    status = _outlived(child, telling)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    said = os.read(reading, 1)
    os.close(reading)
    if said:
        return said[0]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in _PASSED_ON:
        return 128 + os.WTERMSIG(status)
    return complain(
        MemoryExhausted(
            "there is not enough memory",
            where="the limit of this process (ulimit -v)",
            remedy="raise the limit, or use --engine spark; 'serigraph status' says which releases "
            "are out",
        )
    )


def _reported(run: Callable[[], int], writing: int) -> int:
    """The exit code, which is written to a pipe too; also that of Python where an error is shown.
    Of missing memory and of an interrupt the other process knows what to say."""
    try:
        code = run()
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException:
        os.write(writing, bytes([_SHOWN]))
        raise
    os.write(writing, bytes([code]))
    return code


def _outlived(child: int, telling: Telling) -> int:
    """How the child ended; signals to this process are for the child. A child of which every thread
    waits for another is ended: a thread of Polars that gets no memory leaves the others waiting.
    One that waits for whoever reads what it says is not."""
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
        now = None if telling.is_under_way else _worked(child)
        if now is None or now > worked + _NO_WORK:
            worked, since = now or 0.0, time.monotonic()
        elif time.monotonic() > since + _PATIENCE:
            os.kill(child, signal.SIGKILL)


def _worked(process: int) -> float | None:
    """How many seconds of a processor a process has had; None where nobody knows, where it works,
    is stopped or waits for a disk at this moment, or has processes of its own that may work."""
    here = Path(f"/proc/{process}")
    try:
        state, *numbers = (here / "stat").read_text().rpartition(")")[2].split()
        if state != "S" or (here / f"task/{process}/children").read_text():
            return None
    except OSError:
        return None
    return (int(numbers[10]) + int(numbers[11])) / os.sysconf("SC_CLK_TCK")


def _end_with(parent: int) -> None:
    """Let the kernel end this process with its parent, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _say_nothing_but_in_python() -> None:
    """Keep what libraries say of memory, thousands of lines at times, off the terminal."""
    if sys.stderr is not None:
        sys.stderr = os.fdopen(os.dup(sys.stderr.fileno()), "w", buffering=1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)


def _end_when_a_thread_is_lost() -> None:
    """End this process where a thread ends for want of memory: others might wait for it forever."""

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
