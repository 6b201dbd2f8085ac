"""Neighbourhoods of a real table, for the method to be run on in every world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.attacking.evidence import Neighbourhood
from serigraph.engines.interface import Plan
from serigraph.engines.local import formed
from serigraph.engines.suppression import demand_of
from serigraph.grouping import Grouping
from serigraph.model import Past, Population
from serigraph.policy import Policy
from serigraph.runtime.randomness import SeededRandomness

Mechanism = Callable[[Population], NDArray[np.int64] | None]
"""How a table is cut into groups: the group of everybody; None if it cannot be published."""

_PEOPLE = {1: 60, 2: 30}  # in a neighbourhood, by holders: worlds grow with both
_CENTRES = 10  # neighbourhoods of each kind


def our_mechanism(policy: Policy) -> Mechanism | None:
    """How a first release is grouped under a policy. Bucketised groups are dealt by lot, and
    cohorts are formed without values: there is nothing to run."""
    if policy.output.form == "bucketised" or policy.has_persisting_values:
        return None
    plan = Plan(
        label="neighbourhood",
        strategy=policy.strategy_for(),
        form=policy.output.form,
        method=policy.output.method,
        minimum_size=policy.guarantee.minimum_group_size,
        is_presence_known=policy.guarantee.adversary == "presence known",
        allows_suppression=False,
        sensitive=next(iter(policy.sensitive_columns)),
        known_members=policy.guarantee.known_members,
    )

    def groups(population: Population) -> NDArray[np.int64] | None:
        demand = demand_of(population.protected, plan)
        past = Past.none(population.size)
        found = formed(population, past, demand, plan, SeededRandomness(0))
        return found.group.astype(np.int64) if isinstance(found, Grouping) else None

    return groups


def neighbourhoods(
    population: Population, mechanism: Mechanism, ids: pl.Series, draw: np.random.Generator
) -> tuple[Neighbourhood, ...]:
    """People around holders drawn by lot, of whom one or two hold the value of that holder."""
    place = pl.DataFrame({"id": ids}).with_row_index("place")
    asked = pl.DataFrame({"id": population.ids})
    places = asked.join(place, on="id", how="left", maintain_order="left")["place"].to_numpy()
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
            kept = kept[: max(people, holders)]
            inside = np.zeros(population.size, dtype=np.bool_)
            inside[kept] = True
            small = population.subset(inside)
            held = tuple(np.flatnonzero(holds[inside]).tolist())
            if len(held) == holders and mechanism(_world(small, value, held)) is not None:
                found.append(
                    Neighbourhood(places[inside], value, held, _regroup(small, value, mechanism))
                )
    return tuple(found)


def _regroup(
    small: Population, value: int, mechanism: Mechanism
) -> Callable[[tuple[int, ...]], NDArray[np.int64]]:
    def regroup(holders: tuple[int, ...]) -> NDArray[np.int64]:
        found = mechanism(_world(small, value, holders))
        return np.full(small.size, -1) if found is None else found

    return regroup


def _world(small: Population, value: int, holders: tuple[int, ...]) -> Population:
    """The same people, of whom these hold the value, and nobody holds another."""
    is_holder = np.zeros(small.size, dtype=np.int64)
    is_holder[list(holders)] = 1
    return replace(
        small,
        protected=(small.protected[value],),
        held_start=np.concatenate([[0], np.cumsum(is_holder)]).astype(np.int64),
        held=np.zeros(len(holders), dtype=np.int32),
    )
