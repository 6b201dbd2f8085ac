"""What a first policy assumes of values over time: what the publisher states, what several tables
of the same people show, and otherwise nothing.

Without a registry, transient values cannot stand beside values that persist. So a policy that can
be published with the table alone takes all values in one of the two ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import polars as pl

from serigraph.errors import InputRefused, TableError
from serigraph.model import Attendance, KeptValues, ValueOverTime, recurrences
from serigraph.policy import Persistence, Policy
from serigraph.tables.people import read_ids, read_values, repeated_people

# What is proposed for values of which nothing is known.
UNKNOWN_PERSISTENCE: Persistence = "any"


@dataclass(frozen=True)
class ProposedPersistence:
    """What a policy says of its values over time, and why."""

    default: Persistence
    reason: str  # of the default
    stated: Persistence | None  # by the publisher
    over_time: tuple[ValueOverTime, ...] = ()  # what tables of other times show

    @property
    def persists(self) -> bool:
        """Whether the policy's values are kept by cohorts."""
        return self.default != "transient"

    @property
    def kept(self) -> list[str]:
        """The values that the tables show to persist."""
        return [each.name for each in self.over_time if each.contradicts]

    @property
    def passing(self) -> list[str]:
        """The values that the tables show to pass."""
        return [each.name for each in self.over_time if each.is_telling and not each.contradicts]


def proposed_persistence(
    stated: Persistence | None, over_time: tuple[ValueOverTime, ...]
) -> ProposedPersistence:
    """What to propose; ``over_time`` has every protected value, or nothing was measured."""

    def because(default: Persistence, reason: str) -> ProposedPersistence:
        return ProposedPersistence(default, reason, stated, over_time)

    if stated is not None and stated not in get_args(Persistence):
        raise InputRefused(
            "no such persistence",
            where="persistence",
            remedy='state "transient", "permanent" or "any", or leave it out',
        )
    if stated == "transient" and any(each.contradicts for each in over_time):
        return because("any", "stated as transient by the publisher, but some persist, see below")
    if stated is not None:
        return because(stated, "stated by the publisher")
    if over_time and all(each.is_telling and not each.contradicts for each in over_time):
        return because("transient", "as all values of the tables are, see below")
    return because(UNKNOWN_PERSISTENCE, "nothing else is known of values not named here")


def values_in_tables(
    tables: Sequence[pl.DataFrame], policy: Policy, names: Sequence[str]
) -> tuple[ValueOverTime, ...]:
    """How often people hold each of some values again, over tables of different times in order."""
    sources = {f"table {number}": table for number, table in enumerate(tables, 1)}
    needed = (policy.person.id, policy.only_column.column)
    problems = [
        f"{source}: column {name!r} is missing"
        for source, table in sources.items()
        for name in needed
        if name not in table.columns
    ]
    if problems:
        raise _refused(problems)
    ids, problems = read_ids({source: each[needed[0]] for source, each in sources.items()}, policy)
    held = {}
    for source, table in sources.items():
        held[source], wrong = read_values(table[needed[1]], policy)
        problems += [f"{source}: {each}" for each in wrong]
        problems += repeated_people(ids[source], source, policy)
    if problems:
        raise _refused(problems)
    found = recurrences(_attendances(ids, held, sorted(names)), len(names))
    kept = KeptValues(dict(zip(sorted(names), found, strict=True)))
    return kept.over_time(lambda _name: UNKNOWN_PERSISTENCE)


def _attendances(
    ids: Mapping[str, pl.Series], held: Mapping[str, pl.DataFrame], names: Sequence[str]
) -> list[Attendance]:
    """Who is in each table and holds what, with everybody numbered by id."""
    everybody = pl.concat([each.alias("id") for each in ids.values()]).unique().sort()
    found = []
    for source, own in ids.items():
        number = everybody.search_sorted(own).to_numpy().astype(np.int64)
        code = held[source]["value"].cast(pl.String).cast(pl.Enum(names), strict=False)
        pairs = pl.DataFrame(
            {
                "person": number[held[source]["row"].to_numpy()],
                "value": code.to_physical().cast(pl.Int64),
            }
        )
        pairs = pairs.drop_nulls().unique()  # a person may have several rows
        found.append(
            Attendance(np.unique(number), pairs["person"].to_numpy(), pairs["value"].to_numpy())
        )
    return found


def _refused(problems: Sequence[str]) -> TableError:
    return TableError(
        "the tables cannot be compared",
        where="--from is table 1, --also the next ones",
        remedy="give tables of the same people, with the same columns, at different times",
        problems=problems,
    )
