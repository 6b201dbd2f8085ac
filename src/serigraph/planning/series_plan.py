"""Compares strategies before anything is published."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from serigraph.arguments import real, several, whole
from serigraph.charts import figure
from serigraph.errors import InputRefused
from serigraph.ledger import Reader, Series
from serigraph.model import Past, Population, Standing, ValueOverTime, standing
from serigraph.planning.candidates import Threshold, candidates
from serigraph.planning.comparison import Outset, outlook_of, sampled
from serigraph.planning.outlook import Outlook, ValueFit, fits
from serigraph.planning.persistence import (
    PersistenceCost,
    persistence_costs,
    transient_cost,
)
from serigraph.planning.plots import mean_size_chart, ratio_chart
from serigraph.planning.recommendation import Recommendation, recommend
from serigraph.planning.rehearsal import Expected, rehearse
from serigraph.planning.returning import ReturnRate, return_rate_of
from serigraph.policy import Policy, read_policy
from serigraph.runtime.stages import shows_progress
from serigraph.short_repr import ShortRepr
from serigraph.tables import ProtectedChoice, prepare, read_table
from serigraph.tables.value_list import ValueList

STAGES = ("reading", "recalling", "rehearsing")
_MORE = 5  # times as many people for cohorts: how many wait depends on how many there are


@dataclass(frozen=True, repr=False)
class SeriesPlan(ShortRepr):
    """The outlook of every strategy, and the recommended one; nothing about a person."""

    people: int
    present: int
    releases_so_far: int
    releases_ahead: int
    return_rate: ReturnRate
    rehearsed_people: int
    values: tuple[ValueFit, ...]  # under the policy, the commonest first
    value_list: ValueList  # protected and unprotected values of the table
    over_time: tuple[ValueOverTime, ...]  # what is assumed, and what the people who came back held
    outlooks: tuple[Outlook, ...]  # for transient values, the policy's own first; none without
    recommendation: Recommendation
    costs: tuple[PersistenceCost, ...]  # if all values were transient, permanent, or any

    def _facts(self) -> dict[str, object]:
        return {
            "people": f"{self.people:,}, {self.present:,} of them in the table",
            "releases": f"{self.releases_so_far} so far, {self.releases_ahead} ahead",
            "strategies compared": len(self.outlooks),
            "recommended": self.recommendation.name,
            "because": self.recommendation.reason,
        }

    def _pictures(self) -> str:
        charts = (ratio_chart(self.outlooks), mean_size_chart(self.outlooks))
        return figure(charts if self.outlooks else ())


@shows_progress(STAGES)
def plan(  # one keyword per option of a plan; one straight sequence
    table: Any,
    series: str | os.PathLike[str] | Series,
    *,
    registry: Any = None,
    releases: int | str = 20,
    return_rate: float | str | None = None,
    threshold: Threshold | Sequence[Threshold] = (),
    thresholds: Threshold | Sequence[Threshold] = (),
    lengths: int | str | Sequence[int | str] = (),
    factors: Threshold | Sequence[Threshold] = (),
    minimum_group_size: int | str | None = None,
    query: str = "",
    most_rehearsed: int = 4_000,
    progress: Callable[[str], None] = lambda _stage: None,
) -> SeriesPlan:
    """Compare strategies on the table of the next release; nothing is written.

    ``releases`` is the planned length of the series, including releases already out.
    ``thresholds`` or ``threshold`` (0.5 or "1/2"; an integer is l), ``lengths`` (k' of the constant
    ratio) and ``factors`` (alpha of the geometric strategy), one or several, are tried in all
    combinations, all with ``minimum_group_size``, if it is given, in place of the policy's. A float
    is the decimal number that was typed. Group sizes come from rehearsals of all releases ahead,
    with at most ``most_rehearsed`` people, by the engine that makes real releases.
    """
    releases, rate = whole(releases, "releases"), _share(return_rate)
    most_rehearsed = whole(most_rehearsed, "most_rehearsed", least=1)
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    policy = _with_size(read_policy(opened.path / "policy.toml"), minimum_group_size)
    ledger = opened.reader()
    past = ledger.releases
    if past:
        policy = policy.in_series(past[-1].strategy)
    ahead = releases - len(past)
    if ahead < 1:
        raise InputRefused(
            f"a plan for {releases} releases has none ahead: {len(past)} are already out",
            where=str(opened.path),
            remedy="set releases (--releases) to the total, including those already out",
        )
    progress("reading")
    reading = policy.reading.asking(query)
    rows = read_table(table, reading)
    everybody = None if registry is None else read_table(registry, policy.reading.for_registry())
    choice = ProtectedChoice.from_json(past[-1].protected_json) if past else None
    prepared = prepare(rows, policy, everybody, choice)
    # Rehearsals need no plain columns.
    population = replace(prepared.population, plain=pl.DataFrame())
    progress("recalling")
    returning = return_rate_of(opened, past, population, rate)
    names = [value.name for value in population.protected]
    sample, sampled_history = sampled(
        population, ledger.history(population.ids, names), most_rehearsed
    )
    over_time = ledger.kept_values(names, population).over_time(policy.persistence_of)
    as_transient = _all_transient(sample)
    larger = _all_transient(
        sampled(population, Past.none(population.size), _MORE * most_rehearsed)[0]
    )
    is_transient = np.array([not value.persists for value in population.protected], dtype=np.bool_)
    if not is_transient.all():
        # A strategy is about transient values alone.
        population, sample = population.protecting(is_transient), sample.protecting(is_transient)
        sampled_history = ledger.history(sample.ids, sample.protected_names)
    outset = Outset(
        policy,
        population,
        sample,
        sampled_history,
        _standing(ledger, policy) if past else None,
        ahead,
        returning.rate,
    )
    compared = candidates(
        policy,
        ledger.link_gaps,
        outset.shares,
        releases=releases,
        return_rate=returning.rate,
        thresholds=(*several(threshold), *several(thresholds)),
        lengths=[whole(each, "lengths") for each in several(lengths)],
        factors=several(factors),
    )
    outlooks = []
    for candidate in compared if is_transient.any() or not len(is_transient) else ():
        progress("rehearsing")
        outlooks.append(outlook_of(candidate, outset))
    progress("rehearsing")
    costs = _costs(
        larger,
        policy,
        outlooks[0].expected
        if outlooks and is_transient.all()
        else rehearse(
            as_transient,
            Past.none(as_transient.size),
            compared[0].section.strategy,
            outset.stage,
            releases=ahead,
            return_rate=returning.rate,
        ),
        has_registry=registry is not None,
        releases=ahead,
        return_rate=returning.rate,
    )
    return SeriesPlan(
        people=population.size,
        present=int(population.present.sum()),
        releases_so_far=len(past),
        releases_ahead=ahead,
        return_rate=returning,
        rehearsed_people=sample.size,
        values=fits(population, compared[0], outset.cover),
        value_list=prepared.value_list,
        over_time=over_time,
        outlooks=tuple(outlooks),
        recommendation=recommend(outlooks, str(policy.threshold))
        if outlooks
        else Recommendation(compared[0].name, "No value is transient.", compared[0].toml),
        costs=costs,
    )


def _share(given: float | str | None) -> float | None:
    rate = None if given is None else real(given, "return_rate")
    if rate is not None and not 0 <= rate <= 1:
        raise InputRefused(
            "the return rate must be between 0 and 1", remedy="correct --return-rate"
        )
    return rate


def _with_size(policy: Policy, given: int | str | None) -> Policy:
    if given is None:
        return policy
    size = whole(given, "minimum_group_size")
    if size < 1:
        raise InputRefused("a group has at least one member", remedy="give a larger size, or none")
    guarantee = policy.guarantee.model_copy(update={"minimum_group_size": size})
    return policy.model_copy(update={"guarantee": guarantee})


def _all_transient(population: Population) -> Population:
    protected = (replace(value, persistence="transient") for value in population.protected)
    return replace(population, protected=tuple(protected))


def _costs(
    sample: Population,
    policy: Policy,
    expected: Sequence[Expected],
    *,
    has_registry: bool,
    releases: int,
    return_rate: float,
) -> tuple[PersistenceCost, ...]:
    """What each choice of persistence costs."""
    return (
        transient_cost(expected, releases),
        *persistence_costs(
            sample,
            policy,
            has_registry=has_registry,
            releases=releases,
            return_rate=return_rate,
        ),
    )


def _standing(ledger: Reader, policy: Policy) -> Standing:
    names = ledger.transient_names()
    return standing(ledger.history_of_all(names), [policy.threshold_of(name) for name in names])
