"""Releases in which values persist: people in cohorts, and groups of whole cohorts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.cohorts import (
    Arrangement,
    Rules,
    TooManyHolders,
    arrange,
    arrange_once,
    leavers,
    unite,
)
from serigraph.engines.interface import CohortFacts, CohortTerms, Plan
from serigraph.errors import ImpossibleState, Infeasible, PolicyChanged
from serigraph.grouping import Demand, Grouping
from serigraph.ledger import ReleaseRecord
from serigraph.ledger.parts import COHORTS, has_part
from serigraph.model import Classes, Cohorts, Past, Population, Proof, ProtectedValue
from serigraph.privacy.alikeness import most_holders
from serigraph.recoding import extents
from serigraph.runtime.ordering import distinct
from serigraph.runtime.randomness import Randomness
from serigraph.short_repr import Undisclosed
from serigraph.tables.cells import counted


@dataclass(frozen=True, repr=False)
class CohortsBefore(Undisclosed):
    """What the ledger knows of cohorts and of the people of a release."""

    recorded: Cohorts
    attendance: NDArray[np.int64]  # of each person: the same for members of the same releases
    shown: tuple[ProtectedValue, ...]  # every protected value that was ever in a group

    @staticmethod
    def none(ids: pl.Series) -> CohortsBefore:
        """Before the first release."""
        return CohortsBefore(Cohorts.none(ids), np.zeros(len(ids), dtype=np.int64), ())

    def subset(self, kept: NDArray[np.bool_]) -> CohortsBefore:
        """For some of the people of the release only."""
        return CohortsBefore(self.recorded, self.attendance[kept], self.shown)


def arranged(
    population: Population,
    before: CohortsBefore,
    plan: Plan,
    terms: CohortTerms,
    randomness: Randomness,
) -> Arrangement:
    """Everybody who may be in the release, in cohorts; refuses what no cohort can hide.

    Where nobody knows who of a registry is in the table, cohorts stand for good. Otherwise a value
    that persists is shown once.
    """
    known = [*before.shown, *population.protected]
    rules = Rules(
        size=terms.size,
        known=plan.known_members,
        least=terms.least,
        thresholds={value.name: value.threshold for value in known if value.persists},
        has_one_value=plan.has_one_value,
    )
    if is_presence_hidden(plan, terms):
        _check_registry(population, before.recorded, plan, terms)
        made = arrange(population, before.recorded, rules, randomness)
        _check_room(made, plan)
        return made
    rules = replace(rules, least=plan.minimum_size)
    _check_no_transient(population, plan)
    try:
        return arrange_once(population, before.recorded, before.attendance, rules, randomness)
    except TooManyHolders as beyond:
        raise Infeasible(
            f"{counted(len(beyond.values), 'value')} that must be shown once only cannot be hidden "
            "among people with the same past",
            where=f"release {plan.label}",
            remedy='give a registry and set adversary = "presence unknown" (in a new series, once '
            "a release is out), set a larger cohort_size before the first release, or protect "
            "fewer values",
            problems=[f"value {name!r}" for name in beyond.values[:20]],
        ) from None


def is_presence_hidden(plan: Plan, terms: CohortTerms) -> bool:
    """Whether nobody knows who of a larger registry is in the table."""
    return terms.has_registry and not plan.is_presence_known


def _check_no_transient(population: Population, plan: Plan) -> None:
    held = distinct(population.held)
    transient = [population.protected[v].name for v in held if not population.protected[v].persists]
    if transient:
        raise Infeasible(
            "transient values can stand beside values that persist only with a registry",
            where=f"release {plan.label}",
            remedy='give a registry with --registry and set adversary = "presence unknown", or set '
            'the persistence of these values to "any"',
            problems=[f"value {name!r}" for name in transient[:20]],
        )


def _check_registry(
    population: Population, recorded: Cohorts, plan: Plan, terms: CohortTerms
) -> None:
    held = [population.protected[v] for v in distinct(population.held).tolist()]
    is_mixed = len({value.persists for value in held}) > 1
    if is_mixed and plan.form == "generalised" and not plan.has_one_value:
        raise Infeasible(
            "a row would show a transient value beside one that persists, and the one would give "
            "away the other: cohorts are smaller than the groups that transient values need",
            where=f"release {plan.label}",
            remedy='choose form = "bucketised" in [output], or set the persistence of all values '
            'to "any"',
        )
    if population.outside_registry:
        raise Infeasible(
            f"{counted(population.outside_registry, 'person', 'people')} of the table "
            f"{'is' if population.outside_registry == 1 else 'are'} not in the registry, and would "
            "be known to be in the table",
            where=f"release {plan.label}",
            remedy="add them to the registry, or leave them out of the table",
        )
    left = 0 if terms.may_depart else leavers(population, recorded)
    if left:
        raise Infeasible(
            f"{counted(left, 'member')} of cohorts {'is' if left == 1 else 'are'} no longer in the "
            "registry",
            where=f"release {plan.label}",
            remedy="keep those who depart in the registry",
        )


def _check_room(cohorts: Arrangement, plan: Plan) -> None:
    """Refuse values of which a cohort may not show a single holder."""
    _, sizes = np.unique(cohorts.cohort, return_counts=True)
    smallest = int(sizes.min(initial=cohorts.population.size))
    too_rare = [
        value.name
        for value in cohorts.population.protected
        if value.persists and not most_holders(smallest, value.threshold, plan.known_members)
    ]
    if too_rare and len(sizes):
        raise Infeasible(
            f"cohorts were formed before {counted(len(too_rare), 'value')} with a lower threshold "
            "persisted, and are too small for a single holder",
            where=f"release {plan.label}",
            remedy="start a new series",
            problems=[f"value {name!r}" for name in too_rare[:20]],
        )


def united(
    population: Population, past: Past, demand: Demand, cohorts: Arrangement, plan: Plan
) -> Grouping | NDArray[np.int32]:
    """Groups of whole cohorts, or the values that exceed somebody's budget."""
    if cohorts.units is not None:
        group, too_many = unite(population, cohorts.units, past, demand.rules, plan.known_members)
        if len(too_many):
            return too_many
    elif cohorts.group is not None:
        group = cohorts.group
    else:
        raise ImpossibleState("an arrangement has neither groups nor what to form them of")
    groups = int(group.max(initial=-1)) + 1
    low, high = extents(population.codes, group, groups)
    is_point = (low == high).all(axis=1)
    if demand.interleave:
        low = high = np.empty((groups, 0), dtype=np.int32)
    return Grouping(group.copy(), low, high, is_point)


