"""What the ledger knows of the people of one release, as arrays.

The ledger is factorised: who was in which group, and what the group held. Exposures of a person
to a value are read off by walking the person's past groups. What groups held is factorised once
more: few exposures differ in value, count or size, so that a group is a list of their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.ordering import ranked

Numbers = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True)
class Past:
    """Past groups of each person and the composition of each past group.

    What a past group held is a list: how many exposures, and behind that their numbers, ascending
    by value. Lists of groups that held a protected value follow each other in ``lists``;
    ``groups[i, j]`` is where that of the group of person i (its place in the population) in past
    release j begins, or -1. Whoever walks through the past waits for memory, and so finds all that
    it needs of a group in one place.

    Exposure e is to ``value[e]`` (an index into the population's protected values; values that
    nobody holds now are left out), with ``count[e]`` holders among ``size[e]`` people.
    """

    groups: NDArray[np.integer]  # one row a person, one column a past release
    lists: NDArray[np.integer]  # as narrow as can be: there are many
    value: NDArray[np.int32]
    count: NDArray[np.int64]
    size: NDArray[np.int64]  # the people that the adversary has to choose from

    @property
    def releases(self) -> int:
        return int(self.groups.shape[1])

    @staticmethod
    def none(people: int) -> Past:
        """The history of people before the first release."""
        return Past.of_groups(np.empty((people, 0), dtype=np.int32), [], [], [], [])

    @staticmethod
    def of_groups(
        group: NDArray[np.integer], lengths: Numbers, value: Numbers, count: Numbers, size: Numbers
    ) -> Past:
        """A history from what each past group held; see ``Exposures.of``. Groups are numbered
        through, and ``group`` has those of each person, or -1."""
        return Past.of_exposures(group, lengths, [Exposures.of(lengths, value, count, size)])

    @staticmethod
    def of_exposures(
        group: NDArray[np.integer], lengths: Numbers, pieces: Sequence[Exposures]
    ) -> Past:
        """A history from what the groups held, piece by piece, in the order of the groups."""
        together = Exposures.together(pieces)
        numbers = np.split(together.number, np.cumsum([len(each) for each in pieces])[:-1])
        exposure = np.concatenate(
            [number[each.number] for number, each in zip(numbers, pieces, strict=True)]
        )
        begin, lists = lists_of(np.asarray(lengths, dtype=np.int64), exposure)
        # Whoever was in no group is in the last one here, which is none.
        begin = np.append(begin, -1).astype(kind_of_places(len(lists)))
        return Past(
            groups=np.ascontiguousarray(begin[group]),
            lists=lists.astype(kind_of_numbers(len(together))),
            value=together.value,
            count=together.count,
            size=together.size,
        )

    def after(self, releases: int) -> Past:
        """The same with so many releases before it that had nobody of these people."""
        if not releases:
            return self
        before = np.full((len(self.groups), releases), -1, dtype=self.groups.dtype)
        return replace(self, groups=np.hstack([before, self.groups]))

    def subset(self, kept: NDArray[Any]) -> Past:
        """The history of some of the people only."""
        return replace(self, groups=self.groups[kept])

    def held(self, groups: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
        """How many exposures each of these past groups has, and their numbers, group by group."""
        lengths = self.lists[groups].astype(np.int64)
        skipped = groups + 1 - (np.cumsum(lengths) - lengths)
        return lengths, self.lists[np.repeat(skipped, lengths) + np.arange(lengths.sum())]

    def numbered(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.integer]]:
        """The group of each person in each release, numbered through, or -1; how many exposures
        each group has, and their numbers, group by group."""
        is_in = self.groups >= 0
        groups, place = ranked(self.groups[is_in])
        number = np.full(self.groups.shape, -1, dtype=np.int32)
        number[is_in] = place
        return number, *self.held(groups)


def lists_of(
    lengths: NDArray[np.int64], entries: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Lists of these lengths, one behind the other, each behind its length; and where they begin.

    >>> [array.tolist() for array in lists_of(np.array([1, 2]), np.array([7, 8, 9]))]
    [[0, 2], [1, 7, 2, 8, 9]]
    """
    begin = np.cumsum(lengths) - lengths + np.arange(len(lengths))
    lists = np.empty(len(lengths) + len(entries), dtype=entries.dtype)
    is_entry = np.ones(len(lists), dtype=np.bool_)
    is_entry[begin] = False
    lists[begin], lists[is_entry] = lengths, entries
    return begin, lists


def kind_of_places(entries: int) -> type[np.signedinteger[Any]]:
    """The type that tells where lists begin, of so many entries all together."""
    return np.int32 if entries < 2**31 else np.int64


def kind_of_numbers(exposures: int) -> type[np.integer]:
    """The type that tells so many exposures apart, and how many of them a group has."""
    return np.uint16 if exposures < 2**16 else np.int32


@dataclass(frozen=True)
class DistinctExposures:
    """Exposures that all differ, each with its value, its count and its size."""

    value: NDArray[np.int32]
    count: NDArray[np.int64]
    size: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True)
class Exposures(DistinctExposures):
    """What groups held, as numbers of exposures that all differ."""

    number: NDArray[np.integer]  # for each value in each group

    @staticmethod
    def of(lengths: Numbers, value: Numbers, count: Numbers, size: Numbers) -> Exposures:
        """Number what groups held. Each has a length and a size; values and counts follow group by
        group.

        >>> exposures = Exposures.of([2, 1], [3, 5, 3], [1, 1, 1], [9, 9])
        >>> exposures.number.tolist(), exposures.value.tolist(), exposures.size.tolist()
        ([0, 1, 0], [3, 5], [9, 9])
        """
        sizes, of_group = ranked(np.asarray(size, dtype=np.int64))
        counts, of_count = ranked(np.asarray(count, dtype=np.int64))
        # Most groups hold most values once, and few sizes are frequent: numbers of what occurs most
        # lie side by side, so that what is known of it stays in a processor's cache.
        key = of_count * np.int64(len(sizes))
        key += np.repeat(of_group, lengths)
        values = int(np.max(value, initial=0)) + 1
        key *= values
        key += np.asarray(value, dtype=np.int64)
        keys, number = ranked(key)
        left, value_at = np.divmod(keys, values)
        count_at, size_at = np.divmod(left, max(len(sizes), 1))
        return Exposures(value_at.astype(np.int32), counts[count_at], sizes[size_at], number)

    @staticmethod
    def together(pieces: Sequence[DistinctExposures]) -> Exposures:
        """The exposures that differ over several pieces, and the number of each of each piece."""
        value = np.concatenate([each.value for each in pieces])
        return Exposures.of(
            np.ones(len(value), dtype=np.int64),
            value,
            np.concatenate([each.count for each in pieces]),
            np.concatenate([each.size for each in pieces]),
        )
