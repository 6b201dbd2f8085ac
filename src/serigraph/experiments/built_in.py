"""A built-in source shaped like the paper's data, for use without the real files."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.experiments.source import PERSON, VALUE, Source

PEOPLE, REACTIONS, VALUES = 40_478, 105_420, 2_320

# Inhabitants of the provinces and territories of Canada, in thousands, census of 2021.
_PROVINCES = {
    "AB": 4263,
    "BC": 5001,
    "MB": 1342,
    "NB": 776,
    "NL": 511,
    "NS": 969,
    "NT": 41,
    "NU": 37,
    "ON": 14224,
    "PE": 154,
    "QC": 8502,
    "SK": 1133,
    "YT": 40,
}


def built_in_source(people: int = PEOPLE, seed: int = 1) -> Source:
    """People with age, sex, weight, height and province, and reactions with a long tail.

    By default the paper's numbers of people, reactions and values; with fewer people the others
    shrink in proportion. A tenth of the values is hardly ever seen, as in the real data.
    """
    generator = np.random.Generator(np.random.Philox(seed))
    reactions = max(people, round(REACTIONS * people / PEOPLE))
    values = max(20, round(VALUES * people / PEOPLE))
    listed = _people(generator, people)
    person = np.repeat(np.arange(people), _numbers(generator, people, reactions))
    value = _values(generator, person, values)
    names = pl.Series([f"reaction {number:04}" for number in range(values)])
    return Source.of(
        "built-in generator",
        listed,
        pl.DataFrame({PERSON: person, VALUE: names.gather(generator.permutation(values)[value])}),
        {
            "age": "numeric",
            "sex": "categorical",
            "weight": "numeric",
            "height": "numeric",
            "province": "categorical",
        },
    )


def _people(generator: np.random.Generator, people: int) -> pl.DataFrame:
    """Adults more often than children, and old people most: they take most medicine."""
    is_child = generator.random(people) < 0.12
    adult = generator.triangular(18, 62, 98, people)
    age = np.where(is_child, generator.uniform(0, 18, people), adult).astype(np.int64)
    is_female = generator.random(people) < 0.58
    grown = np.clip(age / 18, 0, 1)
    height = 52 + grown * np.where(is_female, 111, 124) + generator.normal(0, 6.5, people)
    body_mass = 16 + 10 * grown + generator.gamma(3.0, 1.2, people) - 3
    weight = body_mass * (height / 100) ** 2
    inhabitants = np.array(list(_PROVINCES.values()), dtype=np.float64)
    province = generator.choice(len(inhabitants), people, p=inhabitants / inhabitants.sum())
    return pl.DataFrame(
        {
            PERSON: np.arange(people),
            "age": age,
            "sex": pl.Series(["Female", "Male"]).gather((~is_female).astype(np.int64)),
            "weight": np.maximum(weight, 2).round().astype(np.int64),
            "height": np.clip(height, 40, 210).round().astype(np.int64),
            "province": pl.Series(list(_PROVINCES)).gather(province),
        }
    )


def _numbers(generator: np.random.Generator, people: int, reactions: int) -> NDArray[np.int64]:
    """At least one reaction each, the others at random."""
    further = generator.integers(0, people, reactions - people)
    return 1 + np.bincount(further, minlength=people).astype(np.int64)


def _values(
    generator: np.random.Generator, person: NDArray[np.int64], values: int
) -> NDArray[np.int64]:
    """Values by a Zipf-Mandelbrot law, none twice for a person; every value occurs."""
    weight = (np.arange(values) + 9.0) ** -1.2
    share = weight / weight.sum()
    value = generator.choice(values, len(person), p=share)
    every = generator.choice(len(person), values, replace=False)
    value[every] = np.arange(values)
    fixed = np.zeros(len(person), dtype=np.bool_)
    fixed[every] = True
    while True:
        pair = person * values + value
        order = np.lexsort((~fixed, pair))
        again = order[1:][np.diff(pair[order]) == 0]
        if len(again) == 0:
            return value
        value[again] = generator.choice(values, len(again), p=share)
