"""Which values a proposed policy protects, for how many releases, and what it assumes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from serigraph.policy import Persistence, Policy
from serigraph.publishing.first_plan import FirstPlan, first_plan, first_plans
from serigraph.publishing.proposed_numbers import Nearby
from serigraph.publishing.proposed_persistence import (
    ProposedPersistence,
    proposed_persistence,
    values_in_tables,
)
from serigraph.texts import qualified


def planned(
    tables: Sequence[pl.DataFrame],
    policy: Policy,
    holders: pl.DataFrame,
    people: int,
    stated: Persistence | None,
    releases: int,
) -> tuple[FirstPlan, ProposedPersistence]:
    """Which values to protect, and what to assume of them over time; with several ``tables`` it is
    measured."""
    column = policy.only_column.column
    measured = values_in_tables(tables, policy, holders["value"].to_list()) if tables else ()
    may_pass = stated == "transient" or (stated is None and tables)
    plan = first_plan(holders, people, column, asked=releases if may_pass else 0)
    proposed = proposed_persistence(
        stated, tuple(each for each in measured if each.name not in plan.excepted)
    )
    if proposed.persists:
        plan = first_plan(holders, people, column, persists=True)
        more = tuple(each for each in measured if each.name not in plan.excepted)
        proposed = replace(proposed, over_time=more)
    return plan, proposed


def planned_of_several(
    tables: Sequence[pl.DataFrame],
    policy: Policy,
    found: Mapping[str, tuple[pl.DataFrame, int]],
    near: Mapping[str, Nearby | None],
    asked: tuple[Persistence | None, int],
) -> tuple[dict[str, FirstPlan], ProposedPersistence, set[str]]:
    """Which values of each column to protect, what to assume of all of them over time, and the
    columns in which closeness is protected. ``asked`` are what the publisher states of values over
    time, and for how many releases to plan."""
    stated, releases = asked
    may_pass = stated == "transient" or (stated is None and len(tables) > 1)
    releases = releases if may_pass else 0
    plans = first_plans(found, asked=releases)
    measured = [
        replace(each, name=qualified(name, each.name))
        for name, (holders, _) in found.items()
        if len(tables) > 1
        for each in values_in_tables(tables, policy.of_column(name), holders["value"].to_list())
        if each.name not in plans[name].excepted
    ]
    proposed = proposed_persistence(stated, tuple(measured))
    if proposed.persists:
        return first_plans(found, persists=True), proposed, set()
    close = {} if measured else {name: each for name, each in near.items() if each and each.width}
    if close:
        filled = {name: (_fullest(each), each.all_people) for name, each in close.items()}
        plans = first_plans({**found, **filled}, asked=releases)
    return plans, proposed, set(close)


def plan_of_nearby(near: Nearby, column: str, releases: int) -> FirstPlan:
    return first_plan(_fullest(near), near.all_people, column, asked=releases)


def _fullest(near: Nearby) -> pl.DataFrame:
    """How many people an interval has, as if it was a value."""
    return pl.DataFrame({"value": ["interval"], "people": [near.fullest]})
