"""A plan before the first release and before a later one: what it says, and that it only looks."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import serigraph
from audit.series_examples import policy, published, registry, tables
from serigraph.auditing import audit_series
from serigraph.errors import InputRefused
from serigraph.ledger import Series
from serigraph.model import Past
from serigraph.planning import SeriesPlan
from serigraph.planning.rehearsal import Stage, rehearse
from serigraph.policy import parse_policy
from serigraph.privacy.strategies import ConstantRatio, Geometric
from serigraph.tables import prepare

KNOWN = registry(500)


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return published(tmp_path_factory.mktemp("series") / "clinic", releases=3)


@pytest.fixture(scope="module")
def made(series: Series) -> SeriesPlan:
    return serigraph.plan(
        tables(KNOWN, 4, 300)[3],
        series,
        registry=KNOWN,
        releases=7,
        thresholds=["1/2", 5],
        lengths=[4, 20],
        factors=[2, "3"],
    )


def test_all_combinations_are_swept(made: SeriesPlan) -> None:
    names = [each.short_name for each in made.outlooks]
    assert names[0] == "constant for 4, threshold 1/2"
    assert made.outlooks[0].is_policy
    for threshold in ("1/2", "1/5"):
        for what in (
            "adaptive for 7",
            "constant for 20",
            "geometric 2",
            "geometric 3",
            "schedule for 7",
        ):
            assert f"{what}, threshold {threshold}" in names
    assert len(names) == len(set(names)) == 12


def test_ratios_are_those_of_the_paper(made: SeriesPlan) -> None:
    by_name = {each.short_name: each for each in made.outlooks}
    geometric = by_name["geometric 2, threshold 1/2"]
    assert geometric.ratios[:5] == (4, 6, 10, 18, 34)
    assert geometric.largest_share == 0.25
    constant = by_name["constant for 20, threshold 1/5"]
    assert constant.ratios[0] == pytest.approx(90.1293, abs=1e-4)
    assert by_name["constant for 4, threshold 1/2"].ratios[4] == math.inf


def test_values_that_do_not_fit(made: SeriesPlan) -> None:
    shares = {each.name: each.share for each in made.values}
    strict = next(each for each in made.outlooks if "20, threshold 1/5" in each.short_name)
    assert {each.name for each in strict.unfit} == {
        name for name, share in shares.items() if share > strict.largest_share
    }
    assert made.outlooks[0].unfit == ()


def test_the_return_rate_is_that_of_the_ledger(series: Series, made: SeriesPlan) -> None:
    there = [set(table["patient"]) for table in tables(KNOWN, 4, 300)]
    back = sum(len(a & b) for a, b in pairwise(there))
    assert made.return_rate.source == "estimated"
    assert made.return_rate.rate == pytest.approx(back / 900, abs=0.01)


def test_links_left_are_counted_from_the_ledger(series: Series, made: SeriesPlan) -> None:
    pairs = audit_series(series).audit.over_all.pairs
    for outlook in made.outlooks:
        assert sum(left.pairs for left in outlook.left) == pairs
    own = made.outlooks[0]
    # Four links are planned, and everybody in the ledger has had one to three of them.
    assert {left.links for left in own.left} <= {1, 2, 3}


def test_nothing_changed(series: Series, made: SeriesPlan) -> None:
    assert len(series.releases()) == 3
    series.check()
    assert (made.releases_so_far, made.releases_ahead) == (3, 4)
    assert all(len(each.expected) == 4 for each in made.outlooks if not each.needs_suppression)


def test_before_the_first_release(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy().encode()})
    made = serigraph.plan(tables(KNOWN, 1, 300)[0], series, releases=3)
    assert made.return_rate.source == "assumed"
    assert made.outlooks[0].left == ()
    assert all(len(each.expected) == 3 for each in made.outlooks)
    given = serigraph.plan(tables(KNOWN, 1, 300)[0], series, releases=2, return_rate=0.9)
    assert given.return_rate.rate == 0.9


@pytest.mark.parametrize(
    "wrong",
    [
        {"return_rate": 1.5},
        {"releases": 3},
        {"thresholds": [1.5]},
        {"thresholds": float("nan")},
        {"thresholds": 1.0},
        {"thresholds": ["x"]},
        {"thresholds": [1]},
        {"thresholds": [Fraction(3, 2)]},
        {"lengths": [0]},
        {"factors": [1]},
        {"factors": ["x"]},
    ],
    ids=str,
)
def test_arguments_that_make_no_plan(series: Series, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputRefused) as refused:
        serigraph.plan(tables(KNOWN, 4, 300)[3], series, **wrong)
    assert refused.value.remedy


def test_rehearsed_groups_grow_with_returning_people() -> None:
    """The geometric strategy asks more of every further link: who returns makes groups larger."""
    text = policy().replace('name = "constant"\nreleases = 4', 'name = "geometric"')
    rules = parse_policy(text, "the policy", Path())
    population = prepare(tables(KNOWN, 1, 400)[0], rules).population
    stage = Stage("generalised", "top-down", 1, False, "diagnosis")

    def sizes(rate: float) -> list[float]:
        found = rehearse(
            population,
            Past.none(population.size),
            lambda _links, _shares: Geometric(Fraction(2)),
            stage,
            releases=5,
            return_rate=rate,
        )
        return [each.mean_size for each in found]

    nobody, everybody = sizes(0.0), sizes(1.0)
    assert nobody[0] == everybody[0]
    assert everybody[-1] > 2 * nobody[-1]


def test_a_rehearsal_never_breaks_the_promise(tmp_path: Path) -> None:
    """What is rehearsed is verified by the engine; here its history is checked from outside."""
    rules = parse_policy(policy(), "the policy", Path())
    known = registry(300)
    table = tables(known, 1, 150)[0]
    population = prepare(table, rules, known).population
    before = population.values.to_list()
    stage = Stage("bucketised", "top-down", 1, False, "diagnosis")
    found = rehearse(
        population,
        Past.none(population.size),
        lambda _links, _shares: ConstantRatio(4),
        stage,
        releases=4,
        return_rate=0.5,
    )
    assert len(found) == 4
    assert population.values.to_list() == before, "arguments are not changed"
    assert np.isfinite([each.mean_size for each in found]).all()


def test_the_command(series: Series, tmp_path: Path) -> None:
    table, listed, page = tmp_path / "next.csv", tmp_path / "known.parquet", tmp_path / "plan.html"
    tables(KNOWN, 4, 300)[3].write_csv(table)
    KNOWN.write_parquet(listed)

    def run(*options: object) -> subprocess.CompletedProcess[str]:
        base = ["plan", table, "--series", series.path, "--registry", listed, "--releases", 5]
        return subprocess.run(
            [sys.executable, "-m", "serigraph", *map(str, [*base, *options])],
            capture_output=True,
            text=True,
            check=False,
        )

    told = run("--out", page, "--l", "2", "--l", "1/11", "--alpha", "1.5", "--k", "4")
    assert told.returncode == 0, told.stderr
    assert "3 of 5 releases are out, 2 ahead" in told.stdout
    assert "Recommended:" in told.stdout
    _, _, section = told.stdout.partition("in policy.toml with:\n\n")
    assert section.startswith("[strategy]\nname = ")
    assert re.search(r"^  protected: chlamydia \(\d+\), ", told.stdout, re.MULTILINE)
    assert re.search(r"^  not protected: flu \(\d+\), ", told.stdout, re.MULTILINE)
    assert "geometric with factor 3/2, re-planned, threshold 1/11" in told.stdout
    assert "secret" not in told.stdout + page.read_text()
    found = json.loads(run("--json").stdout)
    assert found["releases_ahead"] == 2
    assert {each["threshold"] for each in found["outlooks"]} == {"1/2"}
    for wrong in (["--alpha", "1"], ["--alpha", "x"], ["--l", "x"], ["--l", "0"]):
        assert run(*wrong).returncode == 3


def test_a_sample_stands_for_a_large_table(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy().encode()})
    made = serigraph.plan(tables(KNOWN, 1, 300)[0], series, releases=1, most_rehearsed=100)
    assert made.rehearsed_people == 100
    assert made.people == 300
    assert isinstance(made.values, tuple)
    assert pl.Series([each.share for each in made.values]).is_sorted(descending=True)
