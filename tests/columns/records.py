"""Seeded tables whose records have several sensitive columns and plain ones, and their policies."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from serigraph.ledger import Series
from serigraph.publishing import Published, publish
from serigraph.runtime.randomness import SeededRandomness

DIAGNOSES = ("flu", "fracture", "HIV", "gout; chronic", "a: b", "=1+1")
DRUGS = ("aspirin", "AZT", "3TC", "a: b", "@x")
PLAIN = {"cost": "numeric", "ward": "text", "admitted on": "date"}


@dataclass(frozen=True)
class Names:
    """What the two sensitive columns are called."""

    diagnosis: str = "diagnosis"
    drug: str = "drug"

    @property
    def columns(self) -> tuple[str, str]:
        return self.diagnosis, self.drug


HOSTILE = Names('a: "b"\\', "a\n: ='c")


@dataclass(frozen=True)
class Shape:
    """One way to publish records."""

    output: str = 'form = "generalised"'
    adversary: str = "presence unknown"
    names: Names = field(default_factory=Names)
    has_plain: bool = True
    releases: int = 5
    files: str = '["parquet", "csv"]'
    rest: str = ""


def policy_of(shape: Shape) -> str:
    diagnosis, drug = (json.dumps(name) for name in shape.names.columns)
    plain = "".join(f"{json.dumps(name)} = {json.dumps(kind)}\n" for name, kind in PLAIN.items())
    return f"""version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.sex]
kind = "categorical"
[sensitive.{diagnosis}]
[sensitive.{diagnosis}.protected]
except = ["flu", "fracture"]
unheld = "allow"
[sensitive.{diagnosis}.protected.thresholds]
"HIV" = "2/5"
[sensitive.{drug}]
form = "delimited"
delimiter = "|"
[sensitive.{drug}.protected]
values = ["AZT", "3TC", "a: b", "@x"]
unheld = "allow"
[sensitive.{drug}.protected.classes]
"antiretroviral" = ["AZT", "3TC"]
[classes."HIV or AZT"]
threshold = "1/2"
[classes."HIV or AZT".values]
{diagnosis} = ["HIV"]
{drug} = ["AZT"]
{"[plain]" if shape.has_plain else ""}
{plain if shape.has_plain else ""}
[guarantee]
threshold = "1/2"
adversary = "{shape.adversary}"
minimum_group_size = 2
[strategy]
name = "constant"
releases = {shape.releases}
[output]
{shape.output}
files = {shape.files}
{shape.rest}
"""


def everybody(people: int, seed: int) -> pl.DataFrame:
    """The registry."""
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "patient": list(range(people)),
            "age": [draw.randint(18, 90) for _ in range(people)],
            "sex": [draw.choice("FM") for _ in range(people)],
        }
    )


def table_of(
    registry: pl.DataFrame, seed: int, names: Names, share: float = 0.85, rare: float = 0.02
) -> pl.DataFrame:
    """A table of some of the registry's people, each with another record than in other tables."""
    draw = random.Random(seed)
    rows = []
    for person in registry.iter_rows():
        if draw.random() > share:
            continue
        held = [each for each in DIAGNOSES[2:] if draw.random() < rare]
        diagnosis = held[0] if held else draw.choice(["flu", "flu", "fracture", None])
        drugs = [each for each in DRUGS if draw.random() < (rare if each != "aspirin" else 0.5)]
        ward = draw.choice(["=A1", "east", 'O\'Neill; "2"', None])
        cost = draw.choice([None, round(draw.random() * 1000, 2), draw.randint(1, 9)])
        day = f"2024-0{draw.randint(1, 9)}-{draw.randint(10, 28)}"
        cell = "|".join(draw.sample(drugs, len(drugs))) or None
        rows.append((*person, diagnosis, cell, cost, ward, day))
    schema = {
        "patient": pl.Int64,
        "age": pl.Int64,
        "sex": pl.String,
        names.diagnosis: pl.String,
        names.drug: pl.String,
        "cost": pl.Float64,
        "ward": pl.String,
        "admitted on": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def sets_of(table: pl.DataFrame, names: Names) -> dict[str, dict[str, set[str]]]:
    """By column what each person holds."""
    people = table["patient"].cast(pl.String)
    diagnoses = [set() if each is None else {each} for each in table[names.diagnosis]]
    drugs = [set((each or "").split("|")) - {""} for each in table[names.drug]]
    return {
        names.diagnosis: dict(zip(people, diagnoses, strict=True)),
        names.drug: dict(zip(people, drugs, strict=True)),
    }


def start(folder: Path, policy: str) -> Series:
    return Series.create(folder, {"policy.toml": policy.encode()})


def publish_tables(
    series: Series,
    tables: list[pl.DataFrame],
    registry: pl.DataFrame | None = None,
    *,
    allow_suppression: bool = False,
) -> list[Published]:
    return [
        publish(
            table,
            series,
            registry=registry,
            label=f"r{number}",
            allow_suppression=allow_suppression,
            randomness=SeededRandomness(number),
        )
        for number, table in enumerate(tables, 1)
    ]
