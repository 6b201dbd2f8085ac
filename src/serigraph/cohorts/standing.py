"""Who is in a release, and in which cohort, so that values may persist.

Cohorts are formed by quasi-identifiers when people enter the registry, and stay together.
Everything that depends on values depends on counts of whole cohorts: that makes their members
alike, whatever values do over time (`serigraph.privacy.alikeness`).

Where a member leaves the registry, the adversary knows that it is away, so companions drawn by lot
leave with it. As many retire as a crowd needs that may have all holders of the cohort; if those who
would remain could not bear all of them, everybody retires.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.cohorts.cutting import Space, cut_blind
from serigraph.cohorts.uniting import Units
from serigraph.model import Cohorts, Population, ProtectedValue
from serigraph.privacy.alikeness import most_holders, smallest_crowd
from serigraph.runtime.randomness import Randomness, shuffled
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True)
class Rules:
    """What cohorts have to keep."""

    size: int  # of a new cohort, at least
    known: int  # members that the adversary knows
    least: int  # people in a cohort that is published
    thresholds: Mapping[str, Fraction]  # of every value that persists
    has_one_value: bool = False  # everybody with a record has one value


@dataclass(frozen=True, repr=False)
class Arrangement(Undisclosed):
    """The people of a release, and their cohorts."""

    population: Population  # without those who retired or wait, and without values beyond a limit
    kept: NDArray[np.bool_]  # who of the population before is in it
    cohort: NDArray[np.int64]  # of each person in it, -1 if in none
    retired: pl.Series  # ids of those who retire now, ascending
    waiting: int  # people who are too few to be in the release
    gone: int  # people in table or registry who have retired, now or before
    group: NDArray[np.int64] | None = None  # of each person in it, if groups are formed already
    units: Units | None = None  # otherwise what groups are to be formed of


def leavers(population: Population, recorded: Cohorts) -> int:
    """How many members of cohorts are no longer in the registry."""
    place = places_among(population.ids, recorded.ids)
    return int(np.count_nonzero((place < 0) & (recorded.retired == 0)))


def arrange(
    population: Population, recorded: Cohorts, rules: Rules, randomness: Randomness
) -> Arrangement:
    """Put everybody into the cohort it is in, or into a new one, and leave out those who may not be
    in the release."""
    place = places_among(population.ids, recorded.ids)
    retires = _retiring(place, recorded, rules, randomness)
    stays = (recorded.retired == 0) & ~retires
    cohort = np.full(population.size, -1, dtype=np.int64)
    is_known = np.zeros(population.size, dtype=np.bool_)
    is_known[place[place >= 0]] = True
    cohort[place[stays]] = recorded.cohort[stays]
    newcomers = np.flatnonzero(~is_known)
    waiting = len(newcomers)
    if waiting >= rules.size:
        cell = cut_blind(Space.of(population).subset(newcomers), rules.size)
        number = shuffled(int(cell.max()) + 1, randomness)
        cohort[newcomers] = recorded.formed + number[cell]
        waiting = 0
    kept = cohort >= 0
    released = population if kept.all() else population.subset(kept)
    cohort = cohort[kept]
    released = _within_limits(released, cohort, recorded, rules, randomness)
    shown = published_holders(released, cohort, recorded) if rules.has_one_value else None
    return Arrangement(
        population=released,
        kept=kept,
        cohort=cohort,
        retired=recorded.ids.filter(pl.Series(retires)),
        waiting=waiting,
        gone=int(np.count_nonzero(~kept)) - waiting,
        units=Units.of(cohort, shown, full_cohorts(released, cohort, recorded, rules)),
    )


def full_cohorts(
    population: Population, cohort: NDArray[np.int64], recorded: Cohorts, rules: Rules
) -> NDArray[np.int64]:
    """The cohorts that show as many holders of a value that persists as they ever may, after a
    release of this population, whose cohorts are those given."""
    place = places_among(population.ids, recorded.ids)[recorded.holder]
    persists = np.array([value.persists for value in population.protected], dtype=np.bool_)
    names = pl.Series([value.name for value in population.protected], dtype=pl.String)
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    is_asked = persists[population.held]
    person = np.concatenate([place[place >= 0], holder[is_asked]])
    pairs = pl.DataFrame(
        {
            "person": person,
            "cohort": cohort[person],
            "value": pl.concat(
                [
                    recorded.value.filter(pl.Series(place >= 0)),
                    names.gather(population.held[is_asked]),
                ]
            ),
        }
    )
    size = np.bincount(cohort, minlength=1)
    shown = pairs.unique().group_by("cohort", "value").len()
    most = [
        most_holders(members, rules.thresholds[name], rules.known)
        for members, name in zip(size[shown["cohort"]].tolist(), shown["value"], strict=True)
    ]
    return shown.filter(pl.col("len") >= pl.Series(most, dtype=pl.Int64))["cohort"].to_numpy()


def published_holders(
    population: Population, cohort: NDArray[np.int64], recorded: Cohorts
) -> NDArray[np.int64]:
    """The cohort of everybody who was ever published as a holder of a value that persists, retired
    or not, or would be in a release of this population; ``cohort`` is that of its people."""
    persists = np.array([value.persists for value in population.protected], dtype=np.bool_)
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    now = np.zeros(population.size, dtype=np.bool_)
    now[holder[persists[population.held]]] = True
    before = np.unique(recorded.holder)
    place = places_among(population.ids, recorded.ids)[before]
    now[place[place >= 0]] = False
    return np.concatenate([recorded.cohort[before], cohort[now]])


def places_among(ids: pl.Series, others: pl.Series) -> NDArray[np.int64]:
    """Where each of the others is among ascending ids, or -1."""
    if not len(ids):
        return np.full(len(others), -1)
    place = ids.search_sorted(others).to_numpy().astype(np.int64)
    inside = np.minimum(place, len(ids) - 1)
    return np.where((place < len(ids)) & (ids.gather(inside) == others).to_numpy(), place, -1)


def _retiring(
    place: NDArray[np.int64], recorded: Cohorts, rules: Rules, randomness: Randomness
) -> NDArray[np.bool_]:
    """Who retires now: those who have left, and their companions."""
    live = recorded.retired == 0
    leaves = live & (place < 0)
    retires: NDArray[np.bool_] = leaves.copy()
    if not leaves.any():
        return retires
    enough = _crowds_needed(recorded, live, rules)
    members = np.bincount(recorded.cohort[live], minlength=recorded.formed)
    left = np.bincount(recorded.cohort[leaves], minlength=recorded.formed)
    companions = np.where(left > 0, np.maximum(enough - left, 0), 0)
    remain = members - left - companions
    dissolves = (left > 0) & (remain < np.maximum(enough, rules.least))
    companions[dissolves] = (members - left)[dissolves]
    # The first of the cohort's members in random order, as many as are needed.
    others = np.flatnonzero(live & ~leaves & (companions[recorded.cohort] > 0))
    others = others[shuffled(len(others), randomness)]
    others = others[np.argsort(recorded.cohort[others], kind="stable")]
    cohort = recorded.cohort[others]
    rank = np.arange(len(others)) - np.searchsorted(cohort, cohort)
    retires[others[rank < companions[cohort]]] = True
    return retires


def _crowds_needed(recorded: Cohorts, live: NDArray[np.bool_], rules: Rules) -> NDArray[np.int64]:
    """For each cohort the size of a crowd that may have all its holders, of any value."""
    enough = np.zeros(recorded.formed, dtype=np.int64)
    is_live = live[recorded.holder]
    for (name,), pairs in (
        pl.DataFrame({"cohort": recorded.cohort[recorded.holder], "value": recorded.value})
        .filter(pl.Series(is_live))
        .group_by(["value"])
    ):
        holders = np.bincount(pairs["cohort"].to_numpy(), minlength=recorded.formed)
        threshold = rules.thresholds[name]
        crowd = np.array(
            [
                smallest_crowd(number, threshold, rules.known) if number else 0
                for number in range(int(holders.max()) + 1)
            ]
        )
        enough = np.maximum(enough, crowd[holders])
    return enough


def _within_limits(
    population: Population,
    cohort: NDArray[np.int64],
    recorded: Cohorts,
    rules: Rules,
    randomness: Randomness,
) -> Population:
    """The population without holders beyond what their cohort may ever show, drawn by lot among
    those who were never published as holders of the value. There is one lot for all values: where
    a value and its class are full, the same people give way."""
    if not any(value.persists for value in population.protected):
        return population
    before = _published(population, recorded)
    newly = np.unique(_newly_shown(population, before) // len(population.protected))
    lot = np.zeros(population.size, dtype=np.int64)
    lot[newly] = shuffled(len(newly), randomness)
    person, value = _excess(population, cohort, before, rules, lot)
    while len(person):
        # Taking a value out may take a class out with it, or the other way round.
        population = population.without(person, value)
        person, value = _excess(population, cohort, before, rules, lot)
    return population


def _published(population: Population, recorded: Cohorts) -> NDArray[np.int64]:
    """The pairs of a person and a protected value that were ever published, as one number each."""
    values = len(population.protected)
    number = {value.name: v for v, value in enumerate(population.protected) if value.persists}
    value = recorded.value.replace_strict(number, default=-1, return_dtype=pl.Int64).to_numpy()
    place = places_among(population.ids, recorded.ids)[recorded.holder]
    is_here = (place >= 0) & (value >= 0)
    return np.sort(place[is_here] * values + value[is_here])


def _newly_shown(population: Population, before: NDArray[np.int64]) -> NDArray[np.int64]:
    """The pairs of a person and a value that persists which this release would be the first to
    show, as one number each."""
    persists = np.array([value.persists for value in population.protected])
    pair = np.repeat(np.arange(population.size), np.diff(population.held_start))
    pair = pair * len(population.protected) + population.held
    return np.setdiff1d(pair[persists[population.held]], before, assume_unique=True)


def _excess(
    population: Population,
    cohort: NDArray[np.int64],
    before: NDArray[np.int64],
    rules: Rules,
    lot: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Pairs of a person and a value that would be one too many for a cohort: those of the people
    whose ``lot`` is highest."""
    protected = population.protected
    values = len(protected)
    person, value = np.divmod(_newly_shown(population, before), values)
    class_of_pair = cohort[person] * values + value
    order = np.lexsort((lot[person], class_of_pair))
    person, value, class_of_pair = person[order], value[order], class_of_pair[order]
    rank = np.arange(len(order)) - np.searchsorted(class_of_pair, class_of_pair)
    classes_before = np.sort(cohort[before // values] * values + before % values)
    shown = np.searchsorted(classes_before, class_of_pair, side="right") - np.searchsorted(
        classes_before, class_of_pair
    )
    most = _limits(protected, np.bincount(cohort), rules.known)
    is_excess = shown + rank >= most[value, np.bincount(cohort)[cohort[person]]]
    return person[is_excess], value[is_excess].astype(np.int32)


def _limits(
    protected: tuple[ProtectedValue, ...], members: NDArray[np.int64], known: int
) -> NDArray[np.int64]:
    """For each value and each size of a cohort, how many holders it may ever show."""
    largest = int(members.max(initial=0))
    return np.array(
        [
            [most_holders(size, value.threshold, known) for size in range(largest + 1)]
            for value in protected
        ]
    ).reshape(len(protected), largest + 1)
