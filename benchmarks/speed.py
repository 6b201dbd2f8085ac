"""Speed beside the machine's floor, in one run: `make bench`.

The floor is what Polars needs to read the same file, sort it by one 64-bit key and write it.
Product and floor take turns, three times, and the best of each counts. Everything is written to
bench-out/, one JSON file per run, which `make bench-compare` compares.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import speed_data as data
from benchmarks.speed_audit import measure_audit
from serigraph import __version__
from serigraph.ledger import Series

Row = dict[str, Any]
Run = Callable[[], Row]


def worker(*arguments: str | Path) -> Row:
    """Run one measurement in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed_worker", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: Row = json.loads(done.stdout)
    return result


def best(results: list[Row]) -> Row:
    return min(results, key=lambda result: result["seconds"])


class Bench:
    """The files of one run, and the rows of its table."""

    def __init__(self, folder: Path, repeats: int) -> None:
        self.folder = folder
        self.repeats = repeats
        self.rows: list[Row] = []

    def table(self, people: int, release: int) -> Path:
        path = self.folder / f"tables/{people}-{release}.parquet"
        return path if path.exists() else data.write(data.table(people, release), path)

    def series(self, name: str, policy: str) -> Path:
        path = self.folder / "series" / name
        shutil.rmtree(path, ignore_errors=True)
        Series.create(path, {"policy.toml": policy.encode()})
        return path

    def floor(self, table: Path) -> Run:
        return lambda: worker("floor", table, self.folder / f"floor{table.suffix}")

    @contextmanager
    def publishing(self, table: Path, series: Path, registry: str | Path = "") -> Iterator[Run]:
        """A release of the table onto a copy of the series, as often as there are runs.

        All copies are made first, so that the runs follow each other at once: on a virtual machine
        that gives free memory back to its host, a process that has waited a few seconds pays over a
        second for each gigabyte.
        """
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            copies = [Path(scratch) / str(run) / series.name for run in range(self.repeats)]
            for copy in copies:
                shutil.copytree(series, copy)
            left = iter(copies)
            yield lambda: worker("publish", table, next(left), registry)

    def in_turn(self, one: Run, other: Run) -> tuple[Row, Row]:
        """The best of each of two kinds of runs. They take turns: on a machine with neighbours a
        minute may be half as fast as the one before."""
        pairs = [(one(), other()) for _ in range(self.repeats)]
        return best([first for first, _ in pairs]), best([second for _, second in pairs])

    def add(self, work: str, target: str, figure: float, unit: str, **details: Any) -> None:
        self.rows.append(
            {"work": work, "target": target, "figure": figure, "unit": unit, **details}
        )
        shown = f"{figure:,.2f} {unit}".strip()
        print(f"{work:<66} {shown:>14}   target {target}", flush=True)
        for name, value in details.items():
            if isinstance(value, dict):
                times = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in value.items())
                print(f"    {name}: {times}", flush=True)


def first_release(
    bench: Bench, people: int, form: str = "bucketised"
) -> AbstractContextManager[Run]:
    series = bench.series(f"first-{people}", data.policy(form=form))
    return bench.publishing(bench.table(people, 1), series)


def first_beside_floor(bench: Bench, people: int, form: str) -> Row:
    with first_release(bench, people, form) as publish:
        floor, release = bench.in_turn(bench.floor(bench.table(people, 1)), publish)
    bench.add(
        f"release 1, {people:,} people, {form}",
        "<= 4 x floor",
        release["seconds"] / floor["seconds"],
        "x floor",
        seconds=release["seconds"],
        floor_seconds=floor["seconds"],
        peak_mb=release["peak_mb"],
        mean_size=release["mean_size"],
        stages=release["stages"],
    )
    return release


def later_releases(
    bench: Bench, people: int, releases: int, name: str, strategy: str, target: str
) -> Row:
    """The last of many releases beside the first, which is made once more."""
    series = bench.series(f"{name}-{people}", data.policy(strategy=strategy))
    for number in range(1, releases):
        worker("publish", bench.table(people, number), series)
    table = bench.table(people, releases)
    with first_release(bench, people) as publish_first, bench.publishing(table, series) as publish:
        first, last = bench.in_turn(publish_first, publish)
    bench.add(
        f"release {releases}, {people:,} people, 80 % returning, {name}",
        target,
        last["seconds"] / first["seconds"],
        "x release 1",
        seconds=last["seconds"],
        first_seconds=first["seconds"],
        peak_mb=last["peak_mb"],
        mean_size=last["mean_size"],
        stages=last["stages"],
    )
    size = sum(path.stat().st_size for path in (series / "ledger").rglob("*.parquet"))
    bench.add(
        f"ledger of {releases - 1} releases of {people:,} people, {name}",
        "< 1.5 GiB for 20 x 10M",
        size / people / (releases - 1),
        "bytes a member",
        bytes=size,
    )
    return last


