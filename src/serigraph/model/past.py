"""What the ledger knows about the people of one release, as arrays.

The ledger is factorised: who was in which group, and what each group held. A person's exposures
to a value are found by walking the person's past groups. Few exposures differ in value, count or
size, so a group's content is a list of numbers of distinct exposures. Walking the past of a million
people over 16 releases takes 0.37 s with two-byte numbers, 0.60 s with four bytes, and 0.90 s with
values and survivals written out: the walk is bound by memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.ordering import ranked
from serigraph.runtime.threads import TOGETHER, parallel_map, slices

Numbers = Sequence[int] | NDArray[np.integer]
_NARROW = 2**16  # exposures that fit two-byte numbers


@dataclass(frozen=True)
class Compositions:
    """What each of some groups held.

    Group g has the exposures ``exposure[start[g]:start[g + 1]]``, ascending by value. Exposure e is
    to ``value[e]`` (an index into the population's protected values), with ``count[e]`` holders
    among ``size[e]`` people. No two exposures are the same.
    """

    start: NDArray[np.int64]  # one entry more than groups
    exposure: NDArray[np.integer]  # two bytes each if possible
    value: NDArray[np.int32]
    count: NDArray[np.int64]
    size: NDArray[np.int64]  # the people the adversary has to choose from

    @staticmethod
    def of(lengths: Numbers, value: Numbers, count: Numbers, size: Numbers) -> Compositions:
        """Groups of these sizes with these numbers of values; values and counts are listed group by
        group, ascending by value in each.

        >>> held = Compositions.of(lengths=[2, 1], value=[3, 5, 3], count=[1, 1, 1], size=[9, 9])
        >>> held.start.tolist(), held.exposure.tolist()
        ([0, 2, 3], [0, 1, 0])
        >>> held.value.tolist(), held.size.tolist()
        ([3, 5], [9, 9])
        """
        value, count = _array_of(value), _array_of(count)
        sizes, size_rank = ranked(_array_of(size))
        counts, count_rank = ranked(count)
        values = int(value.max(initial=0)) + 1
        size_of_entry = np.repeat(size_rank, lengths)
        # Most groups hold most values once, and few sizes are frequent: frequent exposures get
        # adjacent numbers, so that what is looked up for them stays in a processor's cache.
        key = np.empty(len(value), dtype=np.int64)
        for part in slices(len(key), longest=TOGETHER):
            np.multiply(count_rank[part], len(sizes), out=key[part], dtype=np.int64)
            key[part] += size_of_entry[part]
            key[part] *= values
            key[part] += value[part]
        keys, exposure = ranked(key)
        left, value_at = np.divmod(keys, values)
        count_at, size_at = np.divmod(left, max(len(sizes), 1))
        return Compositions(
            start=_starts(np.asarray(lengths, dtype=np.int64)),
            exposure=exposure.astype(_type_of_numbers(len(keys)), copy=False),
            value=value_at.astype(np.int32),
            count=counts[count_at].astype(np.int64),
            size=sizes[size_at].astype(np.int64),
        )

    @staticmethod
    def concatenated(pieces: Sequence[Compositions]) -> Compositions:
        """The groups of several pieces, at least one, concatenated."""
        distinct = Compositions.of(
            lengths=np.ones(sum(len(each.value) for each in pieces), dtype=np.int64),
            value=np.concatenate([each.value for each in pieces]),
            count=np.concatenate([each.count for each in pieces]),
            size=np.concatenate([each.size for each in pieces]),
        )
        numbers = np.split(distinct.exposure, np.cumsum([len(each.value) for each in pieces])[:-1])
        renumbered = parallel_map(
            lambda piece: piece[0].take(piece[1].exposure, mode="clip"),
            zip(numbers, pieces, strict=True),
        )
        return replace(
            distinct,
            start=_starts(np.concatenate([np.diff(each.start) for each in pieces])),
            exposure=np.concatenate(renumbered),
        )

    @property
    def groups(self) -> int:
        return len(self.start) - 1

    @property
    def survival(self) -> NDArray[np.float64]:
        """The factor that each exposure contributes to the survival of a pair: 1 - n_s/n."""
        return 1.0 - self.count / self.size

    def of_groups(
        self, groups: NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
        """How many exposures each of these groups has, and their numbers, group by group."""
        first = self.start[groups]
        lengths = self.start[groups + 1] - first
        before = np.cumsum(lengths) - lengths
        return lengths, self.exposure[np.repeat(first - before, lengths) + np.arange(lengths.sum())]


@dataclass(frozen=True)
class Past:
    """The past groups of each person, and what each of these groups held.

    Groups are numbered consecutively over all releases. ``group[i, j]`` is that of person i (by
    place in the population) in past release j, or -1 if the person was not in the release, or in a
    group that held nothing that is protected now.
    """

    group: NDArray[np.int32]
    held: Compositions

    @property
    def releases(self) -> int:
        return int(self.group.shape[1])

    @staticmethod
    def none(people: int) -> Past:
        """The past of people before the first release."""
        return Past.of_groups(np.empty((people, 0), dtype=np.int32), [], [], [], [])

    @staticmethod
    def of_groups(
        group: NDArray[np.integer], lengths: Numbers, value: Numbers, count: Numbers, size: Numbers
    ) -> Past:
        """The past from the group of each person in each release, and from what the groups held;
        see ``Compositions.of``. A group that held nothing becomes -1."""
        is_held = np.append(np.asarray(lengths, dtype=np.int64) > 0, False)  # the last is for -1
        return Past(
            np.where(is_held[group], group, -1).astype(np.int32),
            Compositions.of(lengths, value, count, size),
        )

    @staticmethod
    def of_releases(columns: NDArray[np.int32], held: Sequence[Compositions]) -> Past:
        """The past of people over some releases: ``columns[j]`` has the group of each person in
        release j, or -1, numbered over all releases, and ``held[j]`` what these groups held."""
        group = np.empty(columns.shape[::-1], dtype=np.int32)

        def turn(people: slice) -> None:
            group[people] = columns[:, people].T

        parallel_map(turn, slices(len(group), longest=TOGETHER >> 2))
        return Past(group, Compositions.concatenated(held))

    def after(self, releases: int) -> Past:
        """The same after this many earlier releases that had none of these people."""
        none = np.full((len(self.group), releases), -1, dtype=np.int32)
        return replace(self, group=np.hstack([none, self.group])) if releases else self

    def latest(self, releases: int) -> Past:
        """The same over no more than this many releases, the latest ones."""
        return replace(self, group=self.group[:, max(self.releases - releases, 0) :])

    def followed_by(self, group: NDArray[np.integer], held: Compositions) -> Past:
        """The same with one more release: each person's group in it, or -1, and what its groups
        held."""
        number = np.where(group >= 0, group + self.held.groups, -1).astype(np.int32)
        return Past(
            np.column_stack([self.group, number]), Compositions.concatenated([self.held, held])
        )

    def subset(self, kept: NDArray[Any]) -> Past:
        """The past of some of the people only."""
        return replace(self, group=self.group[kept])

    def compacted(self) -> Past:
        """The same without groups that none of these people was in."""
        is_in = self.group >= 0
        groups, place = ranked(self.group[is_in])
        number = np.full(self.group.shape, -1, dtype=np.int32)
        number[is_in] = place
        lengths, exposure = self.held.of_groups(groups)
        return Past(number, replace(self.held, start=_starts(lengths), exposure=exposure))

    def exposures(
        self, people: slice
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.integer]]:
        """Every exposure of some people, by person and release: the place of the person among
        them, the release, and the number of the exposure."""
        group = self.group[people]
        person, release = np.nonzero(group >= 0)
        lengths, exposure = self.held.of_groups(group[person, release])
        return np.repeat(person, lengths), np.repeat(release, lengths), exposure


def _starts(lengths: Numbers) -> NDArray[np.int64]:
    """Where each of some consecutive lists begins, and where the last one ends."""
    start = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=start[1:])
    return start


def _array_of(numbers: Numbers) -> NDArray[np.integer]:
    return numbers if isinstance(numbers, np.ndarray) else np.array(numbers, dtype=np.int64)


def _type_of_numbers(exposures: int) -> type[np.integer]:
    """The type that can number this many exposures."""
    return np.uint16 if exposures <= _NARROW else np.int32
