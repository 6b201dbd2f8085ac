"""Small series with values that persist, and a recount of their classes from an export."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import polars as pl

import serigraph
from serigraph.ledger import Series
from serigraph.publishing import Published
from serigraph.reporting import publish_with_report
from serigraph.runtime.randomness import SeededRandomness

POLICY = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
unique_values = "publish"
[quasi_identifiers.zip]
kind = "numeric"
unique_values = "publish"
[sensitive]
column = "diagnosis"
[protected]
except = ["none", "gout"]
unheld = "allow"
[protected.persistence]
default = "{persistence}"
{own}
[guarantee]
threshold = "1/2"
adversary = "{adversary}"
known_members = {known}
[strategy]
name = "constant"
releases = 4
[output]
form = "{form}"
files = ["csv"]
"""


@dataclass(frozen=True)
class Half:
    """The registry and the table of one release."""

    registry: pl.DataFrame
    table: pl.DataFrame


def halves(releases: int = 4, people: int = 240, *, flu: bool = False, seed: int = 5) -> list[Half]:
    """Some people leave the registry before each release, and others come; what they have is for
    life, apart from the flu."""
    draw = random.Random(seed)
    total = people + 20 * releases
    where = [(draw.randint(20, 89), draw.randint(0, 99)) for _ in range(total)]
    chronic = draw.choices(["none", "HIV", "lupus", "gout"], [80, 6, 6, 8], k=total)
    here = list(range(people))
    made = []
    for number in range(releases):
        if number:
            gone = set(draw.sample(here, 6))
            coming = range(people + 20 * (number - 1), people + 20 * number)
            here = sorted({*here, *coming} - gone)
        rows = [(f"secret-{each:04}", *where[each]) for each in here]
        known = pl.DataFrame(rows, schema=["patient", "age", "zip"], orient="row")
        is_there = [draw.random() < 0.8 for _ in here]
        sick = ["flu" if flu and draw.random() < 0.03 else chronic[each] for each in here]
        table = known.with_columns(pl.Series("diagnosis", sick)).filter(pl.Series(is_there))
        made.append(Half(known, table))
    return made


def published(
    folder: Path,
    some: list[Half],
    *,
    form: str = "generalised",
    adversary: str = "presence unknown",
    persistence: str = "any",
    own: str = "",
    known: int = 0,
    has_registry: bool = True,
) -> tuple[Series, list[Published]]:
    policy = POLICY.format(
        form=form, adversary=adversary, persistence=persistence, own=own, known=known
    )
    series = Series.create(folder, {"policy.toml": policy.encode()})
    made = [
        publish_with_report(
            half.table,
            series,
            registry=half.registry if has_registry else None,
            label=f"r{number}",
            randomness=SeededRandomness(number),
        )
        for number, half in enumerate(some, 1)
    ]
    return series, made


@dataclass(frozen=True)
class Recount:
    """The classes of people who are alike: for each value the size and the holders of each."""

    classes: dict[str, list[tuple[int, int]]]
    cohorts: int
    people: int
    retired: int

    def largest(self, value: str, known: int = 0) -> Fraction:
        return max(Fraction(held, size - known) for size, held in self.classes[value])


def recount(series: Series, folder: Path, names: set[str], upto: int = 1000) -> Recount:
    """From the confidential export, person by person, after the first releases."""
    serigraph.export(series, folder, confidential=True)
    found = {
        name: pl.read_parquet(folder / f"{name}.parquet").filter(pl.col("release") <= upto)
        for name in ("cohorts", "retired", "holders")
    }
    if "column" in found["holders"].columns:  # one of several; a class across them is in none
        column = (pl.col("column") + ": ").fill_null("")
        named = pl.concat_str(column, "value").alias("value")
        found["holders"] = found["holders"].select("release", "person", named)
    rows = {name: table.rows() for name, table in found.items()}
    cohort = {person: number for _, person, number in rows["cohorts"]}
    retired = {person: release for release, person in rows["retired"]}
    members: dict[tuple[int, int], set[str]] = defaultdict(set)
    for person, number in cohort.items():
        members[number, retired.get(person, 0)].add(person)
    holders: dict[str, set[str]] = defaultdict(set)
    for _, person, value in rows["holders"]:
        if value in names:
            holders[value].add(person)
    return Recount(
        classes={
            value: sorted(
                (len(people), len(people & held)) for people in members.values() if people & held
            )
            for value, held in holders.items()
        },
        cohorts=len(set(cohort.values())),
        people=len(cohort),
        retired=len(retired),
    )
