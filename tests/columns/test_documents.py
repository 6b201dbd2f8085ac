"""No document of a release of records tells whose record is whose: two members of a group change
places, with all that they hold, and everything that is published stays the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from columns.records import Shape, everybody, policy_of, start
from serigraph.publishing import publish
from serigraph.runtime.randomness import SeededRandomness

FORMS = ['form = "generalised"', 'form = "bucketised"', 'form = "bucketised"\napart = true']
AT = datetime(2026, 1, 1, tzinfo=UTC)
DIGEST = re.compile(r"[0-9a-f]{8,}")  # those of the chain have a secret salt
REGISTRY, PEOPLE, HOLDERS = 300, 150, 75
SHOWN = {"diagnosis": "HIV", "drug": "AZT", "cost": 5.0, "ward": "east", "admitted on": None}


def table_of(registry: pl.DataFrame, holders: set[int], others: list[int]) -> pl.DataFrame:
    """Holders have the same record, so that it does not matter which of them is left out; the
    records of the others are all different."""
    rows = []
    for number, person in enumerate(registry.head(PEOPLE).iter_rows(named=True)):
        record = SHOWN
        if number not in holders:
            place = others.index(number)
            record = SHOWN | {
                "diagnosis": ["flu", "fracture", None][place % 3],
                "drug": ["aspirin", None][place % 2],
                "cost": float(place),
            }
        rows.append({**person, **record})
    schema = {"diagnosis": pl.String, "drug": pl.String, "cost": pl.Float64, "ward": pl.String}
    return pl.DataFrame(rows, schema={**registry.schema, **schema, "admitted on": pl.String})


def documents(folder: Path, output: str, table: pl.DataFrame, registry: pl.DataFrame) -> set[str]:
    """What is published, whatever the order of rows, which is drawn by lot."""
    policy = policy_of(Shape(output, files='["csv"]', releases=5))
    policy = policy.replace("minimum_group_size = 2", f"minimum_group_size = {REGISTRY}")
    made = publish(
        table,
        start(folder, policy),
        registry=registry,
        label="r1",
        allow_suppression=True,
        published_at=AT,
        randomness=SeededRandomness(3),
    )
    assert made.record.summary["groups"] == 1
    holders = (table["diagnosis"] == "HIV").sum()
    assert bool(made.record.summary["suppressed"]) == (holders == HOLDERS)
    found = set()
    for file in made.folder.iterdir():
        text = DIGEST.sub("", file.read_text())
        rows = sorted(text.splitlines()) if file.suffix == ".csv" else [text]
        found.add("\n".join([file.name, *rows]))
    return found


@pytest.mark.parametrize("holders", [2, HOLDERS], ids=["all shown", "suppressed"])
@pytest.mark.parametrize("output", FORMS)
def test_members_who_change_places_change_no_document(
    output: str, holders: int, tmp_path: Path
) -> None:
    registry = everybody(REGISTRY, seed=2)
    first = set(range(holders))
    rest = [each for each in range(PEOPLE) if each not in first]
    one = documents(tmp_path / "one", output, table_of(registry, first, rest), registry)
    for holder, other in ((0, PEOPLE - 1), (1, PEOPLE // 2)):
        swapped = first - {holder} | {other}
        others = [holder if each == other else each for each in rest]
        table = table_of(registry, swapped, others)
        assert documents(tmp_path / f"with-{other}", output, table, registry) == one
    changed = table_of(registry, first, rest).with_columns(pl.col("cost").replace(9.0, 5.0))
    assert documents(tmp_path / "changed", output, changed, registry) != one
