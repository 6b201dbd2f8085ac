"""What an adversary who has all releases knows, as arrays: the input of every audit.

It is factorised as the ledger is: who was in which group, and what each group held. It comes from a
ledger, or from releases that other tools made.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True, repr=False)
class Evidence(Undisclosed):
    """Memberships and compositions of all releases, protected values only.

    ``group[j, i]`` is the group of person i in release j, or -1 where the person was in no group
    that held a protected value. Groups of all releases are numbered through, release by release:
    release j has ``first_group[j]..first_group[j+1]-1``. Group g holds the entries
    ``start[g]..start[g+1]-1``, ascending by value.
    """

    ids: pl.Series
    labels: tuple[str, ...]  # of the releases
    members: tuple[int, ...]  # people in each release, exposed or not
    values: tuple[str, ...]
    thresholds: tuple[Fraction, ...]
    group: NDArray[np.int32]  # [release, person]
    present: NDArray[np.bool_]  # [release, person]: has a record
    first_group: NDArray[np.int64]
    start: NDArray[np.int64]
    value: NDArray[np.int32]  # of each entry
    count: NDArray[np.int64]  # n_{j,s}
    size: NDArray[np.int64]  # n_j: the people that the assumed adversary has to choose from
    present_size: NDArray[np.int64]  # those of them that have a record

    def __post_init__(self) -> None:
        entries = len(self.value)
        if not (
            self.group.shape == self.present.shape == (len(self.labels), len(self.ids))
            and len(self.first_group) == len(self.labels) + 1
            and len(self.start) == int(self.first_group[-1]) + 1
            and int(self.start[-1]) == entries
            and len(self.count) == len(self.size) == len(self.present_size) == entries
            and len(self.values) == len(self.thresholds)
        ):
            raise ImpossibleState("the arrays of the evidence do not fit each other")

    @property
    def releases(self) -> int:
        return len(self.labels)

    def until(self, release: int) -> Evidence:
        """What was known after the first so many releases."""
        groups = int(self.first_group[release])
        entries = int(self.start[groups])
        return Evidence(
            ids=self.ids,
            labels=self.labels[:release],
            members=self.members[:release],
            values=self.values,
            thresholds=self.thresholds,
            group=self.group[:release],
            present=self.present[:release],
            first_group=self.first_group[: release + 1],
            start=self.start[: groups + 1],
            value=self.value[:entries],
            count=self.count[:entries],
            size=self.size[:entries],
            present_size=self.present_size[:entries],
        )


@dataclass(frozen=True)
class Assumption:
    """One way to read the evidence: who is in which group, how many to choose from, and how the
    risks of several releases combine."""

    name: str
    group: NDArray[np.int32]
    size: NDArray[np.int64]
    adds: bool = False  # the sum of the risks instead of independence


def as_promised(evidence: Evidence) -> Assumption:
    """The adversary of the policy, and releases that are independent of each other (Lemma 4)."""
    return Assumption("as promised", evidence.group, evidence.size)


def presence_known(evidence: Evidence) -> Assumption:
    """The adversary knows who has a record: the others hide nobody, and are linked to nothing."""
    return Assumption(
        "presence known",
        np.where(evidence.present, evidence.group, np.int32(-1)),
        np.maximum(evidence.present_size, evidence.count),
    )


def added_up(evidence: Evidence) -> Assumption:
    """The risks of the releases added up (Boole), which is what they can come to where each keeps
    its n_s/n whatever the others show. Where values persist they do not keep it: no bound."""
    return Assumption("probabilities added up", evidence.group, evidence.size, adds=True)


def members_known(evidence: Evidence, number: int) -> Assumption:
    """The adversary knows the values of so many members of each group.

    The worst case is that none of them holds the value: n_s people are left among n - c.
    """
    left = np.maximum(evidence.size - number, evidence.count)
    plural = "" if number == 1 else "s"
    return Assumption(f"{number} member{plural} of each group known", evidence.group, left)
