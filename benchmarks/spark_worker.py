"""One measured series on one engine, in a process of its own; prints what it cost as JSON.

`python -m benchmarks.spark_worker ENGINE MASTER FOLDER SERIES TABLE...` publishes the tables one
after the other. A small series is published first, so that neither compiling nor starting the
executors' Python counts; starting Spark is measured by itself.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks import speed_data as data
from serigraph.engines import Local, Spark
from serigraph.engines.spark.session import spark_session
from serigraph.ledger import Series
from serigraph.publishing import publish

_WARM = 5_000  # people


class PeakMemory:
    """The peak memory of this process and its children together, sampled."""

    def __init__(self) -> None:
        self.mb = 0.0
        self._is_over = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)
        self._looking.start()

    def stop(self) -> float:
        self._is_over.set()
        self._looking.join()
        return self.mb

    def _look(self) -> None:
        while not self._is_over.wait(0.5):
            self.mb = max(self.mb, sum(map(_memory, _family(Path("/proc/self").resolve()))))


def _family(process: Path) -> Iterator[Path]:
    yield process
    for task in _listed(process / "task"):
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _family(Path("/proc") / child)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _memory(process: Path) -> float:
    """MB; memory shared by forked processes is divided among them."""
    try:
        for line in (process / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def traffic(log: Path, began: float, ended: float) -> dict[str, int]:
    """What the tasks that ended in a span of time wrote for each other and spilled to disk."""
    written, spilled, tasks = 0, 0, 0
    for line in log.read_text().splitlines():
        event: dict[str, Any] = json.loads(line)
        if event["Event"] != "SparkListenerTaskEnd":
            continue
        metrics = event.get("Task Metrics")
        if metrics and began <= event["Task Info"]["Finish Time"] / 1000 <= ended:
            written += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            spilled += metrics["Disk Bytes Spilled"]
            tasks += 1
    return {"shuffle_bytes": written, "spilled_bytes": spilled, "tasks": tasks}


@contextmanager
def measured(engine: str, master: str, folder: Path) -> Iterator[Path | None]:
    """A session that logs its events, and the log; nothing of that for the local engine."""
    if engine == "local":
        with nullcontext():
            yield None
        return
    logs = folder / "events"
    logs.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    with spark_session(master, settings=settings) as session:
        yield logs / session.sparkContext.applicationId


def main() -> None:
    engine, master, folder, series, *tables = sys.argv[1:]
    place = Spark() if engine == "spark" else Local()
    work = Path(folder)
    began = time.perf_counter()
    memory = PeakMemory()
    spans: list[tuple[float, float]] = []
    releases: list[dict[str, Any]] = []
    with measured(engine, master, work) as log:
        warm = work / f"warm-{engine}"
        Series.create(warm, {"policy.toml": data.policy().encode()})
        starting = time.perf_counter() - began
        for number in (1, 2):
            small = data.write(data.table(_WARM, number), work / f"warm-{number}.parquet")
            publish(small, warm, allow_suppression=True, engine=place)
        for table in tables:
            stages: dict[str, float] = {}
            at = time.time()
            release = publish(
                table,
                series,
                allow_suppression=True,
                engine=place,
                progress=lambda stage, *_, stages=stages: stages.setdefault(stage, time.time()),
            )
            spans.append((at, time.time()))
            times = [*stages.values(), spans[-1][1]]
            figures = release.figures
            releases.append(
                {
                    "seconds": spans[-1][1] - at,
                    "stages": {
                        name: times[i + 1] - when for i, (name, when) in enumerate(stages.items())
                    },
                    "mean_size": figures["mean_size_with_protected_value"],
                    "suppressed": figures["suppressed_values"],
                }
            )
    if log is not None:
        finished = log if log.exists() else next(log.parent.glob(f"{log.name}*"))
        for release_row, span in zip(releases, spans, strict=True):
            release_row.update(traffic(finished, *span))
    result = {"starting_seconds": starting, "peak_mb": memory.stop(), "releases": releases}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
