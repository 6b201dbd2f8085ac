"""A small clinic that published four releases, for audits and reports to look at."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.ledger import Series
from serigraph.reporting import publish_with_report
from serigraph.runtime.randomness import SeededRandomness

VALUES = ("flu", "gout", "migraine", "chlamydia", "syphilis", "HIV")
WEIGHTS = (40, 30, 24, 3, 2, 1)


def policy(
    *, form: str = "generalised", adversary: str = "presence unknown", sensitive: str = "single"
) -> str:
    return f"""version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.sex]
kind = "categorical"
[sensitive]
column = "diagnosis"
form = "{sensitive}"
[protected]
except = ["flu", "gout", "migraine"]
unheld = "allow"
[protected.classes]
"any STD" = ["chlamydia", "syphilis"]
[guarantee]
threshold = "1/2"
adversary = "{adversary}"
[strategy]
name = "constant"
releases = 4
[output]
form = "{form}"
"""


def registry(people: int, seed: int = 7) -> pl.DataFrame:
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "patient": [f"secret-{number:04}" for number in range(people)],
            "age": [draw.randint(20, 89) for _ in range(people)],
            "sex": [draw.choice("FM") for _ in range(people)],
        }
    )


def tables(known: pl.DataFrame, releases: int, people: int, seed: int = 7) -> list[pl.DataFrame]:
    draw = random.Random(seed)
    made = []
    for _ in range(releases):
        chosen = known[sorted(draw.sample(range(known.height), people))]
        values = draw.choices(VALUES, WEIGHTS, k=people)
        made.append(chosen.with_columns(pl.Series("diagnosis", values)))
    return made


def published(folder: Path, *, releases: int = 4, **options: Any) -> Series:
    """A series with that policy and so many releases of 300 of 500 people."""
    series = Series.create(folder, {"policy.toml": policy(**options).encode()})
    known = registry(500)
    for number, table in enumerate(tables(known, releases, 300), 1):
        publish_with_report(
            table,
            series,
            registry=known,
            label=f"r{number}",
            randomness=SeededRandomness(number),
            allow_suppression=True,
        )
    return series
