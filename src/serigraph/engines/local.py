"""The engine for one machine: form groups, suppress at the last resort, verify, recode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.engines.feasibility import Counts, Losses, losses, named, overfull, refusal
from serigraph.engines.plan import Made, Plan
from serigraph.grouping import Box, Demand, Grouping, excess_pairs, form_groups
from serigraph.population import History, Population, ProtectedValue, occurring
from serigraph.progress import Progress, silently
from serigraph.randomness import Randomness, shuffled
from serigraph.recoding import bucketised, extents, generalised, normalised_widths
from serigraph.threads import TOGETHER, side_by_side, slices
from serigraph.verification import Proposal, verify

Pairs = tuple[NDArray[np.int64], NDArray[np.int32]]  # a person and a protected value each


def make_release(
    population: Population,
    history: History,
    plan: Plan,
    randomness: Randomness,
    progress: Progress = silently,
) -> Made:
    """Make a release in memory; raises `Infeasible` where values do not fit and nobody allowed to
    suppress them, or nothing would be left, and `GuaranteeExceeded` where the verifier
    disagrees."""
    if plan.is_presence_known and not population.present.all():
        # Whoever is known to be absent hides nobody and is exposed to nothing.
        history = history.subset(population.present)
        population = population.subset(population.present)
    progress("ordering")
    demand = demand_of(population.protected, plan)
    base = demand.base_targets(population)
    before, raw = Counts.of(population), population
    suppressed: Counter[str] = Counter()
    while True:
        # Where presence is known, whoever loses its record hides the others no more: a value that
        # fitted before may not fit any longer.
        people = len(population.values) if plan.is_presence_known else population.size
        person, value = overfull(population, base, people, randomness)
        if len(person) == 0:
            break
        suppressed.update(named(population, value))
        population = population.without(person, value)
    if plan.is_presence_known and demand.interleave:
        history = history.subset(population.present)
        population = population.subset(population.present)
    grouping, excess = formed(population, history, demand, plan, randomness, progress=progress)
    population, given_up = without_excess(population, history, demand, plan, grouping, excess)
    suppressed.update(given_up)
    lost = losses(before, Counts.of(population) if suppressed else before)
    if suppressed and (not plan.allows_suppression or not population.present.any()):
        raise refusal(before, base, suppressed, lost, plan, history.releases)
    return finished(population, raw, history, demand, plan, grouping, lost, randomness, progress)


def demand_of(protected: Sequence[ProtectedValue], plan: Plan) -> Demand:
    """What the plan asks of every group."""
    return Demand(
        rules=tuple(plan.strategy.rule(value.threshold) for value in protected),
        minimum_size=plan.minimum_size,
        interleave=plan.form == "bucketised",
    )


def formed(
    population: Population,
    history: History,
    demand: Demand,
    plan: Plan,
    randomness: Randomness,
    box: Box | None = None,
    progress: Progress = silently,
) -> tuple[Grouping, Pairs]:
    """Groups, and the pairs in them that somebody cannot bear.

    While the strategy asks the same of everybody, groups are formed without looking at the past,
    which is faster; if that was too bold, because an earlier release followed another plan, they
    are formed again. Where the past asks nothing of anybody, it is not looked at afterwards either.
    """
    weight = _weight(population, plan)
    keys = randomness.keys(population.size)
    past, charged = [history], history
    if plan.strategy.asks_the_same_of_everybody(history.releases):
        none = History.none(population.size)
        past = [none, history]
        charged = none if demand.is_borne_by_all(population, history) else history
    for known in past:
        grouping = form_groups(population, known, demand, plan.method, weight, keys, box, progress)
        if known is charged and not grouping.has_failed:
            return grouping, (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))
        excess = excess_pairs(population, charged, demand, weight, grouping.group)
        if len(excess[0]) == 0:
            break
    return grouping, excess


def without_excess(
    population: Population,
    history: History,
    demand: Demand,
    plan: Plan,
    grouping: Grouping,
    excess: Pairs,
) -> tuple[Population, Counter[str]]:
    """The population without the pairs that somebody cannot bear, and how many there were."""
    suppressed: Counter[str] = Counter()
    person, value = excess
    while len(person):
        suppressed.update(named(population, value))
        population = population.without(person, value)
        person, value = excess_pairs(
            population, history, demand, _weight(population, plan), grouping.group
        )
    return population, suppressed


def finished(
    population: Population,
    raw: Population,
    history: History,
    demand: Demand,
    plan: Plan,
    grouping: Grouping,
    lost: Losses,
    randomness: Randomness,
    progress: Progress = silently,
) -> Made:
    """Verify groups that nobody has to be taken out of any more, and recode their people; ``raw``
    is the population before anything was suppressed."""
    grouping = _relabelled(grouping, population.present, randomness)
    progress("verifying")
    # Recoding does not wait for the verifier, but nobody sees a table before it agrees.
    with ThreadPoolExecutor(1) as beside:
        recoded = beside.submit(_recoded, population, demand, plan, grouping, randomness)
        proof = verify(
            population,
            history,
            Proposal(grouping.group, grouping.low, grouping.high),
            presence_known=plan.is_presence_known,
            minimum_size=plan.minimum_size,
            where=f"release {plan.label}",
            report=partial(progress, "verifying"),
        )
        progress("recoding")
        tables, widths = recoded.result()
    return Made(
        population=population,
        raw=raw,
        proof=proof,
        tables=tables,
        suppressed=lost.holders,
        suppressed_values=lost.values,
        dropped=lost.people,
        widths={
            domain.name: float(width)
            for domain, width in zip(population.domains, widths, strict=True)
        },
    )


def _recoded(
    population: Population,
    demand: Demand,
    plan: Plan,
    grouping: Grouping,
    randomness: Randomness,
) -> tuple[dict[str, pl.DataFrame], NDArray[np.float64]]:
    """The tables, and how much they hide of each quasi-identifier."""
    known = None
    if demand.interleave:
        shows_absent = not plan.is_presence_known
        tables = bucketised(population, grouping.group, grouping.is_point, shows_absent, randomness)
    else:
        known = extents(population.codes, grouping.group, grouping.groups)
        tables = generalised(
            population,
            grouping.group,
            grouping.low,
            grouping.high,
            plan.sensitive,
            randomness,
            has_one_value=plan.has_one_value,
            known=known,
        )
    return tables, normalised_widths(population, grouping.group, grouping.is_point, known)


def _weight(population: Population, plan: Plan) -> NDArray[np.uint8]:
    """Who counts in n: everybody, or whoever the adversary knows to be there."""
    if plan.is_presence_known:
        return population.present.astype(np.uint8)
    return np.ones(population.size, dtype=np.uint8)


def _relabelled(grouping: Grouping, present: NDArray[np.bool_], randomness: Randomness) -> Grouping:
    """The same groups under random numbers, which are written over the old ones: the number of a
    group says nothing about its place.

    Groups without anybody present come behind, so that the others have the numbers of the proof.
    """
    group = grouping.group
    is_shown = occurring(group, grouping.groups, present)
    order = shuffled(grouping.groups, randomness)
    order = np.concatenate([order[is_shown[order]], order[~is_shown[order]]])
    number = np.empty(grouping.groups, dtype=np.int64)
    number[order] = np.arange(grouping.groups)

    def renumber(part: slice) -> None:
        group[part] = number[group[part]]

    side_by_side(renumber, slices(len(group), longest=TOGETHER))
    return Grouping(group, grouping.low[order], grouping.high[order], grouping.is_point[order])
