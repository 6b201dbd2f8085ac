"""Long work in processes of its own: started, watched, cancelled; one writer of a series at a time.

A job belongs to the server, not to a page: a page that is reloaded, or comes back after the
connection was lost, finds it by its key.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock, Thread
from typing import IO, Any, Literal

from serigraph.errors import SeriesBusy, SerigraphError

_PATIENCE = 4.0  # seconds until a worker that was interrupted is killed
MOST = 4  # jobs at a time
_KEPT = 60  # jobs that are over
State = Literal["running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Job:
    """One piece of work, as it is now."""

    key: str
    task: str
    title: str
    series: str  # the key of its series, or empty
    writes: bool
    stages: tuple[str, ...]
    begun: datetime
    state: State = "running"
    stage: str = ""
    share: float = 0.0  # of the stage
    result: Any = field(default=None, repr=False)
    error: Mapping[str, Any] | None = None
    is_stopping: bool = False  # cancelled, but its worker has not ended yet
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)  # what its page needs

    @property
    def is_over(self) -> bool:
        return self.state != "running"

    @property
    def percent(self) -> int:
        """How much of all stages is done."""
        if self.stage not in self.stages:
            return 0
        done = self.stages.index(self.stage) + min(self.share, 1.0)
        return int(100 * done / len(self.stages))


class Worker:
    """A process that does one task after another."""

    def __init__(self) -> None:
        self.is_stopped = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "serigraph.web.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # an interrupt at the terminal is for the server
            env={**os.environ, "PYTHONSAFEPATH": "1"},
        )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def answers(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def ask(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def stop(self) -> None:
        """Interrupt it, so that it tidies up; kill it if it does not end."""
        self.is_stopped = True
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def end(self) -> None:
        """Kill it, if it has not ended."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class Jobs:
    """All jobs of one server, and the workers that do them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._jobs: dict[str, Job] = {}
        self._idle: list[Worker] = []
        self._busy: dict[str, Worker] = {}
        self._is_closed = False

    def warm(self) -> None:
        """Start a worker, so that the first job need not wait for the library to load."""
        with self._lock:
            if not self._idle and not self._is_closed:
                self._idle.append(Worker())

    def start(
        self,
        task: str,
        arguments: Mapping[str, Any],
        *,
        title: str,
        stages: tuple[str, ...],
        series: str = "",
        writes: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> Job:
        """Begin; ``SeriesBusy`` if the job writes to a series that another one writes to."""
        with self._lock:
            if writes and (other := self._writer_of(series)):
                raise SeriesBusy(
                    f"{other.title} is under way for this series, perhaps in another tab",
                    where=f"since {other.begun.astimezone():%H:%M:%S}",
                    remedy="wait until it is done, or cancel it there",
                )
            if len(self._busy) >= MOST:
                raise SeriesBusy(
                    f"{MOST} jobs are under way already",
                    remedy="wait until one is done, or cancel one",
                )
            job = Job(
                key=secrets.token_hex(8),
                task=task,
                title=title,
                series=series,
                writes=writes,
                stages=stages,
                begun=datetime.now(UTC),
                about=about or {},
            )
            self._jobs[job.key] = job
            for old in [each.key for each in self._jobs.values() if each.is_over][:-_KEPT]:
                del self._jobs[old]
            for dead in [each for each in self._idle if not each.is_alive]:
                self._idle.remove(dead)
                dead.end()
            worker = self._idle.pop() if self._idle else Worker()
            self._busy[job.key] = worker
        Thread(
            target=self._watch,
            args=(job.key, worker, {"task": task, "arguments": dict(arguments)}),
            daemon=True,
        ).start()
        return job

    def get(self, key: str) -> Job | None:
        return self._jobs.get(key)

    def latest(self, task: str, series: str = "") -> Job | None:
        """The newest job of this task for a series."""
        found = [each for each in self._jobs.values() if (each.task, each.series) == (task, series)]
        return found[-1] if found else None

    def writer_of(self, series: str) -> Job | None:
        """The job that writes to a series now."""
        with self._lock:
            return self._writer_of(series)

    def cancel(self, key: str) -> None:
        """Stop a job that is not over; it is cancelled once its worker has ended."""
        with self._lock:
            job, worker = self._jobs.get(key), self._busy.get(key)
            if job is None or worker is None or job.is_over:
                return
            self._jobs[key] = replace(job, is_stopping=True)
        worker.stop()

    def close(self) -> None:
        """End all workers. A release that one of them was making is not made."""
        with self._lock:
            self._is_closed = True
            workers = [*self._idle, *self._busy.values()]
        for each in workers:
            each.end()

    def _writer_of(self, series: str) -> Job | None:
        running = (each for each in self._jobs.values() if each.key in self._busy and each.writes)
        return next((each for each in running if each.series == series), None)

    def _watch(self, key: str, worker: Worker, request: Mapping[str, Any]) -> None:
        event: dict[str, Any] = {}
        with suppress(OSError, ValueError):  # the worker, or the whole server, has ended
            worker.ask(request)
            for line in worker.answers:
                event = json.loads(line)
                if "stage" not in event:
                    break
                self._change(key, stage=event["stage"], share=event["share"])
        has_answered = "result" in event or "error" in event
        is_kept = has_answered and worker.is_alive and not worker.is_stopped
        if not is_kept:
            worker.end()
        with self._lock:
            del self._busy[key]
            if is_kept:
                self._idle.append(worker)
        if "result" in event:
            self._change(key, state="done", result=event["result"])
        elif "error" in event:
            self._change(key, state="failed", error=event["error"])
        elif self._jobs[key].is_stopping:
            self._change(key, state="cancelled")
        else:
            self._change(key, state="failed", error=_LOST)

    def _change(self, key: str, **changes: Any) -> None:
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and not job.is_over:
                self._jobs[key] = replace(job, **changes)


_LOST: Mapping[str, Any] = {
    "kind": SerigraphError.__name__,
    "what": "the work ended unexpectedly; there may have been too little memory",
    "where": "",
    "remedy": "look at the series, which is whole, and begin again",
    "problems": [],
}
