"""One measured run in a process of its own: prints seconds, seconds of each stage, and peak memory.

`python -m benchmarks.speed_worker floor TABLE OUT` reads, sorts by one 64-bit key and writes, with
Polars. `... publish TABLE SERIES [REGISTRY]` publishes. Both do the same with a small part of the
table first: what is imported, compiled or loaded at the first use does not count. Whole commands
are measured from outside.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from benchmarks.peak_memory import peak_mb

SMALL = 20_000  # people; enough for districts


def floor(table: str, out: str) -> dict[str, float]:
    scan = pl.scan_csv if table.endswith(".csv") else pl.scan_parquet
    _sort_and_write(scan(table).head(SMALL).collect(), out)
    began = time.perf_counter()
    _sort_and_write(pl.read_csv(table) if table.endswith(".csv") else pl.read_parquet(table), out)
    return {"seconds": time.perf_counter() - began}


def _sort_and_write(frame: pl.DataFrame, out: str) -> None:
    ordered = frame.sort(pl.col("person").hash(seed=1))
    (ordered.write_csv if out.endswith(".csv") else ordered.write_parquet)(out)


def publish(table: str, series: str, registry: str = "") -> dict[str, object]:
    from serigraph.publishing import publish

    _publish_small(table, series, registry)
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


def _publish_small(table: str, series: str, registry: str) -> None:
    """The first people of the table, as a release of a series that is thrown away."""
    from serigraph.ledger import Series
    from serigraph.publishing import publish

    with tempfile.TemporaryDirectory() as folder:
        small = []
        for source in filter(None, (table, registry)):
            small.append(Path(folder) / Path(source).name)
            if source.endswith(".csv"):
                pl.scan_csv(source).head(SMALL).collect().write_csv(small[-1])
            else:
                pl.scan_parquet(source).head(SMALL).collect().write_parquet(small[-1])
        policy = (Path(series) / "policy.toml").read_bytes()
        begun = Series.create(Path(folder) / "series", {"policy.toml": policy})
        publish(small[0], begun, registry=small[1] if registry else None, allow_suppression=True)


def main() -> None:
    work = {"floor": floor, "publish": publish}[sys.argv[1]]
    result = work(*sys.argv[2:])
    result["peak_mb"] = peak_mb()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
