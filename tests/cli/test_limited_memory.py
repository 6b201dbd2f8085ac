"""A command under a limit on memory has somebody who says how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from serigraph.cli import limited_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")

SUPERVISED = """
import os, signal, sys, time
from serigraph.cli import limited_memory
from serigraph.cli.streams import standard_streams
limited_memory._PATIENCE, limited_memory._LOOK = 1.0, 0.1
def run(writing):
    print(os.getpid(), flush=True)
    with standard_streams(writing):
        {work}
    return 3
def complain(error):
    print(type(error).__name__, flush=True)
    return error.exit_code
sys.exit(limited_memory.supervised(run, complain))
"""


def start(work: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SUPERVISED.format(work=work)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    ("work", "code", "said"),
    [
        ("pass", 3, ""),
        ("os.abort()", 10, "MemoryExhausted"),
        ("os._exit(1)", 10, "MemoryExhausted"),
        ("time.sleep(600)", 10, "MemoryExhausted"),
        ("raise MemoryError", 10, "MemoryExhausted"),
        ("raise ValueError", 1, ""),
        ("[sum(range(10**6)) for _ in range(150)]", 3, ""),
        (
            "import threading; threading.Thread(target=lambda: 1 / 0).start(); time.sleep(600)",
            10,
            "MemoryExhausted",
        ),
    ],
)
def test_every_end_is_told(work: str, code: int, said: str) -> None:
    process = start(work)
    out, _ = process.communicate()
    assert process.returncode == code
    assert out.split()[1:] == said.split()


def test_a_reader_may_take_its_time() -> None:
    process = start("print('x' * 10**6, flush=True)")
    time.sleep(3)  # three times as long as a command may do nothing
    out, _ = process.communicate()
    assert process.returncode == 3
    assert len(out.split()[1]) == 10**6


def test_a_command_that_gets_no_second_process_runs_in_the_first() -> None:
    no_more_files = (
        "import os, resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir('/proc/self/fd')) - 1,) * 2)\n"
        "sys.exit("
    )
    work = "print(os.getpid(), *signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    program = SUPERVISED.format(work=work).replace("sys.exit(", no_more_files)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate()
    assert process.returncode == 3
    assert out.split() == [str(process.pid)] * 2, "and no signal stays blocked"


def test_a_signal_is_passed_on() -> None:
    process = start("[sum(range(10**6)) for _ in range(10**6)]")
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    assert process.wait() == 128 + signal.SIGTERM
    process.stdout.close()


def test_a_child_ends_with_its_parent() -> None:
    process = start("[sum(range(10**6)) for _ in range(10**6)]")
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    while Path(f"/proc/{child}").exists() and _state(child) != "Z":
        time.sleep(0.01)


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_command_under_a_generous_limit_says_what_it_always_says() -> None:
    limited = f"ulimit -v {16 << 20}; exec {sys.executable} -m serigraph --version"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("serigraph ")


PRINTING = """
import resource, sys, traceback
from serigraph.cli.app import app, main
@app.command("print-an-exception")
def command():
    try:
        raise RuntimeError("a library prints this and raises nothing")
    except RuntimeError:
        traceback.print_exc()
    print("and then", file=sys.stderr)
    print("no end of line", end="", file=sys.stderr)
resource.setrlimit(resource.RLIMIT_AS, (1 << 46, 1 << 46))
sys.argv = ["serigraph", "print-an-exception"]
main()
"""


@pytest.mark.parametrize("shows_all", [False, True])
def test_what_a_library_prints_of_an_exception_is_not_shown(
    shows_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERIGRAPH_TRACEBACK", "1" if shows_all else "")
    done = subprocess.run([sys.executable, "-c", PRINTING], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.endswith("and then\nno end of line")
    assert done.stderr.startswith("Traceback") is shows_all


def test_a_parent_without_memory_goes_on_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: Path) -> str:
        raise MemoryError

    monkeypatch.setattr(Path, "read_text", fail)
    assert limited_memory._worked(os.getpid()) is None
