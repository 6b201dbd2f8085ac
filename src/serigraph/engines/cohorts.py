"""Releases in which values persist: people in cohorts, and groups of whole cohorts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.cohorts import Arrangement, Rules, Units, arrange, leavers, unite
from serigraph.engines.interface import CohortTerms, Plan
from serigraph.errors import Infeasible
from serigraph.grouping import Demand, Grouping
from serigraph.model import Cohorts, Past, Population
from serigraph.recoding import extents
from serigraph.runtime.randomness import Randomness
from serigraph.tables.cells import counted


def arranged(
    population: Population,
    recorded: Cohorts,
    plan: Plan,
    terms: CohortTerms,
    randomness: Randomness,
) -> Arrangement:
    """Everybody who may be in the release, in a cohort each; refuses what no cohort can hide."""
    _check(population, recorded, plan, terms)
    names = {value.name for value in population.protected if value.persists}
    names.update(recorded.value.unique())
    rules = Rules(
        size=terms.size,
        known=plan.known_members,
        least=plan.minimum_size,
        thresholds={name: terms.threshold_of(name) for name in names},
    )
    return arrange(population, recorded, rules, randomness)


def _check(population: Population, recorded: Cohorts, plan: Plan, terms: CohortTerms) -> None:
    if plan.is_presence_known or not terms.has_registry:
        raise Infeasible(
            "values that persist need a registry, and an adversary who does not know who of it is "
            "in the table",
            where=f"release {plan.label}",
            remedy='give a registry with --registry and set adversary = "presence unknown"; or, if '
            'values change freely between releases, set their persistence to "transient"',
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


def united(
    population: Population,
    past: Past,
    demand: Demand,
    *,
    cohort: NDArray[np.int64],
    known: int,
) -> Grouping | NDArray[np.int32]:
    """Groups of whole cohorts, or the values that exceed somebody's budget."""
    group, too_many = unite(population, Units.of(cohort), past, demand.rules, known)
    if len(too_many):
        return too_many
    groups = int(group.max(initial=-1)) + 1
    low, high = extents(population.codes, group, groups)
    is_point = (low == high).all(axis=1)
    if demand.interleave:
        low = high = np.empty((groups, 0), dtype=np.int32)
    return Grouping(group.copy(), low, high, is_point)
