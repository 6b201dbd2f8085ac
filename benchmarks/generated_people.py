"""Generated data sets: what a column may look like, and how values may be held."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.data_sets import Column, DataSet, data_set, falling_shares
from serigraph.model import Taxonomy

HALF = Fraction(1, 2)
RELEASES = 10  # at 1/2 a target of 14.93
LARGEST = 0.68 / 14.93  # share of the commonest value


def generated_data_sets(people: int, seed: int) -> Iterator[DataSet]:
    """One data set after the other, each from a generator of its own."""
    for name, build in _BUILDERS.items():
        yield build(name, people, np.random.default_rng([seed, len(name), *name.encode()]))


def _uniform(name: str, people: int, draw: np.random.Generator) -> DataSet:
    columns = {f"q{i}": _numbers(draw.integers(0, 1000, people)) for i in range(4)}
    return data_set(name, columns, _one_value_each(people, draw), threshold=HALF, releases=RELEASES)


def _clustered(name: str, people: int, draw: np.random.Generator) -> DataSet:
    columns = _clusters(people, draw)
    return data_set(name, columns, _one_value_each(people, draw), threshold=HALF, releases=RELEASES)


def _taxonomies(name: str, people: int, draw: np.random.Generator) -> DataSet:
    """Two columns with taxonomies, one of ten times ten leaves and one that is lopsided."""
    codes = [f"{a}{b}{c}" for a in range(4) for b in range(10) for c in range(10)]
    places = Taxonomy.from_rows([[code, code[:2], code[:1], "*"] for code in codes])
    jobs = [f"job {number:02}" for number in range(30)]
    trades = Taxonomy.from_rows(
        [[job, f"trade {int(number**0.5)}", "*"] for number, job in enumerate(jobs)]
    )
    columns = {
        "age": _numbers(np.clip(draw.normal(45, 20, people), 0, 99)),
        "place": Column(pl.Series(draw.choice(codes, people)), "categorical", places),
        "job": Column(
            pl.Series(draw.choice(jobs, people, p=falling_shares(30, 0.2))), "categorical", trades
        ),
        "sex": Column(pl.Series(draw.choice(["f", "m"], people)), "categorical"),
    }
    return data_set(name, columns, _one_value_each(people, draw), threshold=HALF, releases=RELEASES)


def _skewed(name: str, people: int, draw: np.random.Generator) -> DataSet:
    """Long tails and missing cells; half of the people hold up to three values."""
    income = np.round(np.exp(draw.normal(3, 1, people)), 1)
    stay = draw.geometric(0.2, people).astype(np.float64)
    columns = {
        "income": _numbers(np.where(draw.random(people) < 0.05, np.nan, income)),
        "stay": _numbers(stay),
        "age": _numbers(np.clip(draw.gamma(6, 8, people), 0, 99)),
        "ward": Column(
            pl.Series(draw.choice([f"ward {w:02}" for w in range(25)], people)), "categorical"
        ),
    }
    shares = falling_shares(200, LARGEST / 2)
    number = draw.choice(4, people, p=[0.5, 0.3, 0.15, 0.05])
    drawn = draw.choice(200, (people, 3), p=shares)
    held = [
        [f"value {v:03}" for v in sorted(set(row[:k]))]
        for row, k in zip(drawn.tolist(), number.tolist(), strict=True)
    ]
    return data_set(name, columns, held, threshold=HALF, releases=RELEASES)


def _rare(name: str, people: int, draw: np.random.Generator) -> DataSet:
    """Clusters in which one person in a hundred holds one of ten values."""
    chosen = np.where(draw.random(people) < 0.01, draw.integers(0, 10, people), -1)
    held = [[f"value {v}"] if v >= 0 else [] for v in chosen.tolist()]
    return data_set(name, _clusters(people, draw), held, threshold=HALF, releases=RELEASES)


_BUILDERS = {
    "uniform": _uniform,
    "clustered": _clustered,
    "taxonomies": _taxonomies,
    "skewed": _skewed,
    "rare": _rare,
}


def _numbers(values: NDArray[np.generic]) -> Column:
    rounded = pl.Series(np.round(values.astype(np.float64), 1), nan_to_null=True)
    return Column(rounded, "numeric")


def _clusters(people: int, draw: np.random.Generator) -> dict[str, Column]:
    centre = draw.integers(0, 25, people)
    return {
        f"q{i}": _numbers(
            np.round(
                np.clip(draw.uniform(0, 1000, 25)[centre] + draw.normal(0, 30, people), 0, 1000)
            )
        )
        for i in range(4)
    }


def _one_value_each(people: int, draw: np.random.Generator) -> list[list[str]]:
    """Everybody holds one of sixty values; the commonest have 68 % of what the target allows."""
    drawn = draw.choice(60, people, p=falling_shares(60, LARGEST))
    return [[f"value {v:02}"] for v in drawn.tolist()]
