"""Possible worlds, one by one: slow, obvious, and free of the mathematics that it checks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product

World = tuple[dict[str, Hashable], ...]  # who holds what, in each release


@dataclass(frozen=True)
class Group:
    """An anonymised group: its people, and the multiset of values that is published for them."""

    people: tuple[str, ...]
    values: tuple[Hashable, ...]


Series = tuple[tuple[Group, ...], ...]  # the groups of each release


def group_of(values: str, people: str = "") -> Group:
    """A group from one letter a value; the people are o, p, q, ... unless they are named."""
    names = people or "opqrstuvwxyz"[: len(values)]
    return Group(tuple(names), tuple(values))


def worlds(series: Series) -> Iterator[World]:
    """Every way to give the published values back to the people (Definition 1)."""
    yield from product(*(_worlds_of_table(table) for table in series))


def own_groups(series: Series, person: str) -> Series:
    """The groups of one person alone (Definitions 3 and 4)."""
    return tuple(tuple(group for group in table if person in group.people) for table in series)


def number_of_worlds(series: Series) -> int:
    return sum(1 for _ in worlds(series))


def breach_probability(series: Series, person: str, value: Hashable) -> Fraction:
    """The share of worlds that link the person to the value at least once (Definition 2)."""
    return _share(
        any(_is_linked(table, person, value) for table in world) for world in worlds(series)
    )


def localised_probability(series: Series, person: str, value: Hashable, j: int) -> Fraction:
    """The share of worlds that link the person to the value in release j, counted from 1."""
    return _share(_is_linked(world[j - 1], person, value) for world in worlds(series))


def _worlds_of_table(table: tuple[Group, ...]) -> list[dict[str, Hashable]]:
    choices = [
        [dict(zip(group.people, values, strict=True)) for values in set(permutations(group.values))]
        for group in table
    ]
    return [
        {who: held for part in parts for who, held in part.items()} for parts in product(*choices)
    ]


def _is_linked(table: dict[str, Hashable], person: str, value: Hashable) -> bool:
    held = table.get(person)
    return value in held if isinstance(held, frozenset) else held == value


def _share(verdicts: Iterator[bool]) -> Fraction:
    counted = list(verdicts)
    return Fraction(sum(counted), len(counted))
