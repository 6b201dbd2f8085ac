"""What the verifier needs from earlier releases: who was in which group, and what groups held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.runtime.progress import Report
from serigraph.verification.recorded_cohorts import RecordedCohorts


@dataclass(frozen=True)
class EarlierGroups:
    """The groups of one earlier release, for the people and the values asked for.

    Person i was in ``group[i]``, or in none if that is -1. Group g had ``size[g]`` people to choose
    from, and held ``value[start[g]:start[g+1]]``, ascending places among the values.
    """

    group: NDArray[np.int32]
    size: NDArray[np.int64]
    start: NDArray[np.int64]
    value: NDArray[np.uint32]
    count: NDArray[np.int64]  # people in the group who hold the value

    @staticmethod
    def of(
        group: NDArray[np.int32],
        size: NDArray[np.int64],
        value_group: NDArray[np.integer],
        value: NDArray[np.integer],
        count: NDArray[np.integer],
    ) -> EarlierGroups:
        """From one entry per value and group, in any order."""
        groups, values = len(size), int(value.max(initial=0)) + 1
        key = value_group.astype(np.int64) * values + value
        if not (key[1:] > key[:-1]).all():
            order = np.argsort(key)
            key, value_group, value, count = (
                each[order] for each in (key, value_group, value, count)
            )
        if (
            group.min(initial=-1) < -1
            or group.max(initial=-1) >= groups
            or value_group.max(initial=0) >= max(groups, 1)
            or value.min(initial=0) < 0
            or count.min(initial=1) < 1
            or not (key[1:] > key[:-1]).all()
            or (count > size[value_group]).any()
        ):
            raise ImpossibleState("the groups of an earlier release do not fit each other")
        return EarlierGroups(
            group=group,
            size=size,
            start=np.searchsorted(key, np.arange(groups + 1) * values),
            value=value.astype(np.uint32),
            count=count.astype(np.int64),
        )


class EarlierReleases(Protocol):
    """All releases before the proposed one."""

    def people(self) -> pl.Series:
        """The ids of everybody who was ever a member, each once."""

    def groups_of(
        self, ids: pl.Series, names: Sequence[str], report: Report
    ) -> list[EarlierGroups]:
        """The groups of these people in every release that had any of them, and what these groups
        held of the values named."""

    def attendance(self, ids: pl.Series) -> NDArray[np.int64]:
        """A figure for each of these people, the same for members of the same releases; refuses
        releases that kept no cohorts."""

    def cohorts(self, persists: Callable[[str], bool]) -> RecordedCohorts:
        """The cohorts of everybody, and who was ever published as a holder of what persists."""


def places_among(ids: pl.Series, others: pl.Series) -> NDArray[np.int64]:
    """The place of each of the others among ids that all differ, -1 if it is not there.

    >>> places_among(pl.Series(["a", "b"]), pl.Series(["b", "c", "a"])).tolist()
    [1, -1, 0]
    """
    if ids.dtype != others.dtype:
        raise ImpossibleState("the ids of an earlier release are of another type")
    found = (
        others.alias("id")
        .to_frame()
        .join(
            ids.alias("id").to_frame().with_columns(pl.int_range(pl.len()).alias("place")),
            on="id",
            how="left",
            maintain_order="left",
        )
    )
    return found["place"].fill_null(-1).to_numpy()


def groups_by_place(
    people: int, place: NDArray[np.integer], group: NDArray[Any]
) -> NDArray[np.int32]:
    """The group of each person, from the places of a release's members; a place of -1 is a member
    nobody asked for, and a group of -1 is a person who was no member.

    >>> groups_by_place(3, np.array([2, -1, 0]), np.array([7, 8, 9])).tolist()
    [9, -1, 7]
    """
    found = np.full(people + 1, -1, dtype=np.int32)
    found[place] = group  # -1 is the last place, a spare one
    if np.count_nonzero(found[:-1] >= 0) != np.count_nonzero(place >= 0):
        raise ImpossibleState("somebody is in two groups of an earlier release")
    return found[:-1]
