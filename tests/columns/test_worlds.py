"""The promise for each column and value by its definition: every way to give the published records
of a group back to its people counts alike, and in at most a threshold's share of them a person
holds a value in any release.

Nothing here comes from the package under test but the publication itself.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from columns.records import start
from publishing import oracle
from serigraph.errors import Infeasible
from serigraph.publishing import history, publish
from serigraph.runtime.randomness import SeededRandomness

POLICY = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[sensitive.diagnosis]
[sensitive.diagnosis.protected]
except = ["flu"]
[sensitive.drug]
form = "list"
[sensitive.drug.protected]
values = ["AZT", "3TC"]
unheld = "allow"
[classes.treated]
threshold = "2/3"
[classes.treated.values]
diagnosis = ["HIV"]
drug = ["AZT", "3TC"]
[plain]
cost = "numeric"
[guarantee]
threshold = "1/2"
minimum_group_size = 2
[strategy]
name = "schedule"
link_chances = [1, 0.5]
[output]
form = "{form}"
"""
LIMITS = {
    "diagnosis: HIV": Fraction(1, 2),
    "drug: AZT": Fraction(1, 2),
    "drug: 3TC": Fraction(1, 2),
    "treated": Fraction(2, 3),
}
Record = tuple[Any, tuple[str, ...]] | None  # None: of a member who is not in the table


def table_of(registry: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    """A table without one of the people, with a holder or two."""
    here = registry.filter(pl.col("patient") != draw.randrange(registry.height))
    people = here.height
    diagnoses = [draw.choice(["flu", None]) for _ in range(people)]
    diagnoses[draw.randrange(people)] = "HIV"
    drugs: list[list[str]] = [draw.choice([[], ["aspirin"]]) for _ in range(people)]
    holder = draw.randrange(people)
    drugs[holder] = draw.choice([["AZT"], ["3TC"], ["AZT", "aspirin"]])
    cost = [draw.choice([None, 10, 20]) for _ in range(people)]
    return here.with_columns(
        pl.Series("diagnosis", diagnoses, dtype=pl.String),
        pl.Series("drug", drugs, dtype=pl.List(pl.String)),
        pl.Series("cost", cost, dtype=pl.Int64),
    )


def groups_of(files: Path, registry: pl.DataFrame) -> list[tuple[list[int], list[Record]]]:
    """The members of each group, and its records, from the public files and the registry alone."""
    people = registry.select("patient", "age").rows()
    members: dict[Any, list[int]] = defaultdict(list)
    records: dict[Any, list[Record]] = defaultdict(list)
    if (files / "table.parquet").exists():
        for age, diagnosis, drugs, _ in pl.read_parquet(files / "table.parquet").iter_rows():
            records[age].append((diagnosis, tuple(drugs)))
        for age in records:
            members[age] = [who for who, own in people if oracle.in_range(age, own)]
    else:
        person = {own: who for who, own in people}  # nobody is as old as another one
        for group, age in pl.read_parquet(files / "quasi_identifiers.parquet").iter_rows():
            members[group].append(person[age])
        for row in pl.read_parquet(files / "sensitive.parquet").iter_rows():
            records[row[0]].append((row[1], tuple(row[2])))
    found = []
    for group, own in records.items():
        missing = len(members[group]) - len(own)
        assert missing >= 0
        found.append((members[group], [*own, *[None] * missing]))
    return found


def names_of(record: Record) -> frozenset[str]:
    """The protected values and classes that a record holds."""
    if record is None:
        return frozenset()
    diagnosis, drugs = record
    names = {f"drug: {drug}" for drug in drugs} & LIMITS.keys()
    names |= {"diagnosis: HIV"} if diagnosis == "HIV" else set()
    return frozenset(names | {"treated"} if names else names)


def worlds_with(groups: list[tuple[list[int], list[Record]]]) -> dict[tuple[int, str], Fraction]:
    """For each person and value the share of the worlds of a release in which it holds."""
    found: dict[tuple[int, str], Fraction] = {}
    for members, records in groups:
        worlds = list(permutations([names_of(record) for record in records]))
        held = Counter(
            (person, name)
            for world in worlds
            for person, names in zip(members, world, strict=True)
            for name in names
        )
        found |= {pair: Fraction(number, len(worlds)) for pair, number in held.items()}
    return found


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
@pytest.mark.parametrize("seed", range(3))
def test_no_column_and_value_is_more_probable_than_promised(
    form: str, seed: int, tmp_path: Path
) -> None:
    draw = random.Random(seed)
    ages = draw.sample(range(20, 80), 7)
    registry = pl.DataFrame({"patient": range(7), "age": ages})
    series = start(tmp_path / "clinic", POLICY.replace("{form}", form))
    survival: dict[tuple[int, str], Fraction] = defaultdict(lambda: Fraction(1))
    published = 0
    for number in range(5):
        table = table_of(registry, draw)
        try:
            found = publish(
                table,
                series,
                registry=registry,
                label=f"r{number}",
                new_people=True,
                same_table=True,
                assume_transient=list(LIMITS),
                randomness=SeededRandomness(seed),
            )
        except Infeasible:
            continue
        published += 1
        for pair, share in worlds_with(groups_of(found.folder, registry)).items():
            survival[pair] *= 1 - share
        for (person, name), left in survival.items():
            assert 1 - left <= LIMITS[name]
            assert history(series, person, name).probability == 1 - left
    assert published >= 2
    assert any(left < 1 for left in survival.values())
