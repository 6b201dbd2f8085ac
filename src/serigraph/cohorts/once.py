"""Who is in a release, and in which cell, where it is known who is present and values persist.

Somebody who is known to be away in a release cannot have been published in it, so people are alike
only if they were published in the same releases. A value that persists is therefore shown once.
People with the same past form cells. A cell without such a value is published as it is. In a cell
with one these values are all that is published, and its people, a cohort from now on, are never
published again: other values of theirs might be known from earlier releases, or be seen again in
later ones, and tell who does not hold the value.

That attendance says nothing about the values is assumed, and has to be: somebody who knows
attendance could tell otherwise without any release.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.cohorts.cutting import Held, Space, cut_counting, unfit
from serigraph.cohorts.standing import Arrangement, Rules, places_among
from serigraph.model import Cohorts, Population
from serigraph.runtime.randomness import Randomness, shuffled


class TooManyHolders(Exception):
    """Values that more people hold than people with the same past can hide."""

    def __init__(self, values: list[str]) -> None:
        super().__init__()
        self.values = values


def arrange_once(
    population: Population,
    recorded: Cohorts,
    past: NDArray[np.int64],
    rules: Rules,
    randomness: Randomness,
) -> Arrangement:
    """Put everybody into a group. ``past`` numbers the pasts of people who are in no cohort."""
    is_gone = np.zeros(population.size, dtype=np.bool_)
    place = places_among(population.ids, recorded.ids)
    is_gone[place[place >= 0]] = True
    kept = ~is_gone
    _, sharing, shares = np.unique(past[kept], return_inverse=True, return_counts=True)
    kept[kept] = shares[sharing] >= rules.size
    released = population.subset(kept)
    group = _cells(released, past[kept], rules)
    holder = np.repeat(np.arange(released.size), np.diff(released.held_start))
    shows = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.bool_)
    shows[group[holder]] = True
    number = np.full(len(shows), -1, dtype=np.int64)
    number[shows] = recorded.formed + shuffled(int(np.count_nonzero(shows)), randomness)
    return Arrangement(
        population=_only_protected(released, np.flatnonzero(shows[group])),
        kept=kept,
        group=group,
        cohort=number[group],
        retired=released.ids.filter(pl.Series(shows[group])),
        waiting=int(np.count_nonzero(~kept & ~is_gone)),
        gone=int(np.count_nonzero(is_gone)),
    )


def _only_protected(population: Population, people: NDArray[np.int64]) -> Population:
    """The population in which some people show protected values alone, or have no record."""
    protected = frozenset[str]().union(*(value.covers() for value in population.protected))
    left = [
        [each for each in held if each in protected] for held in population.values.gather(people)
    ]
    return population.with_values(people, left).without_plain_cells(people)


def _cells(population: Population, past: NDArray[np.int64], rules: Rules) -> NDArray[np.int64]:
    """A cell for everybody, of people with the same past."""
    need = np.array([[float(1 / value.threshold) for value in population.protected]])
    space = Space.of(population)
    cell = np.empty(population.size, dtype=np.int64)
    cells, too_many = 0, set()
    order = np.argsort(past, kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(past[order])) + 1):
        held = _held_by(population, mine, need)
        too_many.update(unfit(held, rules.known).tolist())
        found = cut_counting(space.subset(mine), held, rules.known, rules.least)
        cell[mine] = cells + found
        cells += int(found.max(initial=-1)) + 1
    if too_many:
        raise TooManyHolders([population.protected[v].name for v in sorted(too_many)])
    return cell


def _held_by(population: Population, people: NDArray[np.int64], need: NDArray[np.float64]) -> Held:
    """What some people hold, each a unit of one."""
    lengths = np.diff(population.held_start)[people]
    begin = population.held_start[people]
    entry = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    unit = np.repeat(np.arange(len(people)), lengths)
    value = population.held[entry]
    return Held(
        size=np.ones(len(people), dtype=np.int64),
        start=np.searchsorted(unit, np.arange(len(people) + 1)).astype(np.int64),
        value=value.astype(np.int32),
        holders=np.ones(len(value), dtype=np.int64),
        need=need,
    )
