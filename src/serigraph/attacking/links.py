"""Who is linked to a value: in which group that showed it each person was, release by release.

What somebody has who compares releases, as arrays: groups, counts, and a law of the value over
time. People and groups fall into *parts* that tell nothing of each other: a part is a set of groups
and everybody who was in any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import NOBODY, Evidence
from serigraph.short_repr import Undisclosed

_SHARES = (1e-6, 0.5)  # of holders that are believed
_SELDOM = 1e-4  # the chance to lose a value that is kept always: no series is without mistakes


class Law(NamedTuple):
    """How the value of a person behaves, whatever that of others does: as many get it as lose it.

    >>> Law.kept(0.5, 0.75)
    Law(share=0.5, keeps=0.75, gets=0.25)
    """

    share: float  # hold it in any release
    keeps: float  # the chance to hold it in the next release, of somebody who holds it
    gets: float  # the same, of somebody who does not

    @property
    def is_permanent(self) -> bool:
        return self.keeps >= 1 - _SELDOM

    @staticmethod
    def kept(share: float, keeps: float) -> Law:
        """The law of a value that this share of the people hold."""
        share, keeps = float(np.clip(share, *_SHARES)), min(keeps, 1 - _SELDOM)
        return Law(share, keeps, share * (1 - keeps) / (1 - share))


@dataclass(frozen=True, repr=False)
class Linked(Undisclosed):
    """The people who were ever in a group that showed the value, and these groups; both are in the
    order of parts."""

    person: NDArray[np.int64]
    group: NDArray[np.int64]  # [person, release], numbered through all releases; NOBODY: none
    recorded: NDArray[np.float64]  # [person, release]: the chance that a holder is shown as one
    count: NDArray[np.int64]  # holders that each group shows
    expected: NDArray[np.float64]  # of these, members: not all where regions overlap
    first_person: NDArray[np.int64]  # of each part, and where the last one ends
    first_group: NDArray[np.int64]
    law: Law

    @property
    def parts(self) -> int:
        return len(self.first_person) - 1

    @property
    def is_exact(self) -> bool:
        """Whether the holders that groups show are surely members of theirs."""
        return bool((self.expected == self.count).all())

    @property
    def start(self) -> NDArray[np.int64]:
        """Where the members of each group begin in ``member``, and where the last ones end."""
        members = np.bincount(self.group[self.group >= 0], minlength=len(self.count))
        return np.append(0, np.cumsum(members))

    @property
    def member(self) -> NDArray[np.int64]:
        """The members of all groups, group by group."""
        person, release = np.nonzero(self.group >= 0)
        return person[np.argsort(self.group[person, release], kind="stable")]

    def part(self, number: int) -> Linked:
        """One part as if there were no others."""
        people = slice(*self.first_person[number : number + 2].tolist())
        groups = slice(*self.first_group[number : number + 2].tolist())
        group = self.group[people]
        return Linked(
            person=self.person[people],
            group=np.where(group < 0, NOBODY, group - groups.start),
            recorded=self.recorded[people],
            count=self.count[groups],
            expected=self.expected[groups],
            first_person=np.array([0, people.stop - people.start]),
            first_group=np.array([0, groups.stop - groups.start]),
            law=self.law,
        )


def linked_to(evidence: Evidence, value: int, keeps: float) -> Linked:
    """Who is linked to a value that is kept with the chance ``keeps``; how many hold it is taken
    from the counts."""
    group = np.full((evidence.people, len(evidence.releases)), NOBODY, dtype=np.int64)
    recorded = np.zeros(group.shape)
    counts, sizes, shares = [], [], []
    groups = 0
    for j, seen in enumerate(evidence.releases):
        count = seen.counts(value)
        shows = np.flatnonzero(count)
        number = np.full(len(count), NOBODY, dtype=np.int64)
        number[shows] = groups + np.arange(len(shows))
        group[:, j] = number[seen.group]
        recorded[:, j] = np.append(seen.recorded, 0.0)[seen.group]
        counts.append(count[shows])
        sizes.append(seen.size[shows])
        shares.append(count.sum() / max(float((seen.size * seen.recorded).sum()), 1.0))
        groups += len(shows)
    linked = np.flatnonzero((group >= 0).any(axis=1))
    law = Law.kept(float(np.mean(shares)), keeps)
    count, size = np.concatenate(counts), np.concatenate(sizes)
    return in_parts(linked, group[linked], recorded[linked], count, size, law)


def in_parts(
    person: NDArray[np.int64],
    group: NDArray[np.int64],
    recorded: NDArray[np.float64],
    count: NDArray[np.int64],
    size: NDArray[np.int64],
    law: Law,
) -> Linked:
    """People, and groups of which each has so many holders among so many people, by parts."""
    members = np.bincount(group[group >= 0], minlength=len(count))
    some = group.max(axis=1, initial=NOBODY)
    part = _joined(group, some, len(count))
    kept = np.flatnonzero(members)
    kept = kept[np.argsort(part[kept], kind="stable")]
    number = np.full(len(count) + 1, NOBODY, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    order = np.argsort(part[some], kind="stable")
    return Linked(
        person=person[order],
        group=number[group[order]],
        recorded=recorded[order],
        count=np.minimum(count, members)[kept],
        expected=np.where(size == members, count, count * members / np.maximum(size, 1))[kept],
        first_person=np.append(np.unique(part[some][order], return_index=True)[1], len(order)),
        first_group=np.append(np.unique(part[kept], return_index=True)[1], len(kept)),
        law=law,
    )


def _joined(group: NDArray[np.int64], some: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """The part of each group: groups that share people are in one. ``some`` is one of each
    person's."""
    person, release = np.nonzero(group >= 0)
    one, other = group[person, release], some[person]
    part = np.arange(groups)
    while True:
        least = part.copy()
        np.minimum.at(least, one, part[other])
        np.minimum.at(least, other, part[one])
        least = least[least]  # halves the way
        if np.array_equal(least, part):
            return part
        part = least