def excluded_from_gaps(cohorts: Arrangement) -> int:
    """How many people without a record may be known not to be missing holders of a transient value:
    at most all who do not count as cover of one."""
    if cohorts.units is None:
        return 0
    return int(cohorts.population.size - cohorts.units.size.sum())


def facts_on_cohorts(
    table: Population, recorded: Cohorts, cohorts: Arrangement, proof: Proof
) -> CohortFacts:
    """What became of the people and the values of a table in a verified release."""
    changes, released = proof.cohorts, cohorts.population
    if changes is None:
        raise ImpossibleState("values persist, and the proof says nothing of cohorts")
    in_cohort = cohorts.cohort[cohorts.cohort >= 0]
    is_once = cohorts.group is not None  # a value that persists is shown once
    records = np.count_nonzero(table.present[cohorts.kept]) - np.count_nonzero(released.present)
    held = np.diff(table.held_start)[cohorts.kept]
    persists = np.array([value.persists for value in released.protected], dtype=np.bool_)
    names = pl.Series(proof.protected_names, dtype=pl.String)
    shown = persists[proof.held]
    after = recorded.followed_by(
        changes, proof.ids.gather(proof.holder[shown]), names.gather(proof.held[shown])
    )
    return CohortFacts(
        cohorts=len(distinct(in_cohort)),
        people=len(in_cohort),
        waiting=cohorts.waiting,
        retired=cohorts.gone,
        leaving=len(cohorts.retired) if is_once else 0,
        withheld=int(records) if is_once else 0,
        left_out=0 if is_once else int(np.count_nonzero(held > np.diff(released.held_start))),
        after=Classes.of(after, int(recorded.retired.max(initial=0)) + 1),
    )


def check_cohorts_throughout(releases: Sequence[ReleaseRecord]) -> None:
    """Refuse a series that has kept its people together only in some of its releases."""
    without = [release for release in releases if not has_part(release, COHORTS)]
    if without:
        raise PolicyChanged(
            "people were not kept together in earlier releases, which told them apart for good",
            where=f"release {without[-1].number}, {without[-1].label}",
            remedy='start a new series for values whose persistence is "permanent" or "any"',
        )
