"""Twenty releases of a series in which people return and values change, recomputed from outside."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from marks import thorough
from publishing.checking import check_series, publish_all
from publishing.clinic import Clinic, clinic, new_series, policy_text
from serigraph.cli.app import app
from serigraph.errors import Infeasible
from serigraph.ledger import Series
from serigraph.publishing import publish
from serigraph.runtime.randomness import SeededRandomness


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=20, people=500, registered=1500, seed=20)


STRATEGIES = {
    "planned": 'name = "constant"\nreleases = 20\nreplan = false',
    "replanned": 'name = "constant"\nreleases = 20\nreplan = true',
    "geometric": 'name = "geometric"\nfactor = 2',
}
FORMS = ("generalised", "bucketised")
# With presence known the registry plays no part, so that one of the two cases shows it.
CASES = [
    *product(STRATEGIES, FORMS, ["top-down"], [False, True], ["presence unknown"]),
    *product(STRATEGIES, FORMS, ["top-down"], [True], ["presence known"]),
    *product(["replanned", "geometric"], FORMS, ["bottom-up"], [True], ["presence unknown"]),
]
SAMPLE = [
    ("planned", "generalised", "top-down", False, "presence unknown"),
    ("planned", "bucketised", "top-down", True, "presence known"),
    ("replanned", "generalised", "bottom-up", True, "presence unknown"),
    ("replanned", "generalised", "top-down", True, "presence unknown"),
    ("replanned", "bucketised", "top-down", False, "presence unknown"),
    ("geometric", "generalised", "top-down", True, "presence known"),
    ("geometric", "bucketised", "top-down", True, "presence unknown"),
    ("geometric", "bucketised", "bottom-up", True, "presence unknown"),
]


@pytest.mark.parametrize(
    ("strategy", "form", "method", "has_registry", "adversary"),
    [*SAMPLE, *(thorough(*case) for case in CASES if case not in SAMPLE)],
)
def test_nobody_is_above_the_threshold_in_any_release(
    hospital: Clinic,
    tmp_path: Path,
    strategy: str,
    form: str,
    method: str,
    has_registry: bool,
    adversary: str,
) -> None:
    text = policy_text(
        strategy=STRATEGIES[strategy],
        output=f'form = "{form}"\nmethod = "{method}"',
        guarantee=f'threshold = "1/2"\nadversary = "{adversary}"',
    )
    series = new_series(tmp_path / "clinic", text)
    registry = hospital.registry if has_registry else None
    tables = list(hospital.tables)
    if strategy == "geometric":  # which plans for no end, and may come to one
        tables = publish_until_refused(series, tables, registry)
        assert len(tables) >= 5
    else:
        publish_all(series, tables, registry)
    folder = tmp_path / "export"
    done = CliRunner().invoke(app, ["export", str(series.path), str(folder), "--json"])
    assert len(json.loads(done.output)["files"]) == 6
    check_series(series, tables, registry, exported=folder)


def publish_until_refused(
    series: Series, tables: list[pl.DataFrame], registry: pl.DataFrame | None
) -> list[pl.DataFrame]:
    """The tables that went out, if need be with suppression."""
    for number, table in enumerate(tables):
        try:
            publish(
                table,
                series,
                registry=registry,
                label=f"r{number:02}",
                allow_suppression=True,
                randomness=SeededRandomness(number),
            )
        except Infeasible:
            return tables[:number]
    return tables
