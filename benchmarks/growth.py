"""What a release and an audit cost as a series grows: `make bench-growth`.

The same number of people in every release; a share of them was in the release before. Processor
time and peak memory are those of one process that publishes and audits again and again, so that
what is loaded once does not count.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks import speed_data as data
from benchmarks.peak_memory import peak_mb

FORMS = ("generalised", "bucketised")
PROTECTED = f"values = {data.NAMES[-10:].tolist()}"  # held by 3.5 % of the people
STRATEGIES = {
    "constant": 'name = "constant"\nreleases = 60\nreplan = false',
    "adaptive": 'name = "adaptive"\nreleases = "open"',
    "geometric": 'name = "geometric"\nfactor = 1.2',
}
# People who return most use up their budgets: at 1/2 before release 50, at 4/5 at release 200.
THRESHOLDS = {"adaptive": "9/10"}
RETURNING = (0.1, 0.8)
NEIGHBOURS = 5  # releases around a mark whose median counts
_FORGET_PEAK = "5"  # makes Linux reset VmHWM


def tables(people: int, returning: float) -> Iterator[pl.DataFrame]:
    """Table after table; of each a share comes back in the next one, with other values."""
    chance = np.random.default_rng(20)
    ids = np.arange(people, dtype=np.int64)
    while True:
        yield data.people_with_values(ids, chance)
        back = chance.choice(ids, round(returning * people), replace=False)
        new = np.arange(ids.max() + 1, ids.max() + 1 + people - len(back))
        ids = np.sort(np.concatenate([back, new]))


def measured(work: Callable[[], object]) -> dict[str, float]:
    """Processor seconds and peak memory of one piece of work in this process."""
    Path("/proc/self/clear_refs").write_text(_FORGET_PEAK)
    before = time.process_time()
    work()
    return {"seconds": time.process_time() - before, "peak_mb": peak_mb()}


def grow(people: int, form: str, strategy: str, returning: float, marks: list[int]) -> list[Any]:
    """Publish up to the last mark, and audit at each; a row for each release. A series whose
    people have used up their budgets ends before."""
    import serigraph
    from serigraph.errors import Infeasible
    from serigraph.ledger import Series

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        policy = data.policy(
            form=form,
            strategy=STRATEGIES[strategy],
            protected=PROTECTED,
            threshold=THRESHOLDS.get(strategy, "1/2"),
        )
        series = Series.create(Path(folder) / "series", {"policy.toml": policy.encode()})
        for number, table in enumerate(itertools.islice(tables(people, returning), marks[-1]), 1):
            publish = lambda table=table: serigraph.publish(table, series, allow_suppression=True)  # noqa: E731
            try:
                row: dict[str, Any] = {"release": number, "publish": measured(publish)}
            except Infeasible:
                break
            if number in marks:
                row["audit"] = measured(lambda: serigraph.audit(series))
            rows.append(row)
    return rows


def at(rows: list[Any], mark: int, work: str, figure: str) -> float:
    """The figure at a mark; of a release the median of its neighbours and itself."""
    near = [row for row in rows if abs(row["release"] - mark) <= NEIGHBOURS // 2 and work in row]
    return statistics.median(row[work][figure] for row in near)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=2_000)
    parser.add_argument("--marks", type=int, nargs="+", default=[10, 50, 100, 200])
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--strategies", nargs="+", choices=[*STRATEGIES], default=[*STRATEGIES])
    parser.add_argument("--returning", type=float, nargs="+", default=RETURNING)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        (form,), (strategy,), (returning,) = chosen.forms, chosen.strategies, chosen.returning
        print(json.dumps(grow(chosen.people, form, strategy, returning, chosen.marks)))
        return
    found = []
    print(f"{chosen.people:,} people a release; processor seconds and peak MB at each release")
    for form, strategy, returning in itertools.product(
        chosen.forms, chosen.strategies, chosen.returning
    ):
        command = [sys.executable, "-m", "benchmarks.growth", "--worker"]
        command += ["--people", str(chosen.people), "--marks", *map(str, chosen.marks)]
        command += ["--forms", form, "--strategies", strategy, "--returning", str(returning)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows = json.loads(done.stdout)
        found.append({"form": form, "strategy": strategy, "returning": returning, "rows": rows})
        reached = [mark for mark in chosen.marks if mark <= len(rows)]
        ended = f", ended after release {len(rows)}" if len(rows) < chosen.marks[-1] else ""
        print(f"\n{form}, {strategy}, {returning:.0%} return{ended}")
        if not reached:
            continue
        first, last = reached[0], reached[-1]
        for work, figure in itertools.product(("publish", "audit"), ("seconds", "peak_mb")):
            shown = "  ".join(f"{mark}: {at(rows, mark, work, figure):.2f}" for mark in reached)
            ratio = at(rows, last, work, figure) / at(rows, first, work, figure)
            print(f"  {work:8}{figure:8} {shown}  ({ratio:.2f} times)", flush=True)
    if chosen.out:
        chosen.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
