"""Quasi-identifiers that would name most people if they were published as they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from serigraph.errors import PolicyError
from serigraph.model import Population
from serigraph.policy import Policy
from serigraph.tables.rows import counted

FEWEST = 100  # people; in a smaller table every column is nearly unique


def is_mostly_unique(unique: int, people: int) -> bool:
    """Whether at least half of the people have a value that nobody else has.

    >>> is_mostly_unique(50, 100), is_mostly_unique(49, 100), is_mostly_unique(99, 99)
    (True, False, False)
    """
    return people >= FEWEST and 2 * unique >= people


def columns_in_question(policy: Policy, distinct: Mapping[str, int], people: int) -> list[str]:
    """The columns whose exact values the release may show though the policy does not say so, and
    that have enough ``distinct`` values to be mostly unique.

    A generalised group of two people or more never shows a value that only one of them has.
    """
    if policy.output.form == "generalised" and policy.guarantee.minimum_group_size > 1:
        return []
    return [
        name
        for name, column in policy.quasi_identifiers.items()
        if column.unique_values == "error" and is_mostly_unique(distinct[name], people)
    ]


def check_unique_columns(population: Population, policy: Policy, where: str) -> None:
    """Refuse exact output of columns whose values are mostly unique among the people of the table,
    whatever a registry adds."""
    people = int(np.count_nonzero(population.present))
    numbers = {domain.name: number for number, domain in enumerate(population.domains)}
    distinct = {domain.name: domain.size for domain in population.domains}
    refuse_unique(
        {
            name: _own_values(population.codes[numbers[name], population.present])
            for name in columns_in_question(policy, distinct, people)
        },
        people,
        policy,
        where,
    )


def _own_values(codes: NDArray[np.int32]) -> int:
    """How many people have a code that nobody else has."""
    return int(np.count_nonzero(np.bincount(codes) == 1))


def refuse_unique(unique: Mapping[str, int], people: int, policy: Policy, where: str) -> None:
    """Refuse the columns that are mostly unique, of which so many people have a value of their
    own."""
    refused = {name: own for name, own in unique.items() if is_mostly_unique(own, people)}
    if not refused:
        return
    groups = "minimum_group_size = 5 or more in [guarantee]"
    if policy.output.form == "bucketised":
        groups = f'form = "generalised" in [output] with {groups}'
    raise PolicyError(
        f"{counted(len(refused), 'quasi-identifier')} would be published exactly, though most "
        "values belong to one person only",
        where=where,
        remedy=f"set {groups}; leave the column out or make it coarser, a year for a date; or "
        'write unique_values = "publish" in its section to publish it all the same',
        problems=[
            f"column {name!r}: {own:,} of {people:,} people have a value that nobody else has"
            for name, own in refused.items()
        ],
    )