def whole_records(bench: Bench, people: int) -> None:
    """The same table of twenty columns, published whole and with one sensitive column alone."""
    frame, kinds = data.records(people)
    table = data.write(frame, bench.folder / f"tables/records-{people}.parquet")
    one = data.policy(form="generalised").replace(
        "[strategy]", "minimum_group_size = 5\n[strategy]"
    )
    narrow = bench.series(f"narrow-{people}", one)
    whole = bench.series(f"whole-{people}", data.policy_of_records(kinds))
    with bench.publishing(table, narrow) as part, bench.publishing(table, whole) as everything:
        some, each = bench.in_turn(part, everything)
    bench.add(
        f"release 1, {people:,} people, 20 columns, 2 of them sensitive, 12 plain",
        "<= 1.6 x 1 column",
        each["seconds"] / some["seconds"],
        "x 1 column",
        seconds=each["seconds"],
        one_column_seconds=some["seconds"],
        peak_mb=each["peak_mb"],
        mean_size=each["mean_size"],
        stages=each["stages"],
        one_column_stages=some["stages"],
    )


def with_registry(bench: Bench, people: int) -> None:
    registry = data.write(data.registry(people), bench.folder / f"tables/registry-{people}.parquet")
    table = data.write(
        data.table(people, 1).sample(people // 10, seed=3),
        bench.folder / f"tables/release-of-{people}.parquet",
    )
    rare = ", ".join(f'"{name}"' for name in data.NAMES[-2:])
    protected = f'values = [{rare}]\nunheld = "allow"'  # the release that warms up is small
    series = bench.series(f"registry-{people}", data.policy(protected=protected))
    with bench.publishing(table, series, registry) as publish:
        floor, release = bench.in_turn(bench.floor(registry), publish)
    bench.add(
        f"registry of {people:,}, release of {people // 10:,}, 1 % protected",
        "<= 2 x floor",
        release["seconds"] / floor["seconds"],
        "x floor",
        seconds=release["seconds"],
        floor_seconds=floor["seconds"],
        peak_mb=release["peak_mb"],
        stages=release["stages"],
    )


def command(bench: Bench, people: int) -> None:
    """A whole command on few distinct quasi-identifiers, CSV in and out."""
    table = data.write(data.few_cells(people), bench.folder / f"tables/few-{people}.csv")
    policy = data.policy(
        form="generalised",
        strategy='name = "constant"\nreleases = 1',
        threshold="1/5",
        file="csv",
    )
    seconds, peaks = [], []
    for _ in range(bench.repeats):
        series = bench.series(f"few-{people}", policy)
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "serigraph", "publish", str(table), "--series", str(series)],
            stdout=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)  # of this command, and of no other
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds.append(time.perf_counter() - began)
        peaks.append(usage.ru_maxrss / 1024)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, process.args)
    bench.add(
        f"{people:,} rows in 20,000 cells, CSV, the whole command",
        "3 s, 700 MB",
        min(seconds),
        "s",
        peak_mb=max(peaks),
    )


def auditing(bench: Bench, people: int) -> None:
    speed = measure_audit(people, 10, rounds=bench.repeats)
    bench.add(
        f"audit of ten releases of {people:,} people",
        "<= 3 x DuckDB",
        speed.audit_seconds / speed.duckdb_seconds,
        "x DuckDB",
        seconds=speed.audit_seconds,
        duckdb_seconds=speed.duckdb_seconds,
        pairs=speed.pairs,
    )


