"""Rehearsals: future releases made in memory, one after another, to see what groups to expect.

A sample of the people goes through the real engine. People who return keep their values. Those who
do not are replaced: with a registry, an absent person takes over the record; without one, a
newcomer has the same quasi-identifiers and values but no past.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.engines import Plan, make_release
from serigraph.engines.earlier_releases import remembered
from serigraph.engines.interface import Groups
from serigraph.errors import PromiseError
from serigraph.model import (
    Compositions,
    Past,
    Population,
    Proof,
    link_gaps,
    shares_of,
)
from serigraph.privacy.link_chances import LinkGaps
from serigraph.privacy.strategies import Strategy
from serigraph.runtime.ordering import distinct
from serigraph.runtime.randomness import SeededRandomness

StrategyOf = Callable[[Callable[[], LinkGaps], Mapping[str, float]], Strategy]
"""The strategy, given the links of the series so far and the shares of people who may hold a value;
``StrategyForm.strategy`` is one."""


@dataclass(frozen=True)
class Expected:
    """The figures of one rehearsed release."""

    mean_size: float  # of the groups with a protected value
    largest_size: int
    suppressed_share: float  # of the protected values that people hold
    lost_precision: float  # mean normalised width
    withheld_share: float = 0.0  # of the records
    alone_share: float = 0.0  # of the people, who are the only member of their group


@dataclass(frozen=True)
class Stage:
    """How releases are made, apart from strategy and threshold."""

    form: str
    method: str
    minimum_size: int
    is_presence_known: bool
    sensitive: str
    known_members: int = 0
    groups: Groups = "interleaved"
    blind: bool = False


def rehearse(
    population: Population,
    history: Past,
    strategy_of: StrategyOf,
    stage: Stage,
    *,
    releases: int,
    return_rate: float,
    seed: int = 1,
) -> tuple[Expected, ...]:
    """The next ``releases`` releases; fewer if at some point nothing more can be published.

    Before each, the strategy is asked for anew, given the links so far and the shares of people who
    may hold a value.
    """
    draw = np.random.default_rng(seed)
    names = [value.name for value in population.protected]
    found: list[Expected] = []
    for number in range(releases):
        plan = Plan(
            label=f"rehearsal {number + 1}",
            strategy=strategy_of(
                partial(link_gaps, history, len(names)),
                shares_of(
                    population,
                    presence_known=stage.is_presence_known,
                    known_members=stage.known_members,
                ),
            ),
            form="bucketised" if stage.form == "bucketised" else "generalised",
            method="bottom-up" if stage.method == "bottom-up" else "top-down",
            minimum_size=stage.minimum_size,
            is_presence_known=stage.is_presence_known,
            allows_suppression=True,
            sensitive=stage.sensitive,
            known_members=stage.known_members,
            groups=stage.groups,
            blind=stage.blind,
        )
        try:
            earlier = remembered(population.ids, names, history)
            made = make_release(population, history, earlier, plan, SeededRandomness(seed + number))
        except PromiseError:
            break  # the budget is used up, or everything would be suppressed
        linked = distinct(made.proof.value_group)
        sizes = made.proof.size[linked] if len(linked) else np.zeros(1, dtype=np.int64)
        found.append(
            Expected(
                mean_size=float(sizes.mean()),
                largest_size=int(sizes.max()),
                suppressed_share=sum(gap.missing for gap in made.proof.gaps)
                / max(len(population.held), 1),
                lost_precision=float(np.mean(list(made.widths.values()))),
                withheld_share=1 - int(made.proof.present.sum()) / max(len(population.values), 1),
                alone_share=int(np.count_nonzero(made.proof.size == 1))
                / max(len(made.proof.ids), 1),
            )
        )
        history = _after(history, made.proof, population, stage)
        population = replace(population, protected=made.population.protected)
        population, history = _next(population, history, return_rate, draw)
    return tuple(found)


def _after(history: Past, proof: Proof, population: Population, stage: Stage) -> Past:
    """The history with one more release."""
    names = pl.Enum([value.name for value in population.protected])
    value = proof.value_name.cast(names).to_physical().to_numpy().astype(np.int32)
    order = np.lexsort((value, proof.value_group))
    of_entry = proof.value_group[order].astype(np.int64)
    kept, lengths = np.unique(of_entry, return_counts=True)
    number = np.full(len(proof.size), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept))
    now = np.full(population.size, -1, dtype=np.int32)
    now[population.ids.search_sorted(proof.ids).to_numpy()] = number[proof.group]
    people = (proof.present_size if stage.is_presence_known else proof.size)[kept]
    chosen_from = people - stage.known_members
    held = Compositions.of(lengths, value[order], proof.value_count[order], chosen_from)
    return history.compacted().followed_by(now, held)


def _next(
    population: Population, history: Past, return_rate: float, draw: np.random.Generator
) -> tuple[Population, Past]:
    """The people and the past of the next release."""
    present = np.flatnonzero(population.present)
    leaving = present[draw.random(len(present)) >= return_rate]
    absent = np.flatnonzero(~population.present)
    if not len(absent):
        group = history.group.copy()
        group[leaving] = -1
        return population, replace(history, group=group)
    number = min(len(leaving), len(absent))
    leaving = draw.permutation(leaving)[:number]
    coming = draw.permutation(absent)[:number]
    source = np.arange(population.size)
    source[leaving], source[coming] = coming, leaving
    return records_of(population, source), history


def records_of(population: Population, source: NDArray[np.int64]) -> Population:
    """Person i gets the record of ``source[i]``, and keeps its own quasi-identifiers."""
    lengths = np.diff(population.held_start)[source]
    begin = population.held_start[source]
    ends = np.cumsum(lengths)
    present = population.present[source]
    number = np.cumsum(population.present) - 1  # of each person's record
    within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    return replace(
        population,
        present=present,
        held_start=np.concatenate([[0], ends]).astype(np.int64),
        held=population.held[np.repeat(begin, lengths) + within],
        values=population.values.gather(number[source[present]]),
    )
