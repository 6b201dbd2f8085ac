"""A clinic whose patients come back with other diagnoses: seeded tables, registry, policies."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from serigraph.ledger import Series

COMMON = ("flu", "fracture", "gout", "migraine")
RARE = tuple(f"rare-{number:02}" for number in range(24))
ZIP_CODES = tuple(f"{area}{street}" for area in range(10, 16) for street in range(10, 20))
ZIP_TAXONOMY = "".join(f"{code};{code[:2]}**;{code[0]}***;*\n" for code in ZIP_CODES)

COLUMNS = """\
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.sex]
kind = "categorical"
[quasi_identifiers.zip]
kind = "categorical"
taxonomy = "taxonomies/zip.csv"
"""


@dataclass(frozen=True)
class Clinic:
    """The tables of a series in their order, and everybody that could ever be in one."""

    tables: tuple[pl.DataFrame, ...]
    registry: pl.DataFrame


def clinic(
    *,
    releases: int,
    people: int,
    registered: int,
    seed: int,
    returning: float = 0.5,
    changing: float = 1.0,
    protected_share: float = 0.15,
) -> Clinic:
    """So many tables of so many people each, drawn from the registry.

    Of each table a share comes back in the next one, and of those a share has another value.
    """
    draw = random.Random(seed)
    known = [
        (
            f"P{number:05}",
            draw.choice([None, *range(20, 90)]) if number % 50 == 0 else draw.randint(20, 89),
            draw.choice("FM"),
            draw.choice(ZIP_CODES),
        )
        for number in range(registered)
    ]

    def value() -> str:
        if draw.random() < protected_share:
            return RARE[min(int(draw.expovariate(1 / 8)), len(RARE) - 1)]
        return draw.choice(COMMON)

    tables = []
    holding: dict[int, str] = {}
    for _ in range(releases):
        back = draw.sample(sorted(holding), int(returning * len(holding)))
        others = [number for number in range(registered) if number not in set(back)]
        new = draw.sample(others, people - len(back))
        kept = {who: holding[who] if draw.random() >= changing else value() for who in back}
        holding = kept | {who: value() for who in new}
        rows = [(*known[who], holding[who]) for who in sorted(holding, key=lambda _: draw.random())]
        tables.append(frame([*_NAMES, "diagnosis"], rows))
    return Clinic(tuple(tables), frame([*_NAMES], known))


_NAMES = ("patient", "age", "sex", "zip")


def frame(names: list[str], rows: list[tuple[object, ...]]) -> pl.DataFrame:
    """A table from rows, its types taken from all of them."""
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def policy_text(
    *,
    columns: str = COLUMNS,
    person: str = 'id = "patient"',
    sensitive: str = 'column = "diagnosis"',
    protected: str = f"except = {list(COMMON)}",
    guarantee: str = 'threshold = "1/2"',
    strategy: str = 'name = "constant"',
    output: str = 'form = "generalised"',
    rest: str = "",
) -> str:
    """A policy for the clinic; each argument is the text of a section."""
    if "[protected.persistence]" not in protected:
        protected += '\n[protected.persistence]\ndefault = "transient"'
    return (
        f"version = 1\n[person]\n{person}\n{columns}[sensitive]\n{sensitive}\n"
        f"[protected]\n{protected}\n[guarantee]\n{guarantee}\n[strategy]\n{strategy}\n"
        f"[output]\n{output}\n{rest}"
    )


def new_series(folder: Path, text: str, files: dict[str, bytes] | None = None) -> Series:
    """A series with this policy, the taxonomy of zip codes and further files."""
    return Series.create(
        folder,
        {
            "policy.toml": text.encode(),
            "taxonomies/zip.csv": ZIP_TAXONOMY.encode(),
            **(files or {}),
        },
    )
