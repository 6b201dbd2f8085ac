"""What each choice of persistence costs, rehearsed with the real mechanism."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from cli.running import run
from report.reading_pages import read_page
from serigraph.ledger import Series
from serigraph.planning import PersistenceCost, SeriesPlan
from serigraph.reporting import write_plan_page

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
except = ["none"]
[protected.persistence]
default = "{persistence}"
{own}
[guarantee]
threshold = "1/2"
adversary = "{adversary}"
[strategy]
name = "constant"
releases = 6
"""


def people(number: int, share: float, seed: int = 3) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    is_sick = draw.random(number) < share
    return pl.DataFrame(
        {
            "id": range(number),
            "age": draw.integers(0, 90, number),
            "zip": draw.integers(0, 50, number),
            "diagnosis": np.where(is_sick, draw.choice(["HIV", "lupus"], number), "none"),
        }
    )


def planned(
    folder: Path,
    *,
    adversary: str = "presence unknown",
    persistence: str = "any",
    own: str = "",
    share: float = 0.02,
    has_registry: bool = True,
) -> SeriesPlan:
    text = POLICY.format(adversary=adversary, persistence=persistence, own=own)
    series = Series.create(folder, {"policy.toml": text.encode()})
    table = people(1_500, share)
    registry = people(2_000, share).drop("diagnosis") if has_registry else None
    return serigraph.plan(table, series, registry=registry, releases=6, return_rate=0.8)


def by_kind(plan: SeriesPlan) -> dict[str, PersistenceCost]:
    return {each.persistence: each for each in plan.costs}


def test_with_a_registry_cohorts_are_small_and_nothing_is_withheld(tmp_path: Path) -> None:
    plan = planned(tmp_path / "clinic")
    costs = by_kind(plan)
    assert list(costs) == ["transient", "permanent", "any"]
    assert costs["any"].cohort_size == 8
    assert 8 <= costs["any"].mean_size < 16
    assert costs["any"].mean_size < costs["transient"].mean_size
    assert costs["any"].withheld_share == costs["any"].most_waiting == 0
    assert costs["any"].holders_shown == 1
    assert costs["permanent"].mean_size == costs["any"].mean_size
    assert all(each.is_whole and each.releases == 6 for each in plan.costs)
    assert plan.outlooks == ()
    assert plan.recommendation.reason == "No value is transient."


def test_where_presence_is_known_records_are_withheld(tmp_path: Path) -> None:
    costs = by_kind(planned(tmp_path / "clinic", adversary="presence known", has_registry=False))
    assert 0 < costs["any"].withheld_share < costs["any"].withheld_at_last
    assert costs["permanent"].withheld_share == costs["any"].withheld_share
    assert costs["any"].most_waiting > 0
    assert costs["permanent"].holders_shown > 0.95
    assert 2 <= costs["any"].mean_size < 16


def test_values_that_are_too_frequent_are_named(tmp_path: Path) -> None:
    plan = planned(tmp_path / "clinic", adversary="presence known", has_registry=False, share=0.999)
    costs = by_kind(plan)
    assert not costs["any"].is_whole
    assert set(costs["any"].too_frequent) <= {"HIV", "lupus"}
    assert costs["any"].too_frequent
    write_plan_page(plan, tmp_path / "plan.html")
    assert "the next release would be refused" in (tmp_path / "plan.html").read_text()


def test_strategies_are_about_transient_values_alone(tmp_path: Path) -> None:
    plan = planned(tmp_path / "clinic", own='HIV = "transient"')
    assert {each.name for each in plan.values} == {"HIV"}
    assert plan.outlooks
    assert {each.name for each in plan.over_time} == {"HIV", "lupus"}


@pytest.mark.parametrize("own", ["", 'HIV = "transient"'])
def test_the_command_and_the_page_show_the_costs(own: str, tmp_path: Path) -> None:
    text = POLICY.format(adversary="presence unknown", persistence="any", own=own)
    series = Series.create(tmp_path / "clinic", {"policy.toml": text.encode()})
    people(600, 0.02).write_csv(tmp_path / "table.csv")
    people(800, 0.02).drop("diagnosis").write_csv(tmp_path / "registry.csv")
    options = ("--series", series.path, "--registry", tmp_path / "registry.csv", "--releases", 3)
    told = run("plan", tmp_path / "table.csv", *options, "--out", tmp_path / "plan.html")
    assert told.code == 0, told.err
    for kind in ("transient", "permanent", "any"):
        assert f"\n  {kind:<10} " in told.out
    assert ("strategies to compare" in told.out) == (own == "")
    assert "What persistence costs" in (tmp_path / "plan.html").read_text()
    assert read_page((tmp_path / "plan.html").read_text())
    found = run("plan", tmp_path / "table.csv", *options, "--json").json
    assert [each["persistence"] for each in found["costs"]] == ["transient", "permanent", "any"]
