"""Neighbourhoods of a real table, for the method to be run on in every world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import Neighbourhood
from serigraph.engines.interface import Plan, largest_shares
from serigraph.engines.local import formed
from serigraph.engines.suppression import demand_of
from serigraph.grouping import Grouping
from serigraph.ledger import Reader, ReleaseRecord
from serigraph.ledger.layout import Layout
from serigraph.model import Past, Population
from serigraph.policy import Policy
from serigraph.privacy.strategies import Strategy
from serigraph.runtime.randomness import SeededRandomness
from serigraph.tables import ProtectedChoice, prepare, read_table

Mechanism = Callable[[Population, Past], NDArray[np.int64] | None]
"""How people with a past are put into groups: the group of each; None if that is impossible."""

_PEOPLE = {1: 60, 2: 30}  # in a neighbourhood, by holders: worlds grow with both
_CENTRES = 50  # neighbourhoods of each kind


def neighbourhoods_of_latest(
    layout: Layout,
    releases: Sequence[ReleaseRecord],
    policy: Policy,
    table: Any,
    registry: Any,
    draw: np.random.Generator,
) -> tuple[Neighbourhood, ...] | str:
    """Neighbourhoods of the latest release of a series, whose people have the past that they had
    when it was made; or why there are none."""
    if policy.has_persisting_values:
        return "groups are unions of cohorts, which are formed without looking at values"
    if policy.output.form == "bucketised" and policy.output.groups == "interleaved":
        return "groups that interleave are dealt by lot: no world gives the same ones again"
    population, past, mechanism = latest_problem(layout, releases, policy, table, registry)
    return neighbourhoods(population, past, mechanism, draw)


def latest_problem(
    layout: Layout, releases: Sequence[ReleaseRecord], policy: Policy, table: Any, registry: Any
) -> tuple[Population, Past, Mechanism]:
    """The people of the latest release, their past, and how they were put into groups."""
    before = tuple(releases[:-1])
    known = ProtectedChoice.from_json(before[-1].protected_json) if before else None
    listed = None if registry is None else read_table(registry, policy.reading.for_registry())
    prepared = prepare(read_table(table, policy.reading), policy, listed, known)
    population, reader = prepared.population, Reader(layout, before)
    if before:
        policy = policy.in_series(before[-1].strategy)
    present = int(np.count_nonzero(population.present))
    shares = largest_shares(prepared.value_list, present, population.size, policy)
    strategy = policy.strategy_for(reader.link_gaps, shares)
    past = reader.history(population.ids, population.protected_names)
    if policy.guarantee.adversary == "presence known":
        past = past.subset(population.present)
        population = population.subset(population.present)
    return population, past, our_mechanism(policy, strategy)


def our_mechanism(policy: Policy, strategy: Strategy) -> Mechanism:
    """How people are put into regions under a policy."""
    plan = Plan(
        label="neighbourhood",
        strategy=strategy,
        form=policy.output.form,
        groups=policy.output.groups,
        method=policy.output.method,
        minimum_size=policy.guarantee.minimum_group_size,
        is_presence_known=policy.guarantee.adversary == "presence known",
        allows_suppression=False,
        sensitive="",  # regions do not depend on the names of columns
        known_members=policy.guarantee.known_members,
        blind=policy.guarantee.is_blind,
    )

    def groups(population: Population, past: Past) -> NDArray[np.int64] | None:
        demand = demand_of(population.protected, plan)
        found = formed(population, past, demand, plan, SeededRandomness(0))
        return found.group.astype(np.int64) if isinstance(found, Grouping) else None

    return groups


def neighbourhoods(
    population: Population, past: Past, mechanism: Mechanism, draw: np.random.Generator
) -> tuple[Neighbourhood, ...]:
    """People around holders drawn by lot, of whom one or two hold the value of that holder."""
    at = np.stack(
        [
            domain.positions()[codes]
            for domain, codes in zip(population.domains, population.codes, strict=True)
        ]
    )
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    found = []
    for holders, people in _PEOPLE.items():
        number = min(_CENTRES, len(holder))
        for chosen in draw.choice(len(holder), number, replace=False).tolist():
            value = int(population.held[chosen])
            distance = ((at - at[:, [int(holder[chosen])]]) ** 2).sum(axis=0)
            holds = np.isin(np.arange(population.size), holder[population.held == value])
            near = np.argsort(distance, kind="stable")
            kept = np.concatenate([near[holds[near]][:holders], near[~holds[near]]])
            inside = np.zeros(population.size, dtype=np.bool_)
            inside[kept[:people]] = True
            regroup = _regroup(population.subset(inside), past.subset(inside), value, mechanism)
            held = tuple(np.flatnonzero(holds[inside]).tolist())
            if len(held) == holders and (regroup(held) >= 0).all():
                found.append(Neighbourhood(np.flatnonzero(inside), value, held, regroup))
    return tuple(found)


def _regroup(
    small: Population, past: Past, value: int, mechanism: Mechanism
) -> Callable[[tuple[int, ...]], NDArray[np.int64]]:
    @cache  # several attacks ask for the same worlds
    def regroup(holders: tuple[int, ...]) -> NDArray[np.int64]:
        found = mechanism(_world(small, value, holders), past)
        return np.full(small.size, -1) if found is None else found

    return regroup


def _world(small: Population, value: int, holders: tuple[int, ...]) -> Population:
    """The same people, of whom these hold the value, and nobody holds another."""
    is_holder = np.zeros(small.size, dtype=np.int64)
    is_holder[list(holders)] = 1
    return replace(
        small,
        held_start=np.concatenate([[0], np.cumsum(is_holder)]).astype(np.int64),
        held=np.full(len(holders), value, dtype=np.int32),
    )
