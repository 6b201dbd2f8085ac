"""What the ledger knows of the people of one release, as arrays.

The ledger is factorised: who was in which group, and what the group held. Exposures of a person
to a value are read off by walking the person's past groups. What groups held is factorised once
more: few exposures differ in value, count or size, so that a group is a list of their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from serigraph.population.ordering import ranked

Numbers = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True)
class History:
    """Past groups of each person and the composition of each past group.

    Past groups of all releases are numbered through; only groups that held a protected value are
    kept. ``groups[i, j]`` is the group of person i (its place in the population) in past release j,
    or -1. Group g exposed its members to ``exposure[start[g]:start[g+1]]``, ascending by value.
    Exposure e is to ``value[e]`` (an index into the population's protected values; values that
    nobody holds now are left out), with ``count[e]`` holders among ``size[e]`` people.
    """

    groups: NDArray[np.int32]  # one row a person, one column a past release
    start: NDArray[np.integer]  # as narrow as can be, as the next: there are many of both
    exposure: NDArray[np.integer]
    value: NDArray[np.int32]
    count: NDArray[np.int64]
    size: NDArray[np.int64]  # the people that the adversary has to choose from

    @property
    def releases(self) -> int:
        return int(self.groups.shape[1])

    @staticmethod
    def none(people: int) -> History:
        """The history of people before the first release."""
        return History.of_groups(np.empty((people, 0), dtype=np.int32), [], [], [], [])

    @staticmethod
    def of_groups(
        groups: NDArray[np.int32], lengths: Numbers, value: Numbers, count: Numbers, size: Numbers
    ) -> History:
        """A history from what each past group held; see ``Exposures.of``."""
        return History.of_exposures(groups, lengths, [Exposures.of(lengths, value, count, size)])

    @staticmethod
    def of_exposures(
        groups: NDArray[np.int32], lengths: Numbers, pieces: Sequence[Exposures]
    ) -> History:
        """A history from what the groups held, piece by piece, in the order of the groups."""
        together = Exposures.together(pieces)
        numbers = np.split(together.number, np.cumsum([len(each) for each in pieces])[:-1])
        exposure = np.concatenate(
            [number[each.number] for number, each in zip(numbers, pieces, strict=True)]
        )
        return History(
            groups=np.ascontiguousarray(groups),
            start=np.concatenate([[0], np.cumsum(lengths)]).astype(kind_of_starts(len(exposure))),
            exposure=exposure.astype(kind_of_numbers(len(together))),
            value=together.value,
            count=together.count,
            size=together.size,
        )

    def subset(self, kept: NDArray[np.bool_]) -> History:
        """The history of some of the people only."""
        return replace(self, groups=self.groups[kept])


def kind_of_starts(entries: int) -> type[np.integer]:
    """The type that tells where lists begin, of so many entries all together."""
    return np.int32 if entries < 2**31 else np.int64


def kind_of_numbers(exposures: int) -> type[np.integer]:
    """The type that tells so many exposures apart."""
    return np.uint16 if exposures <= 2**16 else np.int32


@dataclass(frozen=True)
class Different:
    """Exposures that all differ, each with its value, its count and its size."""

    value: NDArray[np.int32]
    count: NDArray[np.int64]
    size: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True)
class Exposures(Different):
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
    def together(pieces: Sequence[Different]) -> Exposures:
        """The exposures that differ over several pieces, and the number of each of each piece."""
        value = np.concatenate([each.value for each in pieces])
        return Exposures.of(
            np.ones(len(value), dtype=np.int64),
            value,
            np.concatenate([each.count for each in pieces]),
            np.concatenate([each.size for each in pieces]),
        )
