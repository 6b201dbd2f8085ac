"""What does not fit, explained so that the publisher can act on it, and suppression, the last
resort: which values are left out, and what their absence reveals.

How many holders of a value are left out depends on counts alone, and they are drawn at random,
before any group is formed. So groups say nothing about what is missing, and nothing reveals where
it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from serigraph.engines.interface import Plan
from serigraph.errors import Infeasible
from serigraph.model import Population, ProtectedValue
from serigraph.privacy.gaps import gap_risk, threshold_left
from serigraph.privacy.ratios import ASKS_NOTHING
from serigraph.runtime.randomness import Randomness, shuffled

if TYPE_CHECKING:
    from serigraph.grouping import Demand

_OR_EXCLUDED = ", or too few people are left who may hold it beside values that persist"


@dataclass(frozen=True)
class Counts:
    """Counts of the people of a release."""

    protected: tuple[ProtectedValue, ...]
    holders: NDArray[np.int64]  # of each protected value
    people: int
    present: int
    values: int  # pairs of a person and a value that the release would show

    @staticmethod
    def of(population: Population) -> Counts:
        return Counts(
            protected=population.protected,
            holders=np.bincount(population.held, minlength=len(population.protected)),
            people=population.size,
            present=int(population.present.sum()),
            values=int(population.values.list.len().sum()),
        )


def excess_holders(
    protected: Sequence[ProtectedValue],
    holders: NDArray[np.int64],
    base: NDArray[np.float64],
    cover: int,
    clearance: Fraction,
) -> dict[int, int]:
    """The values with more holders than any grouping allows, given how many people give ``cover``,
    and how many holders are left out; only the first class, if there is one among them.

    Suppressing a class also suppresses values and other classes: ask again until nothing is left.
    """
    found = np.flatnonzero(holders * base > cover * (1 + 1e-12)).tolist()
    classes = [value for value in found if protected[value].stands_for]
    return {
        value: int(holders[value] - np.floor(cover / base[value] * float(1 - clearance)))
        for value in classes[:1] or found
    }


def missing_holders(before: Counts, after: Counts) -> dict[str, int]:
    """By protected value, how many holders are not published as such after suppression."""
    fewer = before.holders - after.holders
    return {
        value.name: number
        for value, number in zip(before.protected, fewer.tolist(), strict=True)
        if number
    }


def refusal(
    before: Counts,
    base: NDArray[np.float64],
    missing: Mapping[str, int],
    plan: Plan,
    releases: int,
    hopeless: str = "",
) -> Infeasible:
    """The error for a release that is infeasible without suppression, after ``releases`` releases.

    ``missing`` has the values that suppression would leave out, or did before it turned out to be
    ``hopeless``, for the reason given.
    """
    holders, people = before.holders, before.people
    cover = cover_of(people, plan)
    problems = []
    is_beyond_any_strategy = is_used_up = False
    for number, value in enumerate(before.protected):
        if value.name not in missing:
            continue
        is_beyond_any_strategy |= int(holders[number]) > cover * value.threshold
        if holders[number] * base[number] > cover:
            problems.append(
                f"value {value.name!r} is held by {holders[number]:,} of {people:,} people; the "
                f"target {base[number]:.2f} allows {int(cover / base[number]):,}"
            )
        else:
            problems.append(
                f"value {value.name!r} does not fit: somebody has so little left of the budget for "
                "it that not even the whole table as one group would do"
                + (_OR_EXCLUDED if plan.cohorts is not None and plan.has_one_value else "")
            )
            is_used_up = True
    shown = problems[:20]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown):,} more values")
    changes = _changes_that_help(
        "" if is_beyond_any_strategy else plan.strategy.gentler(),
        could_add_registry=not plan.is_presence_known and people == before.present,
        is_first=releases == 0,
    )
    if is_used_up:
        changes.append("leave out the people whose budget is used up, also of the registry")
    if not hopeless:
        changes.append("leave out holders of these values with --allow-suppression")
    helping = ", or ".join(filter(None, [", ".join(changes[:-1]), *changes[-1:]]))
    return Infeasible(
        f"{len(problems):,} protected value{'s do' if len(problems) != 1 else ' does'} not fit "
        "under the guarantee",
        where=f"release {plan.label}",
        remedy="; ".join(filter(None, [helping, hopeless])),
        problems=shown,
    )


def _changes_that_help(
    gentler_strategy: str, *, could_add_registry: bool, is_first: bool
) -> list[str]:
    """What a publisher can still change so that values fit, except what a release has frozen."""
    return [
        *([gentler_strategy] if gentler_strategy else []),
        *(["add a registry"] if could_add_registry else []),
        *(["protect fewer values", "raise the threshold"] if is_first else []),
    ]


class TellingGaps(Exception):
    """What is missing would reveal more about somebody than a threshold allows."""

    def __init__(self, population: Population) -> None:
        super().__init__()
        self.population = population  # as far as it got


def demand_of(protected: Sequence[ProtectedValue], plan: Plan) -> Demand:
    """What the plan requires of every group."""
    from serigraph.grouping import Demand  # compiled code, not needed for counts alone

    return Demand(
        rules=tuple(
            ASKS_NOTHING if value.persists else plan.strategy.rule(value.threshold, value.name)
            for value in protected
        ),
        minimum_size=plan.minimum_size,
        interleave=plan.interleaves,
        known_members=plan.known_members,
        blind=plan.blind,
    )


def cover_of(people: int, plan: Plan) -> int:
    """How many of these people the adversary has to choose from if they are one group."""
    return max(people - plan.known_members, 0)


def thinned(
    whole: Population, population: Population, plan: Plan, randomness: Randomness, excluded: int = 0
) -> Population:
    """The population without the holders of a value that exceed what any grouping allows.

    ``whole`` is the population before suppression. What its gaps reveal is charged to the
    thresholds; ``TellingGaps`` if nothing is left of one. So many people are ``excluded`` from
    those whose value may be missing.
    """
    while True:
        population = charged(whole, population, plan.known_members, excluded)
        base = demand_of(population.protected, plan).base_targets(population)
        # Where presence is known, people who lose their record no longer give cover to others.
        people = len(population.values) if plan.is_presence_known else population.size
        holders = np.bincount(population.held, minlength=len(base))
        cover = cover_of(people, plan)
        excess = excess_holders(population.protected, holders, base, cover, plan.clearance)
        if not excess:
            return population
        person, value = _drawn(population, excess, randomness)
        population = population.without(person, value)


def withdrawn(population: Population, values: NDArray[np.int32]) -> Population:
    """The population without any holder of some values."""
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    is_held = np.isin(population.held, values)
    return population.without(holder[is_held], population.held[is_held])


def charged(
    whole: Population, population: Population, known_members: int, excluded: int = 0
) -> Population:
    """The population with the thresholds that its gaps leave; see `serigraph.privacy.gaps`."""
    if population is whole:
        return population
    records, without_record = len(population.values), population.size - len(population.values)
    values = len(whole.protected)
    before = _pairs(whole, np.arange(whole.size))
    now = _pairs(population, whole.ids.search_sorted(population.ids).to_numpy())
    person, value = np.divmod(np.setdiff1d(before, now, assume_unique=True), max(values, 1))
    without_record += whole.size - population.size
    has_record = np.zeros(whole.size, dtype=np.bool_)
    has_record[whole.ids.search_sorted(population.ids).to_numpy()] = population.present
    missing_silently = np.bincount(value[has_record[person]], minlength=values)
    missing = np.bincount(value, minlength=values)
    holders = np.bincount(population.held, minlength=values)
    is_visible = without_record == whole.present.sum() - records  # nobody else is absent
    protected = []
    for number, each in enumerate(whole.protected):
        risk = gap_risk(
            without_record=without_record - excluded,
            missing_without_record=int(missing[number] - missing_silently[number]),
            silent=records - int(holders[number]),
            missing_silently=int(missing_silently[number]),
            known=known_members,
        )
        if risk > each.threshold:
            raise TellingGaps(population)
        if is_visible or holders[number] or _is_revealed_by_a_class(each, whole.protected, holders):
            each = replace(each, threshold=threshold_left(each.threshold, 1 - risk))
        if each.threshold <= 0:
            raise TellingGaps(population)
        protected.append(each)
    return replace(population, protected=tuple(protected))


def _is_revealed_by_a_class(
    value: ProtectedValue, protected: Sequence[ProtectedValue], holders: NDArray[np.int64]
) -> bool:
    """Whether a class that the release shows counts the missing holders of a value."""
    return any(
        value.name in other.stands_for and holders[number] > 0
        for number, other in enumerate(protected)
    )


def _drawn(
    population: Population, excess: dict[int, int], randomness: Randomness
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Pairs (person, value) to suppress: this many holders of each value, at random."""
    person = np.repeat(np.arange(population.size), np.diff(population.held_start))
    persons: list[NDArray[np.int64]] = []
    values: list[NDArray[np.int32]] = []
    for value, number in excess.items():
        holding = person[population.held == value]
        persons.append(holding[shuffled(len(holding), randomness)[:number]])
        values.append(np.full(number, value, dtype=np.int32))
    return np.concatenate(persons), np.concatenate(values)


def _pairs(population: Population, place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every (person, protected value) as one number; persons by their places elsewhere."""
    holder = np.repeat(place, np.diff(population.held_start))
    return holder * max(len(population.protected), 1) + population.held
