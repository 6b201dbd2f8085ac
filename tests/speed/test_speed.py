"""The speed benchmark at a small size, as a whole: nothing about its times is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout


def test_every_row_is_measured_and_two_runs_can_be_compared(tmp_path: Path) -> None:
    options = ("--people", 3_000, 6_000, "--releases", 3, "--repeats", 1, "--out", tmp_path)
    # This installation has no peers: a peer that fails is a row that says so.
    options += ("--peers", 300, "--peers-python", sys.executable)
    run("benchmarks.speed", *options)
    (result,) = tmp_path.glob("speed-*.json")
    rows = json.loads(result.read_text())["rows"]
    assert len(rows) == len({row["work"] for row in rows}) == 26
    assert all(row["figure"] > 0 and row["target"] for row in rows)
    assert sum("failed (ModuleNotFoundError)" in row["unit"] for row in rows) == 3
    stages = [row["stages"] for row in rows if "stages" in row]
    assert len(stages) == 10
    assert all(sum(each.values()) > 0 for each in stages)
    shown = run("benchmarks.compare", result, result)
    assert shown.count("+0%") == len(rows)


def test_groups_of_every_data_set_are_measured(tmp_path: Path) -> None:
    written = tmp_path / "grouping.json"
    shown = run("benchmarks.grouping", "--rows", 1_500, "--markdown", "--out", written)
    measured = json.loads(written.read_text())["measured"]
    assert {row["form"] for row in measured} == {"generalised", "bucketised"}
    assert all(row["mean"] >= row["smallest"] > 0 for row in measured)
    assert shown.count("\n|") == len(measured) + 1  # and the line below the headings
