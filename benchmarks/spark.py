"""Spark beside the local engine, in one run: `make bench-spark`.

Each engine publishes the same releases, the second with 80 % of the people of the first, so that
history has to travel. The table shows seconds of both, their ratio, and what Spark shuffled; then
how time and traffic grow with the people. Written to bench-out/ as JSON as well.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import speed_data as data
from serigraph import __version__
from serigraph.ledger import Series

Row = dict[str, Any]
_HEAD = (
    f"{'people':>12} {'release':>8} {'local s':>9} {'spark s':>9} {'ratio':>6} "
    f"{'shuffle MB':>11} {'bytes/person':>13} {'group size':>11} {'on spark':>9}"
)


def worker(engine: str, master: str, folder: Path, series: Path, tables: list[Path]) -> Row:
    """One series on one engine, in a process of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "benchmarks.spark_worker", engine, master]
    command += [str(path) for path in (folder, series, *tables)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: Row = json.loads(done.stdout.splitlines()[-1])  # Java may have said something before
    return result


def compare(people: int, releases: int, form: str, master: str, work: Path) -> list[Row]:
    """The rows of one size, printed as they come."""
    tables = [
        data.write(data.table(people, number), work / f"tables/{people}-{number}.parquet")
        for number in range(1, releases + 1)
    ]
    found: dict[str, Row] = {}
    sizes: dict[str, int] = {}
    for engine in ("local", "spark"):
        series = work / f"series/{engine}-{people}"
        Series.create(series, {"policy.toml": data.policy(form=form).encode()})
        found[engine] = worker(engine, master, work / f"run-{engine}", series, tables)
        sizes[engine] = sum(path.stat().st_size for path in (series / "ledger").rglob("*.parquet"))
        shutil.rmtree(series)
    rows = []
    for number in range(releases):
        here, there = (found[engine]["releases"][number] for engine in ("local", "spark"))
        row = {
            "people": people,
            "release": number + 1,
            "form": form,
            "local_seconds": here["seconds"],
            "spark_seconds": there["seconds"],
            "ratio": there["seconds"] / here["seconds"],
            "shuffle_bytes": there["shuffle_bytes"],
            "local": here,
            "spark": there,
            "spark_starting_seconds": found["spark"]["starting_seconds"],
            "peak_mb": {engine: found[engine]["peak_mb"] for engine in found},
            "ledger_bytes_a_member": {
                engine: size / people / releases for engine, size in sizes.items()
            },
        }
        rows.append(row)
        print(
            f"{people:>12,} {number + 1:>8} {here['seconds']:>9.1f} {there['seconds']:>9.1f} "
            f"{row['ratio']:>6.2f} {there['shuffle_bytes'] / 1e6:>11,.1f} "
            f"{there['shuffle_bytes'] / people:>13.1f} {here['mean_size']:>11.2f} "
            f"{there['mean_size']:>9.2f}",
            flush=True,
        )
    return rows


def growth(rows: list[Row], releases: int) -> list[Row]:
    """From one size to the next: how much more time and traffic, beside how many more people."""
    last = sorted((row for row in rows if row["release"] == releases), key=lambda r: r["people"])
    return [
        {
            "from": small["people"],
            "to": large["people"],
            "people": large["people"] / small["people"],
            "seconds": large["spark_seconds"] / small["spark_seconds"],
            "shuffle": large["shuffle_bytes"] / max(small["shuffle_bytes"], 1),
        }
        for small, large in pairwise(last)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--releases", type=int, default=2)
    parser.add_argument("--form", choices=["bucketised", "generalised"], default="bucketised")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    options = parser.parse_args()
    work = options.out.absolute() / "work-spark"
    shutil.rmtree(work, ignore_errors=True)
    print(_HEAD, flush=True)
    rows: list[Row] = []
    for people in sorted(options.people):
        rows += compare(people, options.releases, options.form, options.master, work)
    grown = growth(rows, options.releases)
    for each in grown:
        print(
            f"{each['from']:,} to {each['to']:,} people ({each['people']:.1f} x): "
            f"time {each['seconds']:.2f} x, shuffle {each['shuffle']:.2f} x"
        )
    largest = rows[-1]
    print(
        f"Spark started in {largest['spark_starting_seconds']:.1f} s; peak memory at "
        f"{largest['people']:,} people: local {largest['peak_mb']['local']:,.0f} MB, Spark "
        f"{largest['peak_mb']['spark']:,.0f} MB; ledger "
        f"{largest['ledger_bytes_a_member']['spark']:.2f} bytes a member and release (local "
        f"{largest['ledger_bytes_a_member']['local']:.2f})"
    )
    result = {
        "version": __version__,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "master": options.master,
        "rows": rows,
        "growth": grown,
    }
    path = options.out / f"spark-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    shutil.rmtree(work)
    print(f"Written to {path}")


if __name__ == "__main__":
    main()
