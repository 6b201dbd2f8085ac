"""One measured run in a process of its own: prints seconds, seconds of each stage, and peak memory.

`python -m benchmarks.speed_worker floor TABLE OUT` reads, sorts by one 64-bit key and writes, with
Polars. `... publish TABLE SERIES [REGISTRY]` publishes. What is imported and compiled before does
not count; whole commands are measured from outside.
"""

from __future__ import annotations

import json
import sys
import time

import polars as pl

from benchmarks.peak_memory import peak_mb


def floor(table: str, out: str) -> dict[str, float]:
    began = time.perf_counter()
    frame = pl.read_csv(table) if table.endswith(".csv") else pl.read_parquet(table)
    ordered = frame.sort(pl.col("person").hash(seed=1))
    (ordered.write_csv if out.endswith(".csv") else ordered.write_parquet)(out)
    return {"seconds": time.perf_counter() - began}


def publish(table: str, series: str, registry: str = "") -> dict[str, object]:
    import serigraph.engines.local
    import serigraph.tables.preparing  # noqa: F401  (both are imported on demand)
    from serigraph.publishing import publish

    stages: dict[str, float] = {}
    began = time.perf_counter()
    release = publish(
        table,
        series,
        registry=registry or None,
        allow_suppression=True,
        progress=lambda stage, *_: stages.setdefault(stage, time.perf_counter()),
    )
    ended = time.perf_counter()
    times = [*stages.values(), ended]
    return {
        "seconds": ended - began,
        "stages": {name: times[i + 1] - at for i, (name, at) in enumerate(stages.items())},
        "mean_size": release.figures["mean_size_with_protected_value"],
        "suppressed": release.figures["suppressed_values"],
    }


def main() -> None:
    work = {"floor": floor, "publish": publish}[sys.argv[1]]
    result = work(*sys.argv[2:])
    result["peak_mb"] = peak_mb()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
