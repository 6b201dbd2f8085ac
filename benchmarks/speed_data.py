"""Tables for the speed benchmark, made with a seed: the same files on every machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

VALUES = 200
LARGEST_SHARE = 0.0238  # of a value: 70 % of what twenty releases at threshold 1/2 allow

POLICY = """\
version = 1
[person]
id = "person"
type = "integer"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.sex]
kind = "categorical"
[quasi_identifiers.zip]
kind = "numeric"
unique_values = "publish"
[quasi_identifiers.weight]
kind = "numeric"
[quasi_identifiers.day]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
{protected}
[guarantee]
threshold = "{threshold}"
[strategy]
{strategy}
[output]
form = "{form}"
files = ["{file}"]
"""
SEVERAL = """\
[sensitive.diagnosis]
[sensitive.diagnosis.protected.persistence]
default = "transient"
[sensitive.procedure]
[sensitive.procedure.protected.persistence]
default = "transient"
[plain]
"""  # twelve plain columns follow
CONSTANT = 'name = "constant"\nreleases = 20\nreplan = false'
GEOMETRIC = 'name = "geometric"\nfactor = 2'
NAMES = np.array([f"diagnosis {number:03d}" for number in range(VALUES)])


def policy(
    *,
    form: str = "bucketised",
    strategy: str = CONSTANT,
    protected: str = 'values = "all"',
    threshold: str = "1/2",
    file: str = "parquet",
) -> str:
    return POLICY.format(
        form=form, strategy=strategy, protected=protected, threshold=threshold, file=file
    )


def policy_of_records(kinds: dict[str, str]) -> str:
    """A policy on two sensitive columns and the plain ones of these kinds."""
    before, _, rest = policy(form="generalised").partition("[sensitive]\n")
    plain = "".join(f'{name} = "{kind}"\n' for name, kind in kinds.items())
    guarantee = rest[rest.index("[guarantee]\n") :]
    least = guarantee.replace("[strategy]", "minimum_group_size = 5\n[strategy]")
    return before + SEVERAL + plain + least


def _people(ids: np.ndarray) -> dict[str, np.ndarray]:
    """Quasi-identifiers that belong to a person for good: they follow from the id."""
    chance = np.random.default_rng(7)
    draws = 1 << 20  # kinds of person, each drawn once
    kind = (ids * 2654435761) % draws
    facts = {
        "age": chance.integers(0, 100, draws).astype(np.int16),
        "sex": chance.choice(["F", "M"], draws),
        "zip": chance.integers(10_000, 12_000, draws).astype(np.int32),
        "weight": np.round(chance.normal(75, 12, draws)).astype(np.int16),
        "day": chance.integers(0, 365, draws).astype(np.int16),
    }
    return {name: column[kind] for name, column in facts.items()}


def shares() -> np.ndarray:
    weights = 1 / np.arange(1, VALUES + 1) ** 0.3
    weights = np.minimum(weights / weights.sum(), LARGEST_SHARE)
    return weights / weights.sum()


def table(people: int, release: int, returning: float = 0.8) -> pl.DataFrame:
    """The table of a release: most people were there before, the rest are new, all values are."""
    chance = np.random.default_rng(1000 + release)
    ids = np.arange(people, dtype=np.int64)
    if release > 1:
        fresh = chance.random(people) > returning
        ids = np.where(fresh, ids + people * release, ids)
    return people_with_values(ids, chance).sort("person")


def people_with_values(ids: np.ndarray, chance: np.random.Generator) -> pl.DataFrame:
    """These people, each with a value drawn anew."""
    values = NAMES[chance.choice(VALUES, len(ids), p=shares())]
    return pl.DataFrame({"person": ids, **_people(ids), "diagnosis": values})


def records(people: int) -> tuple[pl.DataFrame, dict[str, str]]:
    """A table with twenty columns: ids, five quasi-identifiers, two sensitive columns and twelve
    plain ones, whose kinds are returned too."""
    chance = np.random.default_rng(17)
    found = table(people, 1)
    found = found.with_columns(
        procedure=NAMES[chance.choice(VALUES, people, p=shares())],
        **{f"count_{n}": chance.integers(0, 100, people) for n in range(4)},
        **{f"amount_{n}": np.round(chance.lognormal(6, 1, people), 2) for n in range(3)},
        **{f"text_{n}": chance.choice(NAMES[:20], people) for n in range(3)},
        **{
            f"day_{n}": pl.Series(chance.integers(18_000, 20_000, people, np.int32)).cast(pl.Date)
            for n in range(2)
        },
    )
    kinds = {"count": "numeric", "amount": "numeric", "text": "text", "day": "date"}
    return found, {name: kinds[name.split("_")[0]] for name in found.columns[8:]}


def registry(people: int) -> pl.DataFrame:
    ids = np.arange(people, dtype=np.int64)
    return pl.DataFrame({"person": ids, **_people(ids)})


def few_cells(people: int) -> pl.DataFrame:
    """A table as Adult is: 20,000 different quasi-identifiers, 14 values."""
    chance = np.random.default_rng(11)
    cells = 20_000
    cell = chance.integers(0, cells, people)
    columns = {
        "age": chance.integers(17, 90, cells),
        "sex": chance.choice(["F", "M"], cells),
        "zip": chance.integers(0, 16, cells),
        "weight": chance.integers(0, 7, cells),
        "day": chance.integers(0, 5, cells),
    }
    weights = 1 / np.arange(1, 15) ** 0.15
    return pl.DataFrame(
        {
            "person": np.arange(people),
            **{name: column[cell] for name, column in columns.items()},
            "diagnosis": NAMES[chance.choice(14, people, p=weights / weights.sum())],
        }
    )


def write(frame: pl.DataFrame, path: Path) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        (frame.write_csv if path.suffix == ".csv" else frame.write_parquet)(path)
    return path
