"""Twenty releases of a series in which people return and values change, recomputed from outside."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import serigraph
from publishing import oracle
from publishing.clinic import COMMON, ZIP_TAXONOMY, Clinic, clinic, new_series, policy_text
from serigraph.cli.app import app
from serigraph.randomness import SeededRandomness

HOLDS = (oracle.in_range, oracle.in_set, oracle.in_node(ZIP_TAXONOMY))


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=20, people=500, registered=1500, seed=20)


def protected_name(value: str) -> tuple[str, ...]:
    return () if value in COMMON else (value,)


def cells_of(table: pl.DataFrame) -> dict[str, oracle.Cells]:
    return {row[0]: row[1:] for row in table.select("patient", "age", "sex", "zip").iter_rows()}


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


@pytest.mark.parametrize(("strategy", "form", "method", "has_registry", "adversary"), CASES)
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
    suppressed, claimed = [], []
    for number, table in enumerate(hospital.tables):
        release = serigraph.publish(
            table,
            series,
            registry=registry,
            label=f"r{number:02}",
            allow_suppression=strategy == "geometric",
            randomness=SeededRandomness(number),
        )
        suppressed.append(release.figures["suppressed_values"])
        claimed.append(Fraction(release.figures["largest_probability"]))
    folder = tmp_path / "export"
    done = CliRunner().invoke(app, ["export", str(series.path), str(folder), "--json"])
    assert len(json.loads(done.output)["files"]) == 4

    export = oracle.read_export(folder)
    assert len(export.groups) == 20
    found = oracle.check_guarantee(export)
    assert found[-1] == max(claimed)  # the verifier's figure is that of the release alone
    is_known = adversary == "presence known"
    for number, (label, groups) in enumerate(zip(export.labels, export.groups, strict=True)):
        table = hospital.tables[number]
        everybody = cells_of(table)
        if has_registry and not is_known:
            everybody = cells_of(hospital.registry) | everybody
        files = series.path / "releases" / label
        if form == "generalised":
            published = pl.read_parquet(files / "table.parquet")
            assert published.columns == ["age", "sex", "zip", "diagnosis"]
            oracle.check_generalised(groups, published, everybody, HOLDS, protected_name)
            shown = published["diagnosis"].drop_nulls().len()
        else:
            quasi_identifiers = pl.read_parquet(files / "quasi_identifiers.parquet")
            sensitive = pl.read_parquet(files / "sensitive.parquet")
            oracle.check_bucketised(
                groups, quasi_identifiers, sensitive, everybody, is_known, protected_name
            )
            shown = sensitive["count"].sum()
        assert shown == table.height - suppressed[number]
        raw = dict(table.select("patient", "diagnosis").iter_rows())
        for group in groups.values():
            for value, count in group.values.items():
                holders = [person for person in group.members if raw.get(person) == value]
                assert count <= len(holders)
