"""``serigraph attack`` on the releases of another tool."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from typer.testing import CliRunner

import serigraph
from attacking.worlds import blocks, naive, policy, tables
from serigraph.cli.app import app


def arguments(folder: Path) -> list[str]:
    """One release whose rows are in the order of its table."""
    table = tables(1, people=300, releases=1).releases[0]
    release = naive(table, blocks(5), shuffled=False)
    assert isinstance(release, pl.DataFrame)
    table.write_csv(folder / "raw.csv")
    release.write_csv(folder / "release.csv")
    files = {"--policy": policy(folder), "--raw": folder / "raw.csv"}
    given = [text for name, path in files.items() for text in (name, str(path))]
    return ["attack", "--releases", str(folder / "release.csv"), *given, "--seed", "1"]


def test_a_leak_above_the_limit_is_exit_code_4(tmp_path: Path) -> None:
    command = arguments(tmp_path)
    assert CliRunner().invoke(app, command).exit_code == 0
    told = CliRunner().invoke(app, [*command, "--highest-lift", "2"])
    assert told.exit_code == 4
    assert "Above the accepted lift of 2: order of rows." in told.stdout


def test_json_has_every_attack(tmp_path: Path) -> None:
    given = [*arguments(tmp_path), "--json", "--sample", "5", "--highest-lift", "1"]
    said = json.loads(CliRunner().invoke(app, given).stdout)
    findings = {each["attack"]: each for each in said["attacked"]["findings"]}
    assert len(findings) == 17
    assert findings["order of rows"]["guessed"] == 5 < findings["order of rows"]["possible"]
    assert findings["newcomers"]["not_run"]
    assert said["leaks"] == ["order of rows"]


def test_a_seed_repeats_what_was_found(tmp_path: Path) -> None:
    made = tables(1, people=300, releases=2, others_last=True)
    releases = [naive(each, blocks(2)) for each in made.releases]
    rules = policy(tmp_path)
    one, other = (
        serigraph.attack(releases=releases, policy=rules, raw=made.releases, seed=3)
        for _ in range(2)
    )
    assert one == other
    assert one.leaks == ()  # no limit
    compared = {each.attack: each for each in one.findings}
    assert compared["intersection, values stay"].guessed > 0
    assert compared["attendance"].guessed > 0
