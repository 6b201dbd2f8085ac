"""The same table and ledger give about the same groups, whatever is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from publishing.clinic import new_series
from serigraph.engines import make_release
from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.errors import Infeasible
from serigraph.ledger import Series
from serigraph.ledger.layout import Layout
from serigraph.model import Past, Population
from serigraph.policy import read_policy
from serigraph.publishing import publish
from serigraph.publishing.terms import plan_of
from serigraph.runtime.randomness import SeededRandomness
from serigraph.tables import prepare, read_table

DRAWS = 20
PEOPLE = 1200
VALUES = [f"s{number}" for number in range(6)]
POLICY = """
version = 1
[person]
id = "id"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.income]
kind = "numeric"
[sensitive]
column = "diagnosis"
form = "{sets}"
[protected]
values = ["s0", "s1", "s2", "s3", "s4", "s5"]
[guarantee]
threshold = "1/2"
[strategy]
{strategy}
[output]
form = "{form}"
method = "{method}"
"""
STRATEGIES = {
    "constant": 'name = "constant"\nreleases = 6',
    "geometric": 'name = "geometric"\nfactor = 2',
}


def table_of(number: int, load: float, sets: bool) -> pl.DataFrame:
    draw = np.random.default_rng(number)
    places = np.random.default_rng(99)
    people = pl.DataFrame(
        {
            "id": range(PEOPLE),
            "age": places.integers(0, 200, PEOPLE),
            "income": places.integers(0, 200, PEOPLE),
        }
    )
    share = load / len(VALUES)
    if sets:
        held = [[v for v in VALUES if draw.random() < share] + ["none"] for _ in range(PEOPLE)]
        column = pl.Series("diagnosis", held)
    else:
        which = np.minimum((draw.random(PEOPLE) / share).astype(int), len(VALUES))
        column = pl.Series("diagnosis", np.array([*VALUES, "none"])[which])
    return people.with_columns(column).filter(pl.Series(draw.random(PEOPLE) < 0.8))


def problem(series: Series, table: pl.DataFrame) -> tuple[Population, Past]:
    policy = read_policy(series.path / "policy.toml")
    population = prepare(read_table(table, policy.reading), policy, None, None).population
    names = [value.name for value in population.protected]
    return population, series.history(population.ids, names)


@pytest.mark.parametrize("load", [0.15, 0.5])
@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("form", "method"),
    [("bucketised", "top-down"), ("generalised", "bottom-up"), ("generalised", "top-down")],
)
def test_sizes_and_feasibility_do_not_depend_on_the_draw(
    tmp_path: Path, form: str, method: str, strategy: str, sets: bool, load: float
) -> None:
    text = POLICY.format(
        sets="list" if sets else "single", strategy=STRATEGIES[strategy], form=form, method=method
    )
    series = new_series(tmp_path / "series", text)
    for number in range(3):
        try:
            publish(
                table_of(number, load, sets),
                series,
                label=f"r{number}",
                randomness=SeededRandomness(number),
            )
        except Infeasible:
            break
    population, history = problem(series, table_of(7, load, sets))
    policy = read_policy(series.path / "policy.toml")
    plan = plan_of(
        policy, policy.strategy_for(), "again", allow_suppression=False, has_registry=False
    )
    earlier = ledger_on_disk(Layout(series.path), series.releases())
    sizes: list[float] = []
    for draw in range(DRAWS):
        try:
            made = make_release(population, history, earlier, plan, SeededRandomness(draw))
        except Infeasible:
            sizes.append(0.0)
            continue
        linked = np.unique(made.proof.value_group)
        sizes.append(float(made.proof.size[linked].mean()))
    assert max(sizes) - min(sizes) <= 0.1 * np.mean(sizes)
