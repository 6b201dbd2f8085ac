"""Small random populations, and the same measures in plain Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl

from serigraph.model import Domain, Population, ProtectedValue

THRESHOLD = Fraction(1, 2)


def random_population(seed: int, *, people: int = 40, values: int = 6) -> Population:
    """People with sets of values, some of them absent; the second half of the values protected."""
    draw = np.random.default_rng(seed)
    domains = (
        Domain("age", "numeric", pl.Series([20, 21, 25, 40, 41, 90])),
        Domain("sex", "categorical", pl.Series(["f", "m"])),
        Domain("zip", "categorical", pl.Series([f"z{n}" for n in range(9)])),
    )
    present = draw.random(people) < 0.7
    present[0] = True
    sets = [
        sorted({f"v{n}" for n in draw.integers(0, values, draw.integers(1, 4))}) if here else None
        for here in present
    ]
    return population_of(
        domains, draw, present, sets, [f"v{n}" for n in range(values // 2, values)]
    )


def population_of(
    domains: tuple[Domain, ...],
    draw: np.random.Generator,
    present: np.ndarray,
    sets: list[list[str] | None],
    protected: list[str],
) -> Population:
    people = len(present)
    somebody_holds = {value for held in sets for value in held or ()}
    names = sorted(somebody_holds & set(protected))
    held = [[names.index(value) for value in each or () if value in names] for each in sets]
    return Population(
        ids=pl.Series(np.arange(people)),
        present=present,
        domains=domains,
        codes=np.stack([draw.integers(0, d.size, people) for d in domains]).astype(np.int32),
        protected=tuple(ProtectedValue(name, THRESHOLD) for name in names),
        held_start=np.concatenate([[0], np.cumsum([len(each) for each in held])]).astype(np.int64),
        held=np.array([v for each in held for v in each], dtype=np.int32),
        values=pl.Series([each or [] for each in sets], dtype=pl.List(pl.String)).filter(
            pl.Series(present)
        ),
        digest="",
    )


def random_groups(population: Population, seed: int) -> np.ndarray:
    """A group for everybody who has a record; some of the others have none."""
    draw = np.random.default_rng(seed)
    group = draw.integers(0, 7, population.size)
    group[~population.present & (draw.random(population.size) < 0.3)] = -1
    return group.astype(np.int64)


def records(population: Population) -> list[tuple[int, str]]:
    """All (person, value) pairs of present people."""
    return [
        (person, value)
        for person, held in zip(population.records().tolist(), population.values, strict=True)
        for value in held
    ]


def shown_members(population: Population, group: np.ndarray) -> dict[int, list[int]]:
    """The members of each group in which somebody is present."""
    members: dict[int, list[int]] = {}
    for person, number in enumerate(group.tolist()):
        if number >= 0:
            members.setdefault(number, []).append(person)
    return {
        number: people for number, people in members.items() if population.present[people].any()
    }


def box(population: Population, people: list[int]) -> list[tuple[int, int]]:
    return [(int(row[people].min()), int(row[people].max())) for row in population.codes]


def estimate(
    population: Population,
    group: np.ndarray,
    ranges: dict[int, tuple[int, int]],
    wanted: set[str],
    form: str,
) -> float:
    """The answer to one query, group by group."""
    total = 0.0
    for people in shown_members(population, group).values():
        here = sum(value in wanted for person, value in records(population) if person in people)
        if form == "generalised":
            share = 1.0
            for column, (low, high) in ranges.items():
                a, b = box(population, people)[column]
                share *= max(0, min(b, high) - max(a, low) + 1) / (b - a + 1)
        else:
            share = sum(
                all(low <= population.codes[c, i] <= high for c, (low, high) in ranges.items())
                for i in people
            ) / len(people)
        total += here * share
    return total


def divergence(population: Population, group: np.ndarray, form: str) -> float:
    """sum p ln(p / p*) over all points of the table, from the definition."""
    true = Counter(
        (tuple(population.codes[:, person].tolist()), value)
        for person, value in records(population)
    )
    total = sum(true.values())
    expected: Counter[tuple[tuple[int, ...], str]] = Counter()
    for people in shown_members(population, group).values():
        held = Counter(value for person, value in records(population) if person in people)
        if form == "generalised":
            boxes = box(population, people)
            points = list(itertools.product(*(range(a, b + 1) for a, b in boxes)))
        else:
            points = [tuple(population.codes[:, i].tolist()) for i in people]
        for point in points:
            for value, count in held.items():
                expected[point, value] += count / len(points)  # type: ignore[assignment]
    return sum(
        count / total * math.log((count / total) / (expected[point] / total))
        for point, count in true.items()
    )
