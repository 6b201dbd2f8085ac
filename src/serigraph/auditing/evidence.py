"""What an adversary who has all releases knows, as arrays: the input of every audit.

It is factorised as the ledger is: who was in which group, and what each group held. It comes from a
ledger, or from releases that other tools made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True)
class Memberships:
    """Who was in which group that held a protected value: those of person i are at
    ``first[i]..first[i+1]-1``, ascending by release. Releases that somebody was not in take no
    room."""

    first: NDArray[np.int64]
    release: NDArray[np.int32]
    group: NDArray[np.int32]
    present: NDArray[np.bool_]  # has a record

    @staticmethod
    def of(people: int, releases: Sequence[InRelease]) -> Memberships:
        """From the members of each release, nobody twice in one."""
        number = np.zeros(people, dtype=np.int64)
        for person, _, _ in releases:
            number[person] += 1
        first = np.concatenate([[0], np.cumsum(number)])
        release, group = np.empty(first[-1], dtype=np.int32), np.empty(first[-1], dtype=np.int32)
        present = np.empty(first[-1], dtype=np.bool_)
        free = first[:-1].copy()
        for j, (person, its_group, is_present) in enumerate(releases):
            place = free[person]
            release[place], group[place], present[place] = j, its_group, is_present
            free[person] = place + 1
        return Memberships(first, release, group, present)


InRelease = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.bool_]]
"""People, the group of each, and whether each has a record."""


@dataclass(frozen=True, repr=False)
class Evidence(Undisclosed):
    """Memberships and compositions of all releases, protected values only.

    Groups of all releases are numbered through, release by release: release j has
    ``first_group[j]..first_group[j+1]-1``. Group g holds the entries ``start[g]..start[g+1]-1``,
    ascending by value.
    """

    ids: pl.Series
    labels: tuple[str, ...]  # of the releases
    members: tuple[int, ...]  # people in each release, exposed or not
    values: tuple[str, ...]
    thresholds: tuple[Fraction, ...]
    memberships: Memberships
    first_group: NDArray[np.int64]
    start: NDArray[np.int64]
    value: NDArray[np.int32]  # of each entry
    count: NDArray[np.int64]  # n_{j,s}
    size: NDArray[
        np.int64
    ]  # n_j: those whom the assumed adversary sees, and who may hold the value
    present_size: NDArray[np.int64]  # those of them that have a record, or fewer
    known_members: tuple[int, ...] = ()  # of every group of each release; empty: none
    persists: NDArray[np.bool_] | None = None  # [release, value]; None if no value does

    def __post_init__(self) -> None:
        entries = len(self.value)
        if not (
            len(self.memberships.first) == len(self.ids) + 1
            and len(self.first_group) == len(self.labels) + 1
            and len(self.start) == int(self.first_group[-1]) + 1
            and int(self.start[-1]) == entries
            and len(self.count) == len(self.size) == len(self.present_size) == entries
            and len(self.values) == len(self.thresholds)
            and len(self.known_members) in (0, len(self.labels))
            and (self.persists is None or self.persists.shape == (self.releases, len(self.values)))
        ):
            raise ImpossibleState("the arrays of the evidence do not fit each other")

    @property
    def releases(self) -> int:
        return len(self.labels)

    def choices(self, size: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of these many people for each entry, those whom the adversary has to choose from: without
        known members, and never fewer than the holders."""
        known = np.array(self.known_members or (0,) * self.releases, dtype=np.int64)
        entries = np.diff(self.start[self.first_group])
        return np.maximum(size - np.repeat(known, entries), self.count)

    def of_transient(self) -> Evidence:
        """Without what releases show of values that persist: no sum or product over releases
        bounds these."""
        if self.persists is None:
            return self
        release = np.repeat(np.arange(self.releases), np.diff(self.start[self.first_group]))
        kept = ~self.persists[release, self.value]
        start = np.concatenate([[0], np.cumsum(kept)])[self.start].astype(np.int64)
        is_left = np.append(np.diff(start) > 0, False)
        group = self.memberships.group
        return replace(
            self,
            memberships=replace(
                self.memberships, group=np.where(is_left[group], group, np.int32(-1))
            ),
            start=start,
            value=self.value[kept],
            count=self.count[kept],
            size=self.size[kept],
            present_size=self.present_size[kept],
            persists=None,
        )


@dataclass(frozen=True)
class Assumption:
    """One way to read the evidence: which memberships count, how many to choose from, and how the
    risks of several releases combine."""

    name: str
    group: NDArray[np.int32]  # of each membership, -1 where it does not count
    size: NDArray[np.int64]
    adds: bool = False  # the sum of the risks instead of independence

    @cached_property
    def people(self) -> NDArray[np.int64]:
        """How many people are in each group, up to the last that has anybody."""
        return np.bincount(self.group[self.group >= 0])


def as_promised(evidence: Evidence) -> Assumption:
    """The adversary of the policy, and releases that are independent of each other (Lemma 4)."""
    return Assumption("as promised", evidence.memberships.group, evidence.choices(evidence.size))


def presence_known(evidence: Evidence) -> Assumption:
    """The adversary knows who has a record: absent members give no cover, and are not linked."""
    return Assumption(
        "presence known",
        np.where(evidence.memberships.present, evidence.memberships.group, np.int32(-1)),
        evidence.choices(evidence.present_size),
    )


def added_up(evidence: Evidence) -> Assumption:
    """The sum of the releases' risks (Boole), a bound if each release keeps its n_s/n whatever the
    others show. Not a bound if values persist."""
    left = evidence.choices(evidence.size)
    return Assumption("probabilities added up", evidence.memberships.group, left, adds=True)


def members_known(evidence: Evidence, number: int) -> Assumption:
    """The adversary knows the values of ``number`` members of each group.

    The worst case is that none of them holds the value: n_s people are left among n - c.
    """
    left = np.maximum(evidence.size - number, evidence.count)
    plural = "" if number == 1 else "s"
    name = f"{number} member{plural} of each group known"
    return Assumption(name, evidence.memberships.group, left)
