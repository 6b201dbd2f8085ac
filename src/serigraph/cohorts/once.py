"""Who is in a release, and in which cell, where it is known who is present and values persist.

Whoever is known to be away in a release cannot have been published in it, so people are alike only
if they were published in the same releases. A value that persists is therefore shown once: people
with the same past form cells, a cell without such a value is published as it is, and the people of
a cell with one become a cohort whose value is never shown again. What is published of them from
then on must not depend on who of them holds it:

- if the value may come and go, they are never published again;
- if it is permanent, as many of them as were published as holders have no record in any release,
  holders first and then others drawn by lot; with too few records left, nobody is in the release.

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

ALL = 2**62  # cuts never depend on where holders are, however many they are


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
    cohort, is_gone = _recorded(population, recorded)
    is_free = (cohort < 0) & ~is_gone
    number, sharing = np.unique(past[is_free], return_inverse=True)
    shares = np.bincount(sharing, minlength=len(number))
    is_free[is_free] = shares[sharing] >= rules.size
    without_record = _slots(population, cohort, recorded, randomness)
    cohort = _with_records(cohort, without_record, recorded.formed, rules.least)
    kept = is_free | (cohort >= 0)
    released = _unrecorded(population, without_record).subset(kept)
    cohort, is_free, past = cohort[kept], is_free[kept], past[kept]
    group = np.full(released.size, -1, dtype=np.int64)
    standing, group_of = np.unique(cohort[~is_free], return_inverse=True)
    group[~is_free] = group_of
    group[is_free] = len(standing) + _cells(released, is_free, past, rules)
    shows = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.bool_)
    comes_and_goes = shows.copy()
    holder = np.repeat(np.arange(released.size), np.diff(released.held_start))
    persists = np.array([value.persists for value in released.protected], dtype=np.bool_)
    is_any = np.array([value.persistence == "any" for value in released.protected], dtype=np.bool_)
    shows[group[holder[persists[released.held]]]] = True
    comes_and_goes[group[holder[is_any[released.held]]]] = True
    shows[: len(standing)] = False
    fresh = np.flatnonzero(shows)
    numbers = np.full(len(shows), -1, dtype=np.int64)
    numbers[fresh] = recorded.formed + shuffled(len(fresh), randomness)
    cohort[is_free] = numbers[group[is_free]]
    return Arrangement(
        population=released,
        kept=kept,
        group=group,
        cohort=cohort,
        retired=released.ids.filter(pl.Series(is_free & comes_and_goes[group])),
        waiting=int(np.count_nonzero(~kept & ~is_gone)),
        gone=int(np.count_nonzero(is_gone)),
    )


def _recorded(
    population: Population, recorded: Cohorts
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The cohort of each person, or -1, and who was published for the last time."""
    place = places_among(population.ids, recorded.ids)
    is_here = place >= 0
    cohort = np.full(population.size, -1, dtype=np.int64)
    is_gone = np.zeros(population.size, dtype=np.bool_)
    is_gone[place[is_here]] = recorded.retired[is_here] > 0
    stays = is_here & (recorded.retired == 0)
    cohort[place[stays]] = recorded.cohort[stays]
    return cohort, is_gone


def _slots(
    population: Population,
    cohort: NDArray[np.int64],
    recorded: Cohorts,
    randomness: Randomness,
) -> NDArray[np.bool_]:
    """Who of the cohorts has no record: as many as were published as holders, or all who are here
    if they are fewer; holders first.

    Raises ``TooManyHolders`` if more people hold a value that persists.
    """
    hidden = np.zeros(population.size, dtype=np.bool_)
    people = np.flatnonzero(cohort >= 0)
    if not len(people):
        return hidden
    holders_before = np.unique(recorded.holder)
    slots = np.bincount(recorded.cohort[holders_before], minlength=recorded.formed)
    persists = np.array([value.persists for value in population.protected], dtype=np.bool_)
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    holds = np.zeros(population.size, dtype=np.bool_)
    holds[holder[persists[population.held]]] = True
    now = np.bincount(cohort[people], holds[people], minlength=recorded.formed)
    if (now > slots).any():
        beyond = holder[(now > slots)[cohort[holder]] & (cohort[holder] >= 0)]
        held = population.held[np.isin(holder, beyond) & persists[population.held]]
        raise TooManyHolders(sorted({population.protected[v].name for v in np.unique(held)}))
    people = people[shuffled(len(people), randomness)]
    order = np.lexsort((~holds[people], cohort[people]))
    people = people[order]
    rank = np.arange(len(people)) - np.searchsorted(cohort[people], cohort[people])
    hidden[people[rank < slots[cohort[people]]]] = True
    return hidden


def _with_records(
    cohort: NDArray[np.int64], without_record: NDArray[np.bool_], cohorts: int, least: int
) -> NDArray[np.int64]:
    """The cohort of each person, or -1, if that of the person has enough records."""
    records = np.bincount(cohort[(cohort >= 0) & ~without_record], minlength=cohorts)
    return np.where(np.append(records, 0)[cohort] >= max(least, 1), cohort, -1)


def _unrecorded(population: Population, hidden: NDArray[np.bool_]) -> Population:
    """The population in which some people have no record."""
    return population.without_records(hidden) if hidden.any() else population


def _cells(
    population: Population, is_free: NDArray[np.bool_], past: NDArray[np.int64], rules: Rules
) -> NDArray[np.int64]:
    """A cell for everybody who is free, of people with the same past."""
    places = np.flatnonzero(is_free)
    persists = np.array([value.persists for value in population.protected], dtype=np.bool_)
    need = np.array([[float(1 / value.threshold) for value in population.protected]])
    space = Space.of(population)
    cell = np.empty(len(places), dtype=np.int64)
    cells, too_many = 0, set()
    order = np.argsort(past[places], kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(past[places[order]])) + 1):
        here = places[mine]
        held = _held_by(population, here, persists, need)
        too_many.update(unfit(held, rules.known).tolist())
        found = cut_counting(space.subset(here), held, rules.known, ALL, rules.least)
        cell[mine] = cells + found
        cells += int(found.max(initial=-1)) + 1
    if too_many:
        raise TooManyHolders([population.protected[v].name for v in sorted(too_many)])
    return cell


def _held_by(
    population: Population,
    people: NDArray[np.int64],
    persists: NDArray[np.bool_],
    need: NDArray[np.float64],
) -> Held:
    """What some people hold of the values that persist, each a unit of one."""
    lengths = np.diff(population.held_start)[people]
    begin = population.held_start[people]
    entry = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    unit = np.repeat(np.arange(len(people)), lengths)
    value = population.held[entry]
    unit, value = unit[persists[value]], value[persists[value]]
    return Held(
        size=np.ones(len(people), dtype=np.int64),
        records=np.ones(len(people), dtype=np.int64),
        start=np.searchsorted(unit, np.arange(len(people) + 1)).astype(np.int64),
        value=value.astype(np.int32),
        holders=np.ones(len(value), dtype=np.int64),
        need=need,
    )
