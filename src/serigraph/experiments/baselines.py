"""Earlier methods: each groups one table, with or without a memory of the one before.

They know nothing of a registry, and nothing of the global guarantee. Anatomy takes people with one
value each, as its paper does.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import Population
from serigraph.runtime.randomness import Randomness, shuffled


@dataclass(frozen=True)
class Grouped:
    """Groups of a table's people; ``population`` may hold counterfeit people beside them."""

    population: Population
    group: NDArray[np.int64]
    counterfeits: int = 0


def unprotected(population: Population) -> Grouped:
    """The table as it is: only people with equal quasi-identifiers share a group."""
    _, group = np.unique(population.codes, axis=1, return_inverse=True)
    return Grouped(population, group.reshape(-1).astype(np.int64))


def mondrian(population: Population, diversity: int) -> Grouped:
    """Localised l-diversity by median cuts (LeFevre and others), release by release.

    A group is cut at the median of the column in which it is widest, or of the next one, as long as
    no protected value is held by more than 1/l of either half. Equal quasi-identifiers stay
    together.
    """
    group = np.empty(population.size, dtype=np.int64)
    scales = [domain.positions() for domain in population.domains]
    stack = [np.arange(population.size)]
    groups = 0
    while stack:
        people = stack.pop()
        halves = _median_cut(people, population, scales, diversity)
        if halves is None:
            group[people] = groups
            groups += 1
        else:
            stack.extend(halves)
    return Grouped(population, group)


def anatomy(population: Population, diversity: int, randomness: Randomness) -> Grouped:
    """Localised l-diversity by buckets (Xiao and Tao), release by release, for every value.

    Groups take one person of each of the l values with the most people left; the rest join groups
    without their value.
    """
    value = value_numbers(population)
    buckets: dict[int, list[int]] = {}
    for person in shuffled(population.size, randomness).tolist():
        buckets.setdefault(int(value[person]), []).append(person)
    heap = [(-len(people), number) for number, people in sorted(buckets.items())]
    heapq.heapify(heap)
    group = np.full(population.size, -1, dtype=np.int64)
    held: list[set[int]] = []
    while len(heap) >= diversity:
        taken = [heapq.heappop(heap) for _ in range(diversity)]
        for size, number in taken:
            group[buckets[number].pop()] = len(held)
            if size < -1:
                heapq.heappush(heap, (size + 1, number))
        held.append({number for _, number in taken})
    for _, number in sorted(heap, key=lambda each: each[1]):
        for person in buckets[number]:
            place = _group_without(held, number, person)
            group[person] = place
            held[place].add(number)
    return Grouped(population, group)


def value_numbers(population: Population) -> NDArray[np.int64]:
    """A number for the value of each person, by name; everybody has one value."""
    value = population.values.list.first().cast(pl.String)
    names = value.unique().sort()
    return value.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)


def _group_without(held: list[set[int]], number: int, start: int) -> int:
    """A group that lacks the value; the last one tried where all have it."""
    for step in range(len(held)):
        place = (start + step) % len(held)
        if number not in held[place]:
            return place
    return start % len(held)


def _median_cut(
    people: NDArray[np.int64],
    population: Population,
    scales: list[NDArray[np.float64]],
    diversity: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    codes = population.codes[:, people]
    low, high = codes.min(axis=1), codes.max(axis=1)
    widths = [scale[b] - scale[a] for scale, a, b in zip(scales, low, high, strict=True)]
    for column in np.argsort(-np.array(widths), kind="stable").tolist():
        if low[column] == high[column]:
            continue
        middle = np.sort(codes[column])[(len(people) - 1) // 2]
        # The median may be the largest code: then the cut is before it.
        is_left = codes[column] <= min(int(middle), int(high[column]) - 1)
        left, right = people[is_left], people[~is_left]
        if _is_diverse(population, left, diversity) and _is_diverse(population, right, diversity):
            return left, right
    return None


def _is_diverse(population: Population, people: NDArray[np.int64], diversity: int) -> bool:
    start = population.held_start[people]
    length = population.held_start[people + 1] - start
    if not length.any():
        return True
    # The values of all these people, concatenated.
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    held = population.held[np.repeat(start, length) + within]
    return int(np.unique(held, return_counts=True)[1].max()) * diversity <= len(people)