def peers(bench: Bench, people: int, python: Path, limit: float) -> None:
    """Serigraph and its peers on the same CSV file; pycanon checks what Serigraph made."""
    table = data.write(data.table(people, 1), bench.folder / f"tables/peers-{people}.csv")
    policy = data.policy(
        form="generalised",
        strategy='name = "constant"\nreleases = 1',
        threshold="1/5",
        file="csv",
    )
    series = bench.series(f"peers-{people}", policy)
    ours = worker("publish", table, series)
    bench.add(
        f"serigraph, {people:,} people, threshold 1/5", "-", ours["seconds"], "s", **_memory(ours)
    )
    published = series / "releases" / table.stem / "table.csv"
    for name, path, work in (
        ("anonypy", table, "5 values a group"),
        ("anjana", table, "5 values a group"),
        ("pycanon", published, "check of serigraph's table"),
    ):
        result = peer(name, path, python, limit)
        bench.add(
            f"{name}, {people:,} people, {work}",
            "-",
            result["seconds"],
            result.get("failed", "s"),
            **_memory(result),
        )


def peer(name: str, table: Path, python: Path, limit: float) -> Row:
    """One run of a peer; where it fails or does not end, the row says so."""
    command = [str(python), "-m", "benchmarks.speed_peers", name, str(table)]
    began = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        if done.returncode == 0:
            result: Row = json.loads(done.stdout.splitlines()[-1])
            return result
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1].split(":")[0]
        failed = f"s, failed ({reason})"
    except subprocess.TimeoutExpired:
        failed = "s, stopped"
    return {"seconds": time.perf_counter() - began, "failed": failed}


def _memory(result: Row) -> Row:
    return {"peak_mb": result["peak_mb"]} if "peak_mb" in result else {}


def starting(bench: Bench) -> None:
    # The number of people in the demo.
    table = data.write(data.table(40_000, 1), bench.folder / "tables/small.parquet")
    times = []
    for _ in range(bench.repeats):
        series = bench.series("cold", data.policy())
        with tempfile.TemporaryDirectory() as cache:
            times.append(_run(["publish", table, "--series", series], NUMBA_CACHE_DIR=cache))
    bench.add("first release on a fresh install, compile included", "< 25 s", min(times), "s")
    for what, arguments, target in (
        ("serigraph status", ["status", series], "< 1 s"),
        ("serigraph --help", ["--help"], "< 0.3 s"),
    ):
        bench.add(what, target, min(_run(arguments) for _ in range(bench.repeats)), "s")


def _run(arguments: list[str | Path], **environment: str) -> float:
    """The seconds that a whole command takes."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "serigraph", *map(str, arguments)],
        check=True,
        capture_output=True,
        env={**os.environ, **environment},
    )
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", type=int, nargs="*", default=[30_000, 100_000])
    parser.add_argument("--peers-python", type=Path, default=Path(".venv-peers/bin/python"))
    parser.add_argument("--peers-limit", type=float, default=120.0, help="seconds for each run")
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    options = parser.parse_args()
    bench = Bench(options.out.absolute() / "work", options.repeats)
    bench.folder.mkdir(parents=True, exist_ok=True)
    starting(bench)
    command(bench, min(options.people))
    auditing(bench, min(options.people))
    if options.peers_python.exists():
        for people in options.peers:
            peers(bench, people, options.peers_python.absolute(), options.peers_limit)
    else:
        print("peers are left out: `make peers` installs them", flush=True)
    firsts: dict[int, Row] = {}
    for people in options.people:
        firsts[people] = first_beside_floor(bench, people, "bucketised")
        first_beside_floor(bench, people, "generalised")
    whole_records(bench, min(options.people))
    lasts: dict[int, Row] = {}
    for people in options.people:
        lasts[people] = later_releases(
            bench, people, options.releases, "constant", data.CONSTANT, "<= 2 x"
        )
        later_releases(bench, people, options.releases, "geometric", data.GEOMETRIC, "<= 3 x")
    with_registry(bench, max(options.people))
    if len(options.people) > 1:
        small, large = min(options.people), max(options.people)
        for what, key, target in (("time", "seconds", "<= 12 x"), ("memory", "peak_mb", "<= 11 x")):
            bench.add(
                f"growth of {what} from {small:,} to {large:,} people, release 1",
                target,
                firsts[large][key] / firsts[small][key],
                "x",
            )
    bench.add(
        f"peak memory, {max(options.people):,} people, release {options.releases}",
        "< 12 GiB",
        lasts[max(options.people)]["peak_mb"] / 1024,
        "GiB",
    )
    result = {
        "version": __version__,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "rows": bench.rows,
    }
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    path = options.out / f"speed-{stamp}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    shutil.rmtree(bench.folder)
    print(f"\nWritten to {path}")


if __name__ == "__main__":
    main()
