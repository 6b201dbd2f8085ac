"""Who is in each proposed group and what it holds, from the population alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.model import Population
from serigraph.runtime.ordering import occurrences, order_by


@dataclass(frozen=True)
class Composition:
    """Groups with the values they hold, and the people who are charged for these values.

    Group g has ``people[g]`` people and holds ``value[start[g]:start[g+1]]``, which ascend. An
    adversary who knows ``known`` of its members has ``size[g]`` to choose from. Everybody in a
    group that holds anything is charged: ``charged`` has their places in the population, ascending;
    ``member`` has places in ``charged``, by group.
    """

    people: NDArray[np.int64]
    known: int
    size: NDArray[np.int64]
    start: NDArray[np.int64]
    value: NDArray[np.uint32]
    count: NDArray[np.int64]
    charged: NDArray[np.int64]
    member: NDArray[np.int64]
    member_group: NDArray[np.int64]

    @property
    def pairs(self) -> int:
        """(person, value) pairs that are charged."""
        return int(np.diff(self.start)[self.member_group].sum())

    def group_of(self, entry: NDArray[np.int64]) -> NDArray[np.int64]:
        """The group of each of these entries."""
        return np.searchsorted(self.start, entry, side="right") - 1

    @staticmethod
    def of(
        population: Population, group: NDArray[np.int64], people: NDArray[np.int64], known: int
    ) -> Composition:
        """What groups of this many people hold, ``known`` of each not counted. Where fewer than the
        holders would be left, these are certain. People in groups beyond these hold nothing."""
        holders = np.diff(population.held_start)
        if ((holders > 0) & ~population.present).any():
            raise ImpossibleState("somebody without a record holds a value")
        values = max(len(population.protected), 1)
        key = np.repeat(group, holders) * values + population.held
        entries, count = np.unique(key, return_counts=True)
        start = np.searchsorted(entries, np.arange(len(people) + 1) * values)
        is_held = np.append(start[1:] > start[:-1], False)
        charged = np.flatnonzero(is_held[np.minimum(group, len(people))])
        member = order_by(group[charged])
        size = people - known
        np.maximum.at(size, entries // values, count)
        return Composition(
            people=people,
            known=known,
            size=size,
            start=start,
            value=(entries % values).astype(np.uint32),
            count=count.astype(np.int64),
            charged=charged,
            member=member,
            member_group=group[charged[member]],
        )

    def of_transient(self, population: Population, group: NDArray[np.int64]) -> Composition:
        """The same without values that persist, for which nobody is charged."""
        persists = np.array([value.persists for value in population.protected], dtype=np.bool_)
        if not persists.any():
            return self
        kept = ~persists[population.held]
        lengths = np.concatenate([[0], np.cumsum(kept)])[population.held_start]
        rest = replace(population, held=population.held[kept], held_start=lengths)
        return Composition.of(rest, group, self.people, self.known)

    @staticmethod
    def of_one_group(people: int, values: int) -> Composition:
        """Everybody in one group that holds none of the values, and is charged for all of them."""
        return Composition(
            people=np.ones(1, dtype=np.int64),
            known=0,
            size=np.ones(1, dtype=np.int64),
            start=np.array([0, values]),
            value=np.arange(values, dtype=np.uint32),
            count=np.zeros(values, dtype=np.int64),
            charged=np.arange(people),
            member=np.arange(people),
            member_group=np.zeros(people, dtype=np.int64),
        )


@dataclass(frozen=True)
class Shown:
    """The groups of a proposal that are published, those with a record, numbered from 0 on."""

    group: NDArray[np.int64]  # of everybody; unpublished groups have the highest numbers
    people: NDArray[np.int64]  # in each group
    present: NDArray[np.int64]  # those of them with a record

    @staticmethod
    def of(population: Population, group: NDArray[np.int64]) -> Shown:
        groups = int(group.max(initial=-1)) + 1
        present = occurrences(group, groups, population.present)
        people = occurrences(group, groups)
        shown = int(np.count_nonzero(present))
        if not present[:shown].all():
            # A group without a record is not published; such groups are numbered last.
            order = np.argsort(present == 0, kind="stable")
            number = np.empty_like(order)
            number[order] = np.arange(groups)
            group, present, people = number[group], present[order], people[order]
        return Shown(group, people[:shown], present[:shown])
