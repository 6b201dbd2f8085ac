"""The promise for values that persist where nobody knows who of a registry is present: everything
about standing cohorts that a release must show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.model import CohortChanges, Population, ProtectedValue
from serigraph.records import WorstPair
from serigraph.short_repr import Undisclosed
from serigraph.verification.crowds import Crowds, check_crowds, check_retirement, most_allowed
from serigraph.verification.earlier import EarlierReleases
from serigraph.verification.faithfulness import (
    Allowed,
    check_left_out,
    check_plain,
    check_records_left_out,
    contents,
)
from serigraph.verification.membership import (
    Roll,
    call_the_roll,
    check_attendance,
    check_groups,
)
from serigraph.verification.proposal import ProposedCohorts
from serigraph.verification.recorded_cohorts import CohortTerms, RecordedCohorts, no_cover
from serigraph.verification.words import are_among, distinct


@dataclass(frozen=True)
class Released:
    """A release and what it was made from: the table with everybody in it; the same after cohorts
    were arranged; and after suppression."""

    table: Population
    arranged: Population
    population: Population


@dataclass(frozen=True)
class Rules:
    """What cohorts must keep to."""

    terms: CohortTerms
    known_members: int
    minimum_size: int
    where: str


@dataclass(frozen=True, repr=False)
class CohortFindings(Undisclosed):
    """What was found about a release that keeps its promise for values that persist."""

    worst: tuple[WorstPair, ...]  # of each threshold
    pairs: int  # of a person and a value that was checked
    cohort: NDArray[np.int64]  # of everybody in the release
    is_new: NDArray[np.bool_]
    retired: pl.Series
    excluded: NDArray[np.int64] | None = None  # by cohort: who is no cover of a transient value

    @property
    def excluded_from_gaps(self) -> int:
        """How many people without a record cannot be missing holders of a transient value; more
        are not counted, whether they have a record or not."""
        return 0 if self.excluded is None else int(self.excluded.sum())

    def excluded_from(self, group: NDArray[np.int64], groups: int) -> NDArray[np.int64] | None:
        """How many people of each of the first ``groups`` are no cover of a transient value; None
        if cohorts do not stand. People of a cohort are in one group."""
        if self.excluded is None:
            return None
        cohort, somebody = np.unique(self.cohort, return_index=True)
        found = np.zeros(max(groups, int(group.max(initial=-1)) + 1), dtype=np.int64)
        np.add.at(found, group[somebody], self.excluded[cohort])
        return found[:groups]

    def changes(self, ids: pl.Series) -> CohortChanges:
        """For the ledger. A new cohort in which nobody has a record counts too: everybody knows
        that its people were away, so they cannot be newcomers again."""
        return CohortChanges(
            joined=ids.filter(pl.Series(self.is_new)),
            cohort=self.cohort[self.is_new],
            retired=self.retired.sort(),
        )


def check_persisting(
    release: Released,
    earlier: EarlierReleases,
    group: NDArray[np.int64],
    proposed: ProposedCohorts,
    rules: Rules,
) -> CohortFindings:
    """Check cohorts, retirements, what is left out, and the holders of every class of people."""
    table, arranged, population = release.table, release.arranged, release.population
    where = rules.where
    if not population.ids.equals(arranged.ids):
        raise ImpossibleState("suppression took people out of a release", where=where)
    recorded = earlier.cohorts(rules.terms.persists)
    values = persisting_values(table, recorded, rules.terms, where)
    recorded = renumbered(recorded, values)
    roll = call_the_roll(table, population, proposed, recorded, where)
    check_attendance(roll, table, recorded, rules.terms, where)
    check_groups(proposed.cohort, group, where)
    retires = roll.retired[: len(recorded.ids)] == roll.now
    check_retirement(
        recorded,
        roll.has_left,
        retires,
        values,
        known_members=rules.known_members,
        minimum_size=rules.terms.least,
        where=where,
    )
    crowds = _crowds(roll, recorded, (arranged, roll.in_release), values)
    worst = check_crowds(crowds, values, rules.known_members, where)
    _check_content(release, roll, recorded, crowds, values, rules)
    if arranged is not population:
        crowds = _crowds(roll, recorded, (population, roll.in_release), values)
        worst = check_crowds(crowds, values, rules.known_members, where)
    crowd = crowds.cell // crowds.values
    return CohortFindings(
        worst=tuple(worst),
        pairs=int(crowds.size[crowd].sum()),
        cohort=proposed.cohort,
        is_new=proposed.cohort >= recorded.formed,
        retired=proposed.retired,
        excluded=no_cover(
            roll.cohort,
            roll.in_release,
            _shown(recorded, (population, roll.in_release), values),
            [value.threshold for value in values],
            known_members=rules.known_members,
            has_one_value=rules.terms.has_one_value,
        ),
    )


def persisting_values(
    table: Population, recorded: RecordedCohorts, terms: CohortTerms, where: str
) -> list[ProtectedValue]:
    """Those of the table, and those that were shown before and that nobody holds now: who was
    published as a holder of them still counts. By name: of pairs that are equally close to their
    thresholds the first is published, and must not tell which values people hold who are not."""
    for value in table.protected:
        if value.persists != terms.persists(value.name) or (
            value.persists and value.threshold != terms.threshold_of(value.name)
        ):
            raise ImpossibleState("a value is not protected as the policy says", where=where)
    here = [value for value in table.protected if value.persists]
    names = {value.name for value in here}
    gone = [
        ProtectedValue(name, terms.threshold_of(name), persistence="any")
        for name in recorded.names
        if name not in names
    ]
    return sorted([*here, *gone], key=lambda value: value.name)


def renumbered(recorded: RecordedCohorts, values: Sequence[ProtectedValue]) -> RecordedCohorts:
    """The same with values numbered as these are."""
    place = {value.name: number for number, value in enumerate(values)}
    number = np.array([place[name] for name in recorded.names], dtype=np.int64)
    return replace(recorded, value=number[recorded.value], names=tuple(place))


def _crowds(
    roll: Roll,
    recorded: RecordedCohorts,
    shown: tuple[Population, NDArray[np.int64]],
    values: Sequence[ProtectedValue],
) -> Crowds:
    """The classes after a release that shows what these people, with their places, hold."""
    pairs = _shown(recorded, shown, values)
    return Crowds.of(roll.cohort, roll.retired, roll.now, pairs, max(len(values), 1))


def _shown(
    recorded: RecordedCohorts,
    shown: tuple[Population, NDArray[np.int64]],
    values: Sequence[ProtectedValue],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a person and a value that persists, published before or held by these people."""
    population, place = shown
    number = numbers_among(population, values)[population.held]
    holder = np.repeat(place, np.diff(population.held_start))
    counts = number >= 0
    return (
        np.concatenate([recorded.holder, holder[counts]]),
        np.concatenate([recorded.value, number[counts]]),
    )


