"""What each choice of persistence costs on the table at hand: rehearsals of the real mechanism.

A series is begun with the table, and every protected value is taken as one that persists. People
keep their values for life; those of a release come back in the next one with the return rate, and
others come in their place: people of the registry or, without one, copies of people of the table,
who may come back like all others. Nobody leaves the registry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.cohorts import Arrangement, Rules, TooManyHolders, arrange, arrange_once
from serigraph.model import CohortChanges, Cohorts, Population
from serigraph.planning.rehearsal import Expected, records_of
from serigraph.policy import Persistence, Policy, Protected, Sensitive
from serigraph.runtime.ordering import distinct
from serigraph.runtime.randomness import SeededRandomness

_LEAST_RATE = 0.05  # with a lower one, hardly anybody comes back, and copies take much memory


@dataclass(frozen=True)
class PersistenceCost:
    """The costs if all protected values had this persistence; of all rehearsed releases together,
    where nothing else is said."""

    persistence: Persistence
    releases: int  # that could be made
    cohort_size: int | None  # the policy's, at least; None if there are no cohorts
    mean_size: float  # of the groups with a protected value
    most_waiting: float  # largest share of the people who wait for a cohort
    withheld_share: float  # of the records
    withheld_at_last: float  # the same in the last release
    holders_shown: float  # share of the pairs of a person and a value that were ever published;
    # of transient values, the share of those held in each release
    is_whole: bool = True  # all planned releases could be made
    too_frequent: tuple[str, ...] = ()  # values because of which the next one could not be


def persistence_costs(
    population: Population,
    policy: Policy,
    *,
    has_registry: bool,
    releases: int,
    return_rate: float,
    seed: int = 1,
) -> tuple[PersistenceCost, ...]:
    """The costs of "permanent" and "any" for some or all people of a table and a registry."""
    hides_presence = has_registry and policy.guarantee.adversary != "presence known"
    pool = _Pool.of(population, hides_presence, return_rate, seed)
    thresholds = {value.name: value.threshold for value in population.protected}
    rules = _rules(_all_of(policy, "any"), thresholds)
    found = _rehearsed(pool, "any", rules, releases, seed)
    return replace(found, persistence="permanent"), found  # both are kept in the same way


def transient_cost(expected: Sequence[Expected], releases: int) -> PersistenceCost:
    """The costs if all values were transient, from a rehearsal of all ``releases``."""
    sizes = [each.mean_size for each in expected]
    suppressed = [each.suppressed_share for each in expected]
    withheld = [each.withheld_share for each in expected]
    made = max(len(expected), 1)
    return PersistenceCost(
        persistence="transient",
        releases=len(expected),
        cohort_size=None,
        mean_size=sum(sizes) / made,
        most_waiting=0.0,
        withheld_share=sum(withheld) / made,
        withheld_at_last=sum(withheld[-1:]),
        holders_shown=1 - sum(suppressed) / made if expected else 0.0,
        is_whole=len(expected) == releases,
    )


def _all_of(policy: Policy, kind: Persistence) -> Policy:
    def changed(section: Protected) -> Protected:
        return section.model_copy(update={"persistence": {"default": kind}})

    if isinstance(policy.sensitive, Sensitive):
        return policy.model_copy(update={"protected": changed(policy.protected)})
    columns = {
        name: each.model_copy(update={"protected": changed(each.protected)})
        for name, each in policy.sensitive.items()
    }
    return policy.model_copy(update={"sensitive": columns})


def _rules(policy: Policy, thresholds: Mapping[str, Fraction]) -> Rules:
    return Rules(
        size=policy.cohort_size,
        known=policy.guarantee.known_members,
        least=policy.guarantee.minimum_group_size,
        thresholds=thresholds,
    )


@dataclass(frozen=True)
class _Pool:
    """Everybody who may be in a table, each with the record that it always has."""

    people: Population
    is_first: NDArray[np.bool_]  # in the table at hand
    return_rate: float
    hides_presence: bool

    @staticmethod
    def of(population: Population, hides_presence: bool, return_rate: float, seed: int) -> _Pool:
        draw = np.random.default_rng(seed)
        rate = max(return_rate, _LEAST_RATE)
        present = np.flatnonzero(population.present)
        if hides_presence:
            source = np.arange(population.size)
            absent = np.flatnonzero(~population.present)
            source[absent] = draw.choice(present, len(absent))
            return _Pool(records_of(population, source), population.present, rate, True)
        others = draw.choice(present, round(len(present) * (1 - rate) / rate))
        is_first = np.arange(len(present) + len(others)) < len(present)
        people = _copies(population, np.concatenate([present, others]))
        return _Pool(people, is_first, rate, False)

    def next(self, there: NDArray[np.bool_], draw: np.random.Generator) -> NDArray[np.bool_]:
        """Who is in the table after one with these people."""
        absent = int(np.count_nonzero(~there))
        come = int(np.count_nonzero(there)) * (1 - self.return_rate) / max(absent, 1)
        chance = np.where(there, self.return_rate, min(come, 1.0))
        return np.asarray(draw.random(len(there)) < chance)


def _copies(population: Population, source: NDArray[np.int64]) -> Population:
    """People by their places, some of them several times, with new ids; all have a record."""
    lengths = np.diff(population.held_start)[source]
    ends = np.cumsum(lengths)
    within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    number = np.cumsum(population.present) - 1  # of each person's record
    return replace(
        population,
        ids=pl.Series(np.arange(len(source))),
        present=np.ones(len(source), dtype=np.bool_),
        codes=np.ascontiguousarray(population.codes[:, source]),
        held_start=np.concatenate([[0], ends]).astype(np.int64),
        held=population.held[np.repeat(population.held_start[source], lengths) + within],
        values=population.values.gather(number[source]),
        outside_registry=0,
    )


def _rehearsed(
    pool: _Pool, kind: Persistence, rules: Rules, releases: int, seed: int
) -> PersistenceCost:
    draw = np.random.default_rng(seed)
    protected = tuple(replace(value, persistence=kind) for value in pool.people.protected)
    people = replace(pool.people, protected=protected)
    recorded, there = Cohorts.none(people.ids), pool.is_first
    past = np.zeros(people.size, dtype=np.int64)
    tally = _Tally(people.size, len(protected))
    too_frequent: tuple[str, ...] = ()
    for number in range(releases):
        table = people.without_records(~there) if pool.hides_presence else people.subset(there)
        randomness = SeededRandomness(seed + number)
        try:
            if pool.hides_presence:
                made = arrange(table, recorded, rules, randomness)
            else:
                made = arrange_once(table, recorded, past[there], rules, randomness)
        except TooManyHolders as beyond:
            too_frequent = tuple(beyond.values)
            break
        tally.add(table, made, people.ids)
        recorded = _after(recorded, made)
        is_member = np.zeros(people.size, dtype=np.bool_)
        is_member[people.ids.search_sorted(made.population.ids).to_numpy()] = True
        past = np.unique(past * 2 + is_member, return_inverse=True)[1]
        there = pool.next(there, draw)
    return tally.cost(kind, rules.size, too_frequent)


def _after(recorded: Cohorts, made: Arrangement) -> Cohorts:
    released = made.population
    is_new = made.cohort >= recorded.formed
    holder = np.repeat(np.arange(released.size), np.diff(released.held_start))
    names = pl.Series(released.protected_names, dtype=pl.String)
    changes = CohortChanges(
        released.ids.filter(pl.Series(is_new)), made.cohort[is_new], made.retired.sort()
    )
    return recorded.followed_by(changes, released.ids.gather(holder), names.gather(released.held))


class _Tally:
    """Counts over the releases of one rehearsal; changes with every release."""

    def __init__(self, people: int, values: int) -> None:
        self._people, self._values = people, max(values, 1)
        self._sizes: list[float] = []
        self._waiting = 0.0
        self._records: list[tuple[int, int]] = []  # in the table, and those withheld
        self._held, self._shown = np.zeros((2, people * self._values), dtype=np.bool_)

    def add(self, table: Population, made: Arrangement, ids: pl.Series) -> None:
        released = made.population
        group = made.cohort if made.group is None else made.group
        holder = np.repeat(np.arange(released.size), np.diff(released.held_start))
        linked = distinct(group[holder])
        if len(linked):
            self._sizes.append(float(np.bincount(group)[linked].mean()))
        self._waiting = max(self._waiting, made.waiting / max(table.size, 1))
        records = int(np.count_nonzero(table.present))
        self._records.append((records, records - int(np.count_nonzero(released.present))))
        for population, pairs in ((table, self._held), (released, self._shown)):
            place = ids.search_sorted(population.ids).to_numpy()
            owner = np.repeat(place, np.diff(population.held_start))
            pairs[owner * self._values + population.held] = True

    def cost(
        self, kind: Persistence, cohort_size: int, too_frequent: tuple[str, ...]
    ) -> PersistenceCost:
        records = sum(each for each, _ in self._records)
        last, withheld_at_last = self._records[-1] if self._records else (0, 0)
        held = int(np.count_nonzero(self._held))
        return PersistenceCost(
            persistence=kind,
            releases=len(self._records),
            cohort_size=cohort_size,
            mean_size=float(np.mean(self._sizes)) if self._sizes else 0.0,
            most_waiting=self._waiting,
            withheld_share=sum(each for _, each in self._records) / max(records, 1),
            withheld_at_last=withheld_at_last / max(last, 1),
            holders_shown=float(np.count_nonzero(self._shown & self._held) / held) if held else 1.0,
            is_whole=not too_frequent,
            too_frequent=too_frequent,
        )
