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
    adversary who knows ``known[g]`` of its members not to hold them has ``size[g]`` to choose from.
    Everybody in a
    group that holds anything is charged: ``charged`` has their places in the population, ascending;
    ``member`` has places in ``charged``, by group.
    """

    people: NDArray[np.int64]
    known: NDArray[np.int64]
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
        population: Population,
        group: NDArray[np.int64],
        people: NDArray[np.int64],
        known: NDArray[np.int64] | int,
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
            known=np.broadcast_to(np.asarray(known, dtype=np.int64), people.shape),
            size=size,
            start=start,
            value=(entries % values).astype(np.uint32),
            count=count.astype(np.int64),
            charged=charged,
            member=member,
            member_group=group[charged[member]],
        )

    @staticmethod
    def of_one_group(people: int, values: int) -> Composition:
        """Everybody in one group that holds none of the values, and is charged for all of them."""
        return Composition(
            people=np.ones(1, dtype=np.int64),
            known=np.zeros(1, dtype=np.int64),
            size=np.ones(1, dtype=np.int64),
            start=np.array([0, values]),
            value=np.arange(values, dtype=np.uint32),
            count=np.zeros(values, dtype=np.int64),
            charged=np.arange(people),
            member=np.arange(people),
            member_group=np.zeros(people, dtype=np.int64),
        )


def without_persisting(population: Population) -> Population:
    """The same people without what they hold of values that persist, for which nobody is charged;
    the others are numbered among themselves."""
    persists = np.array([value.persists for value in population.protected], dtype=np.bool_)
    if not persists.any():
        return population
    kept = ~persists[population.held]
    number = np.cumsum(~persists) - 1
    return replace(
        population,
        held=number[population.held[kept]].astype(population.held.dtype),
        held_start=np.concatenate([[0], np.cumsum(kept)])[population.held_start],
        protected=tuple(value for value in population.protected if not value.persists),
    )


@dataclass(frozen=True)
class Shown:
    """The groups of a proposal that are published, numbered from 0 on: those with a record, and
    where people stay together all."""

    group: NDArray[np.int64]  # of everybody; unpublished groups have the highest numbers
    people: NDArray[np.int64]  # in each group
    present: NDArray[np.int64]  # those of them with a record

    @staticmethod
    def of(population: Population, group: NDArray[np.int64], shows_all: bool = False) -> Shown:
        groups = int(group.max(initial=-1)) + 1
        present = occurrences(group, groups, population.present)
        people = occurrences(group, groups)
        is_shown = (people if shows_all else present) > 0
        shown = int(np.count_nonzero(is_shown))
        if not is_shown[:shown].all():
            # Groups that are not published are numbered last.
            order = np.argsort(~is_shown, kind="stable")
            number = np.empty_like(order)
            number[order] = np.arange(groups)
            group, present, people = number[group], present[order], people[order]
        return Shown(group, people[:shown], present[:shown])