def numbers_among(population: Population, values: Sequence[ProtectedValue]) -> NDArray[np.int64]:
    """The place of each protected value among those that persist, or -1."""
    place = {value.name: number for number, value in enumerate(values)}
    found = [place.get(value.name, -1) for value in population.protected]
    return np.array(found, dtype=np.int64)


def _check_content(
    release: Released,
    roll: Roll,
    recorded: RecordedCohorts,
    crowds: Crowds,
    values: Sequence[ProtectedValue],
    rules: Rules,
) -> None:
    """Compare the release with its table, step by step."""
    table, arranged, population = release.table, release.arranged, release.population
    others = [(arranged, roll.row)]
    if population is not arranged:
        others.append((population, roll.row))
    covering, (of_table, *shown) = contents(table, others, rules.where)
    may_go = _full(table, roll, recorded, crowds, values, rules.known_members)
    check = check_records_left_out if table.keeps_records_whole else check_left_out
    check((table, of_table), (arranged, shown[0]), covering, may_go, rules.where)
    check_plain(table, population, roll.row, np.zeros(population.size, np.bool_), rules.where)
    if population is not arranged:
        is_transient = np.array([not value.persists for value in table.protected], dtype=np.bool_)
        check(
            (arranged, shown[0]),
            (population, shown[1]),
            covering,
            lambda _place, number: is_transient[number],
            rules.where,
        )


def _full(
    table: Population,
    roll: Roll,
    recorded: RecordedCohorts,
    crowds: Crowds,
    values: Sequence[ProtectedValue],
    known_members: int,
) -> Allowed:
    """A value may be taken out of a record if it persists, its class has as many holders as it may
    have, at least one, and the person was never shown as one of them.

    Where a published value counts as several values that persist, what was taken out for one of
    them may leave room for another. Then it is enough that the class would have had too many. The
    same is true where a record is left out with all of its values.
    """
    number_of = numbers_among(table, values)
    most = most_allowed(crowds.size, values, known_members)
    published = distinct(recorded.holder * crowds.values + recorded.value)
    covers = [value.covers() for value in values]
    is_tangled = np.array(
        [
            table.keeps_records_whole
            or any(mine & other for k, other in enumerate(covers) if k != number)
            for number, mine in enumerate(covers)
        ],
        dtype=np.bool_,
    )

    def may_go(place: NDArray[np.int64], protected: NDArray[np.int64]) -> NDArray[np.bool_]:
        person, value = roll.in_table[place], number_of[protected]
        found = value >= 0
        person, value = person[found], value[found]
        if not len(person):
            return found
        crowd = crowds.number[person]
        limit = most[value, crowd]
        is_full = (crowds.holders_in(crowd, value) >= limit) & (limit > 0)
        if is_tangled.any():
            wanted = _crowds(roll, recorded, (table, roll.in_table), values)
            is_full |= is_tangled[value] & (limit > 0) & (wanted.holders_in(crowd, value) > limit)
        found[found] = is_full & ~are_among(person * crowds.values + value, published)
        return found

    return may_go
