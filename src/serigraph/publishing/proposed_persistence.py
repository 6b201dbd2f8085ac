"""Which values a first policy should take as transient, from several tables of the same people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from serigraph.errors import TableError
from serigraph.model import Attendance, KeptValues, ValueOverTime, recurrences
from serigraph.policy import Persistence, Policy
from serigraph.tables.people import read_ids, read_values, repeated_people

# What is proposed for values of which nothing is known.
UNKNOWN_PERSISTENCE: Persistence = "transient"


def values_in_tables(
    tables: Sequence[pl.DataFrame], policy: Policy, names: Sequence[str]
) -> tuple[ValueOverTime, ...]:
    """How often people hold each of some values again, over tables of different times in order."""
    sources = {f"table {number}": table for number, table in enumerate(tables, 1)}
    needed = (policy.person.id, policy.sensitive.column)
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
