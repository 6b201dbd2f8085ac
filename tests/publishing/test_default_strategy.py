"""Without [strategy]: adaptive in a new series, and what it was in one of version 0.1.0."""

from __future__ import annotations

from pathlib import Path

import serigraph
from publishing.clinic import clinic, new_series, policy_text

SILENT = policy_text().replace('[strategy]\nname = "constant"\n', "")
CONSTANT = "constant releases=20 replan=true"  # what version 0.1.0 recorded


def test_a_new_series_follows_the_adaptive_strategy(tmp_path: Path) -> None:
    assert "[strategy]" not in SILENT
    series = new_series(tmp_path / "clinic", SILENT)
    for number, table in enumerate(clinic(releases=2, people=300, registered=300, seed=1).tables):
        made = serigraph.publish(table, series, label=f"r{number}")
        assert made.record.strategy == f"adaptive releases=20 after={number}"
    assert serigraph.status(series).strategy == "adaptive for 20 releases"


def test_a_series_that_began_with_the_constant_ratio_goes_on_with_it(tmp_path: Path) -> None:
    tables = clinic(releases=3, people=300, registered=300, seed=2).tables
    series = new_series(tmp_path / "clinic", policy_text())
    assert serigraph.publish(tables[0], series, label="r0").record.strategy == CONSTANT
    policy = series.path / "policy.toml"
    policy.write_text(SILENT)
    assert serigraph.publish(tables[1], series, label="r1").record.strategy == CONSTANT
    assert serigraph.status(series).strategy == "constant ratio for 20 releases, re-planned"
    plan = serigraph.plan(tables[2], series, releases=4)
    (mine,) = (each for each in plan.outlooks if each.is_policy)
    assert mine.name.startswith("constant ratio for 20 releases")
    policy.write_text(SILENT + '[strategy]\nname = "adaptive"\n')
    changed = serigraph.publish(tables[2], series, label="r2")
    assert changed.record.strategy == "adaptive releases=20 after=2"
