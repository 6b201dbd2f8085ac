"""A policy with blind cuts: what its releases say, and that their groups do not tell who holds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from publishing.clinic import new_series
from publishing.oracle import read_export
from serigraph.errors import PolicyChanged
from serigraph.ledger import Series
from serigraph.reporting import publish_with_report
from serigraph.runtime.randomness import SeededRandomness

PEOPLE = 600
BLIND = 'cuts = "blind"\n'
POLICY = """version = 1
[person]
id = "id"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.zip]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
values = ["hiv", "flu"]
[guarantee]
threshold = "1/2"
{cuts}[strategy]
name = "constant"
releases = 3
[output]
form = "{form}"
groups = "regions"
files = ["csv"]
"""


def table(seed: int = 1) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": range(PEOPLE),
            "age": draw.integers(0, 80, PEOPLE),
            "zip": draw.integers(0, 60, PEOPLE),
            "diagnosis": draw.choice(["hiv", "flu", "none"], PEOPLE, p=[0.03, 0.06, 0.91]),
        }
    )


def published(folder: Path, people: pl.DataFrame, cuts: str, form: str = "generalised") -> Series:
    series = new_series(folder, POLICY.format(cuts=cuts, form=form))
    publish_with_report(people, series, label="r", randomness=SeededRandomness(1))
    return series


def groups_of(series: Series) -> list[list[int]]:
    """The ids of each group, as the ledger has them."""
    series.export(series.path.parent / f"{series.path.name}-exported")
    export = read_export(series.path.parent / f"{series.path.name}-exported")
    return sorted(sorted(map(int, group.members)) for group in export.groups[0].values())


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_groups_are_the_same_whoever_of_a_group_holds(tmp_path: Path, form: str) -> None:
    """Records change places within groups: blind cuts give the same groups, others do not."""
    is_same = {}
    for name, cuts in (("counts", ""), ("blind", BLIND)):
        people = table()
        groups = groups_of(published(tmp_path / name, people, cuts, form))
        assert len(groups) > 1
        draw, held = np.random.default_rng(2), people["diagnosis"].to_numpy().copy()
        for members in groups:
            held[members] = held[draw.permutation(members)]
        other = people.with_columns(pl.Series("diagnosis", held))
        is_same[name] = groups == groups_of(published(tmp_path / f"{name}2", other, cuts, form))
    assert is_same == {"counts": False, "blind": True}


def test_report_and_certificate_say_so_and_it_stays(tmp_path: Path) -> None:
    series = published(tmp_path / "series", table(), "")
    folder, policy = series.path / "releases", series.path / "policy.toml"
    certificate = json.loads((folder / "r" / "certificate.json").read_text())
    assert "cuts" not in certificate["policy"]["guarantee"]
    assert "<dt>Cuts</dt>" not in (folder / "r" / "report.html").read_text()
    policy.write_text(POLICY.format(cuts=BLIND, form="generalised"))
    publish_with_report(table(2), series, label="blind", randomness=SeededRandomness(2))
    certificate = json.loads((folder / "blind" / "certificate.json").read_text())
    assert certificate["policy"]["guarantee"]["cuts"] == "blind"
    assert "blind: where groups end" in (folder / "blind" / "report.html").read_text()
    policy.write_text(POLICY.format(cuts="", form="generalised"))
    with pytest.raises(PolicyChanged, match=r"guarantee\.cuts was 'blind', is absent"):
        serigraph.publish(table(3), series, label="again")


def test_a_plan_rehearses_with_blind_cuts(tmp_path: Path) -> None:
    sizes = []
    for name, cuts in (("counts", ""), ("blind", BLIND)):
        series = new_series(tmp_path / name, POLICY.format(cuts=cuts, form="generalised"))
        plan = serigraph.plan(table(), series, releases=3, return_rate=0.5)
        sizes.append(plan.outlooks[0].mean_size)
    assert sizes[0] < sizes[1]
