"""A real standalone cluster on loopback: a master and workers, each a process of its own."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from serigraph.engines.spark.java import java_home

_STARTING = 90  # seconds, on a machine that is busy with other tests
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


@dataclass
class Cluster:
    """Where the master is, and its workers."""

    folder: Path
    url: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self) -> subprocess.Popen[bytes]:
        worker = self._start_worker()
        self.workers.append(worker)
        return worker

    def replace_the_dead(self) -> int:
        """Another worker for each that has died; says how many."""
        dead = [place for place, worker in enumerate(self.workers) if worker.poll() is not None]
        for place in dead:
            self.workers[place] = self._start_worker()
        return len(dead)

    def _start_worker(self) -> subprocess.Popen[bytes]:
        name = f"worker-{len(self.processes)}"
        options = ["--cores", "2", "--memory", "2g", "--work-dir", str(self.folder / name)]
        worker = self._start(name, _WORKER, *options, self.url)
        self._said(name, r"Successfully registered with master")
        return worker

    def begin(self, workers: int) -> None:
        self._start("master", _MASTER)
        self.url = self._said("master", r"Starting Spark master at (spark://\S+)")
        for _ in range(workers):
            self.add_worker()

    def end(self) -> None:
        for process in reversed(self.processes):
            for pid in [process.pid, *descendants(process.pid)]:
                _kill(pid)
            process.wait()

    def _start(self, name: str, kind: str, *options: str) -> subprocess.Popen[bytes]:
        import pyspark

        command = [str(Path(pyspark.__file__).parent / "bin/spark-class"), kind]
        command += ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *options]
        environment = os.environ | {
            "JAVA_HOME": str(java_home()),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=lambda: ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL),
            )
        self.processes.append(process)
        return process

    def _said(self, name: str, wanted: str) -> str:
        log, last = self.folder / f"{name}.log", time.monotonic() + _STARTING
        while time.monotonic() < last:
            found = re.search(wanted, log.read_text(errors="replace"))
            if found:
                return found[found.re.groups and 1]
            time.sleep(0.1)
        raise TimeoutError(f"{name} did not start:\n{log.read_text(errors='replace')[-2000:]}")


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and its workers; all of them are killed at the end."""
    cluster = Cluster(folder)
    try:
        cluster.begin(workers)
        yield cluster
    finally:
        cluster.end()


def descendants(pid: int) -> list[int]:
    """Processes below a process, parents first."""
    found, asked = [], [pid]
    while asked:
        try:
            children = Path(f"/proc/{asked[0]}/task")
            below = [
                int(child)
                for task in children.iterdir()
                for child in (task / "children").read_text().split()
            ]
        except OSError:
            below = []
        found += below
        asked = asked[1:] + below
    return found


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
