"""The engine for one machine: form groups, suppress as a last resort, verify, recode."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.cohorts import Arrangement
from serigraph.engines.cohorts import (
    CohortsBefore,
    arranged,
    excluded_from_gaps,
    facts_on_cohorts,
    united,
)
from serigraph.engines.interface import Plan, VerifiedRelease
from serigraph.engines.suppression import (
    Counts,
    TellingGaps,
    demand_of,
    missing_holders,
    refusal,
    thinned,
    withdrawn,
)
from serigraph.errors import GuaranteeExceeded, Infeasible
from serigraph.grouping import Box, Demand, Grouping, form_groups
from serigraph.model import Past, Population, occurring
from serigraph.recoding import (
    bucketised,
    extents,
    generalised,
    generalised_records,
    normalised_widths,
    records_of_groups,
)
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.randomness import Randomness, shuffled
from serigraph.runtime.threads import TOGETHER, parallel_map, slices
from serigraph.verification import (
    EarlierReleases,
    Proposal,
    ProposedCohorts,
    check_gaps,
    verify,
)


def make_release(
    population: Population,
    past: Past,
    earlier: EarlierReleases,
    plan: Plan,
    randomness: Randomness,
    progress: Progress = no_progress,
    cohorts_before: CohortsBefore | None = None,
) -> VerifiedRelease:
    """Make a release in memory.

    Groups are formed by the ``past`` of these people; the verifier does not see it, and reads
    the ``earlier`` releases. Raises `Infeasible` if values do not fit and suppression is not
    allowed, or if their absence would reveal too much, and `GuaranteeExceeded` if the verifier
    disagrees. ``cohorts_before`` is what the ledger knows of cohorts, if values persist.
    """
    if plan.is_presence_known and not population.present.all():
        # People known to be absent give no cover and are exposed to nothing.
        past = past.subset(population.present)
        if cohorts_before is not None:
            cohorts_before = cohorts_before.subset(population.present)
        population = population.subset(population.present)
    table, cohorts = population, None
    progress("ordering")
    if plan.cohorts is not None:
        before = cohorts_before or CohortsBefore.none(population.ids)
        cohorts = arranged(population, before, plan, plan.cohorts, randomness)
        population, past = cohorts.population, past.subset(cohorts.kept)
        if not population.present.any():
            raise Infeasible(
                "nobody is left to publish: everybody in the table waits, has retired, or is in a "
                "cohort that may show no more holders",
                where=f"release {plan.label}",
                remedy="wait until more people are in the table, or start a new series",
            )
    whole, hopeless = population, ""
    excluded = 0
    if cohorts is not None:
        excluded = excluded_from_gaps(cohorts)

    def form(population: Population, past: Past, demand: Demand) -> Grouping | NDArray[np.int32]:
        if cohorts is not None:
            return united(population, past, demand, cohorts, plan)
        return formed(population, past, demand, plan, randomness, progress=progress)

    try:
        population, past, grouping = _fitted(whole, past, plan, randomness, form, excluded)
        if not population.present.any():
            hopeless = "suppression would leave nobody to publish"
        elif population is not whole:
            check_gaps(whole, population, earlier, plan.label, plan.known_members, excluded)
    except GuaranteeExceeded as exceeded:
        hopeless = exceeded.what
    except TellingGaps as telling:
        population = telling.population
        cover = "where presence is known" if plan.is_presence_known else "without a larger registry"
        hopeless = f"suppression would tell who was left out {cover}"
    if population is not whole and (hopeless or not plan.allows_suppression):
        counts = Counts.of(whole)
        base = demand_of(whole.protected, plan).base_targets(whole)
        missing = missing_holders(counts, Counts.of(population))
        raise refusal(counts, base, missing, plan, past.releases, hopeless)
    made = finished(
        whole,
        population,
        earlier,
        plan,
        grouping,
        randomness,
        progress=progress,
        table=table,
        cohorts=cohorts,
    )
    if cohorts is None:
        return made
    return replace(made, cohorts=facts_on_cohorts(table, before.recorded, cohorts, made.proof))


def _fitted(
    whole: Population,
    past: Past,
    plan: Plan,
    randomness: Randomness,
    form: Callable[[Population, Past, Demand], Grouping | NDArray[np.int32]],
    excluded: int,
) -> tuple[Population, Past, Grouping]:
    """Groups that allow all their values, and the people in them. A value that exceeds somebody's
    budget is withdrawn from the release altogether: to keep it away from that person alone would
    reveal where it was."""
    population = whole
    while True:
        population = thinned(whole, population, plan, randomness, excluded)
        # Members of a cohort without a record are listed with it, so that nobody misses them.
        leaves_holes = plan.is_presence_known and plan.form == "bucketised" and not plan.cohorts
        if leaves_holes and not population.present.all():
            past = past.subset(population.present)
            population = population.subset(population.present)
        demand = demand_of(population.protected, plan)
        found = form(population, past, demand)
        if isinstance(found, Grouping):
            return population, past, found
        population = withdrawn(population, found)


def formed(
    population: Population,
    past: Past,
    demand: Demand,
    plan: Plan,
    randomness: Randomness,
    box: Box | None = None,
    at_least: NDArray[np.int64] | int = 0,
    progress: Progress = no_progress,
) -> Grouping | NDArray[np.int32]:
    """Groups, or the values that exceed somebody's budget; see ``form_groups``.

    If the strategy requires the same of everybody and nobody's past requires more, groups are
    formed without looking at the past, which is faster. Only the pasts decide this: to form groups
    a second time because the first ones failed would reveal who holds a value.
    """
    weight = _weight(population, plan)
    asks_the_same = plan.strategy.asks_the_same_of_everybody(past.releases)
    if asks_the_same and demand.history_within_budget(population, past):
        past = Past.none(population.size)
    keys = randomness.keys(population.size)
    return form_groups(population, past, demand, plan.method, weight, keys, box, at_least, progress)


def finished(  # all that a release is made of
    whole: Population,
    population: Population,
    earlier: EarlierReleases,
    plan: Plan,
    grouping: Grouping,
    randomness: Randomness,
    progress: Progress = no_progress,
    table: Population | None = None,
    cohorts: Arrangement | None = None,
) -> VerifiedRelease:
    """Verify groups, and recode their people; ``whole`` is the population before suppression, and
    ``table`` that before ``cohorts`` were arranged."""
    grouping = _relabelled(grouping, population.present, randomness)
    progress("verifying")
    # Recoding does not wait for the verifier, but no table leaves before it agrees.
    with ThreadPoolExecutor(1) as beside:
        cohort = None if cohorts is None else cohorts.cohort
        recoded = beside.submit(_recoded, population, plan, grouping, randomness, cohort)
        proof = verify(
            population,
            earlier,
            Proposal(
                plan.form,
                grouping.group,
                grouping.low,
                grouping.high,
                None if cohorts is None else ProposedCohorts(cohorts.cohort, cohorts.retired),
                plan.groups,
            ),
            whole=whole,
            table=None if cohorts is None else table,
            cohort_terms=plan.cohorts,
            known_members=plan.known_members,
            presence_known=plan.is_presence_known,
            minimum_size=plan.minimum_size,
            where=f"release {plan.label}",
            report=partial(progress, "verifying"),
        )
        progress("recoding")
        tables, widths = recoded.result()
    return VerifiedRelease(
        population=population,
        proof=proof,
        tables=tables,
        widths={
            domain.name: float(width)
            for domain, width in zip(population.domains, widths, strict=True)
        },
        boxes=(grouping.low, grouping.high),
    )


def _recoded(
    population: Population,
    plan: Plan,
    grouping: Grouping,
    randomness: Randomness,
    cohort: NDArray[np.int64] | None,
) -> tuple[dict[str, pl.DataFrame], NDArray[np.float64]]:
    """The tables, and the width (NCP) of each quasi-identifier."""
    known, held, shape = None, None, plan.records
    if plan.form == "bucketised":
        if shape is not None:
            held = partial(records_of_groups, population, grouping.group, shape, randomness)
        shows_absent = not plan.is_presence_known or cohort is not None
        tables = bucketised(
            population, grouping.group, grouping.is_point, shows_absent, randomness, cohort, held
        )
    else:
        known = extents(population.codes, grouping.group, grouping.groups)
        regions = population, grouping.group, grouping.low, grouping.high
        if shape is not None:
            tables = generalised_records(*regions, shape, randomness, known)
        else:
            tables = generalised(
                *regions,
                plan.sensitive,
                randomness,
                has_one_value=plan.has_one_value,
                known=known,
            )
    return tables, normalised_widths(population, grouping.group, grouping.is_point, known)


def _weight(population: Population, plan: Plan) -> NDArray[np.uint8]:
    """Who counts in n: everybody, or only those whom the adversary knows to be present."""
    if plan.is_presence_known:
        return population.present.astype(np.uint8)
    return np.ones(population.size, dtype=np.uint8)


def _relabelled(grouping: Grouping, present: NDArray[np.bool_], randomness: Randomness) -> Grouping:
    """The same groups under random numbers, written over the old ones: the number of a group
    reveals nothing about its place.

    Groups without a present member come last, so that the others have the numbers of the proof.
    """
    group = grouping.group
    is_shown = occurring(group, grouping.groups, present)
    order = shuffled(grouping.groups, randomness)
    order = np.concatenate([order[is_shown[order]], order[~is_shown[order]]])
    number = np.empty(grouping.groups, dtype=np.int64)
    number[order] = np.arange(grouping.groups)

    def renumber(part: slice) -> None:
        group[part] = number[group[part]]

    parallel_map(renumber, slices(len(group), longest=TOGETHER))
    return Grouping(group, grouping.low[order], grouping.high[order], grouping.is_point[order])
