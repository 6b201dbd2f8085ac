"""No document of a release of records tells whose record is whose: members of a group change
places, with all that they hold, and everything that is published stays the same."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from columns.records import Shape, everybody, policy_of, start
from serigraph import export
from serigraph.cohorts import standing
from serigraph.model import Cohorts, Population
from serigraph.publishing import publish
from serigraph.runtime.randomness import Randomness, SeededRandomness

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


PERSISTING = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[sensitive.diagnosis]
[sensitive.diagnosis.protected]
values = ["HIV", "lupus"]
unheld = "allow"
[sensitive.diagnosis.protected.persistence]
default = "any"
[sensitive.drug]
form = "list"
[sensitive.drug.protected]
values = ["AZT", "3TC"]
unheld = "allow"
[sensitive.drug.protected.persistence]
default = "permanent"
[classes.treated]
threshold = "1/3"
[classes.treated.values]
diagnosis = ["HIV"]
drug = ["AZT"]
[plain]
weight = "numeric"
ward = "text"
[guarantee]
threshold = "1/3"
adversary = "presence unknown"
minimum_group_size = 2
cohort_size = 4
[output]
files = ["csv"]
"""
Record = tuple[str | None, str | None, list[str], float | None]  # diagnosis, ward, drugs, weight
Life = list[Record | None]  # what a person's record is in each release, None without one


def lives(seed: int, people: int, releases: int) -> list[Life]:
    """People who keep most of their record, and are away now and then."""
    draw = random.Random(seed)

    def record() -> Record:
        is_ill = draw.random() < 0.3
        diagnosis = draw.choice(["HIV", "lupus"] if is_ill else ["flu", None, "gout"])
        rare = [drug for drug in ("AZT", "3TC") if draw.random() < (0.5 if is_ill else 0.1)]
        usual = ["aspirin"] if draw.random() < 0.4 else []
        ward = draw.choice([None, "east", "west"])
        weight = 2.5 if draw.random() < 0.1 else draw.choice([None, 1, 2, 3])
        return diagnosis, ward, [*rare, *usual], weight

    everybody = []
    for _ in range(people):
        mine, life = record(), Life()
        for _ in range(releases):
            if draw.random() < 0.2:
                mine = record()
            life.append(mine if draw.random() < 0.8 else None)
        everybody.append(life)
    return everybody


class Keys(NamedTuple):
    """Lots that are drawn already."""

    drawn: NDArray[np.uint64]

    def keys(self, _number: int) -> NDArray[np.uint64]:
        return self.drawn


def drawn_by_person(monkeypatch: pytest.MonkeyPatch, was: Sequence[int]) -> list[Population]:
    """Lots over records beyond a limit go with people: who changes places takes the lot along.
    Otherwise other people give way in other worlds, each as often as in this one. Populations in
    which somebody had to give way are appended to what is returned."""
    drawn = standing._within_limits
    gave_way: list[Population] = []

    def within_limits(
        population: Population,
        cohort: NDArray[np.int64],
        recorded: Cohorts,
        rules: standing.Rules,
        randomness: Randomness,
    ) -> Population:
        tickets = randomness.keys(len(was))
        if not population.protected:
            return population
        before = standing._published(population, recorded)
        newly = np.unique(standing._newly_shown(population, before) // len(population.protected))
        tickets = tickets[[was[n] for n in population.ids.gather(newly)]]
        # Whoever has the n-th smallest of these keys is the n-th of all, by ticket.
        drawn_already = Keys(np.argsort(tickets).astype(np.uint64))
        released = drawn(population, cohort, recorded, rules, drawn_already)
        if len(released.held) < len(population.held):
            gave_way.append(released)
        return released

    monkeypatch.setattr(standing, "_within_limits", within_limits)
    return gave_way


def series_of(folder: Path, output: str, held: list[Life]) -> list[set[str]]:
    """The documents of each release; somebody leaves the registry before each but the first."""
    series = start(folder, f"{PERSISTING}{output}\n")
    everybody = pl.DataFrame({"patient": range(len(held))}).with_columns(age=pl.col("patient") * 3)
    texts = dict.fromkeys(("diagnosis", "ward"), pl.String())
    schema = {**everybody.schema, **texts, "drug": pl.List(pl.String), "weight": pl.Float64()}
    documents: list[set[str]] = []
    for number in range(len(held[0])):
        registry = everybody.filter(~pl.col("patient").is_in([1, 9][:number]))
        present = [(who, held[who[0]][number]) for who in registry.rows()]
        table = pl.DataFrame(
            [(*who, *record) for who, record in present if record], schema=schema, orient="row"
        )
        made = publish(
            table,
            series,
            registry=registry,
            label=f"r{number}",
            new_people=True,
            same_table=True,
            published_at=AT,
            randomness=SeededRandomness(number),
        )
        documents.append(set())
        for file in made.folder.iterdir():
            lines = sorted(DIGEST.sub("", file.read_text()).splitlines())
            documents[-1].add("\n".join([file.name, *lines]))
    return documents


def recorded(folder: Path) -> tuple[list[list[int]], set[tuple[int, int]]]:
    """The people of each cohort, apart from those of it who retired before some release; and who
    had a record in which release."""
    export(folder, folder.with_suffix(".exported"), confidential=True)
    cohorts, retired, members = (
        pl.read_parquet(folder.with_suffix(".exported") / f"{name}.parquet").with_columns(
            pl.col("person").cast(pl.Int64)
        )
        for name in ("cohorts", "retired", "members")
    )
    together = cohorts.join(retired, on="person", how="left")
    alike = together.group_by("cohort", "release_right").agg("person")
    shown = members.filter("present").select("person", pl.col("release") - 1)
    return alike["person"].to_list(), set(shown.iter_rows())


@pytest.mark.parametrize("output", [*FORMS, 'form = "bucketised"\ngroups = "regions"'])
def test_people_of_a_cohort_can_change_places_with_their_records(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that they hold in all columns over all releases, and when they are there. Of a record
    that is not published nothing is told at all: the same without it."""
    gave_way = []
    for seed in range(3):
        held = lives(seed, 12, 3)
        with monkeypatch.context() as patch:
            mine = drawn_by_person(patch, range(12))
            first = series_of(tmp_path / f"{seed}", output, held)
            gave_way += mine
        alike, shown = recorded(tmp_path / f"{seed}")
        only_shown = [
            [record if (person, number) in shown else None for number, record in enumerate(life)]
            for person, life in enumerate(held)
        ]
        assert only_shown != held
        place = list(range(12))
        for together in alike:
            for person, other in zip(together, [*together[1:], together[0]], strict=True):
                place[person] = other
        moved = [held[other] for other in place]
        assert moved != held
        for name, other, was in (("moved", moved, place), ("shown", only_shown, range(12))):
            with monkeypatch.context() as patch:
                drawn_by_person(patch, was)
                assert series_of(tmp_path / f"{seed}-{name}", output, other) == first
    assert gave_way
