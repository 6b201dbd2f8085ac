"""What the ledger knows of given people: the paper's m(o, s), joined from its two factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState, InputRefused
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import (
    GROUPS,
    MEMBERS,
    VALUES,
    Numbered,
    read_members,
    read_part,
    read_values,
)
from serigraph.ledger.release import PastExposure, ReleaseRecord
from serigraph.population import Exposures, History, ranked
from serigraph.threads import side_by_side

_BLOCK = 8192  # people


def recall_history(
    layout: Layout, releases: tuple[ReleaseRecord, ...], asked: Numbered, protected: Sequence[str]
) -> History:
    """The history of people in the order that they were asked for, for the values named in
    ``protected``.

    People that the ledger does not know have -1 everywhere. Groups that held none of the values
    are left out. Sizes follow the adversary that each release was made against.
    """
    if not releases:
        return History.none(len(asked.ids))
    place = _places(asked)
    held = side_by_side(lambda each: _Held.recall(layout, each, protected), releases)
    first = [0, *accumulate(len(each.lengths) for each in held)]
    by_release = side_by_side(
        lambda j: _groups(layout, releases[j], held[j], first[j], place, len(asked.ids)),
        range(len(releases)),
    )
    lengths = np.concatenate([each.lengths for each in held])
    return History.of_exposures(_by_person(by_release), lengths, [each.exposures for each in held])


@dataclass(frozen=True)
class _Held:
    """What the groups of one release held of some values; other groups are left out."""

    group: NDArray[np.int64]  # the release's number of each group, ascending
    lengths: NDArray[np.int64]
    exposures: Exposures

    @staticmethod
    def recall(layout: Layout, release: ReleaseRecord, protected: Sequence[str]) -> _Held:
        from serigraph.ledger import kernels  # only whoever recalls waits for Numba

        held = read_values(layout, release)
        group, code, count = held.group, held.code, held.count
        _check_range(group, release.groups)
        index = {name: number for number, name in enumerate(protected)}
        value_of = np.array([index.get(name, -1) for name in held.names], dtype=np.int32)
        sizes, size_rank = ranked(_sizes(layout, release))
        counts, count_rank = _ranks(count)
        kept = np.empty(release.groups, dtype=np.int64)
        lengths = np.empty(release.groups, dtype=np.int64)
        key = np.empty(len(group), dtype=np.int64)
        while True:
            groups, entries = kernels.list_exposures(
                group, code, count, value_of, size_rank, count_rank, kept, lengths, key
            )
            if groups >= 0:
                break
            order = np.lexsort((value_of[code], group))
            group, code, count = group[order], code[order], count[order]
        exposures = Exposures.of_keys(key[:entries], sizes, counts)
        return _Held(kept[:groups], lengths[:groups], exposures)


def _ranks(numbers: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different ones of small numbers, ascending, and the rank of each that there could be."""
    is_there = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.bool_)
    is_there[numbers] = True
    return np.flatnonzero(is_there), np.cumsum(is_there) - 1


def _groups(
    layout: Layout,
    release: ReleaseRecord,
    held: _Held,
    first: int,
    place: NDArray[np.int32],
    people: int,
) -> NDArray[np.int32]:
    """The group of everybody that is asked for, or -1; the release's count from ``first``."""
    from serigraph.ledger import kernels

    number = np.full(release.groups, -1, dtype=np.int32)
    number[held.group] = np.arange(first, first + len(held.group), dtype=np.int32)
    person, group = read_members(layout, release)
    # One more than there are people: for everybody that is not asked for.
    groups = np.full(people + 1, -1, dtype=np.int32)
    _check_range(person, len(place))
    _check_range(group, release.groups)
    kernels.place_groups(person, group, number, place, groups)
    return groups[:people]


def _check_range(numbers: NDArray[np.uint32], end: int) -> None:
    """Kernels do not notice that they read beyond an array."""
    if numbers.max(initial=0) >= max(end, 1):
        raise ImpossibleState("a part of the ledger speaks of what the catalog does not know")


def _by_person(by_release: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    """An array for each release as one row for each person.

    It is filled by as many people at a time as the processor's cache holds: by a release at a time,
    every number would take the time of a whole row.
    """
    groups = np.empty((len(by_release[0]), len(by_release)), dtype=np.int32)

    def fill(begin: int) -> None:
        here = slice(begin, begin + _BLOCK)
        for j, each in enumerate(by_release):
            groups[here, j] = each[here]

    side_by_side(fill, range(0, len(groups), _BLOCK))
    return groups


def recall_names(layout: Layout, releases: tuple[ReleaseRecord, ...]) -> tuple[str, ...]:
    """Every protected value that was ever in a group, ascending."""
    held = [read_part(layout, release, VALUES)["value"].cast(pl.String) for release in releases]
    return tuple(pl.concat(held).unique().sort().to_list()) if held else ()


def recall_exposures(
    layout: Layout, releases: tuple[ReleaseRecord, ...], person: str | int, value: str
) -> tuple[PastExposure, ...]:
    """Every past group that held the person and the value, oldest first.

    A person that is not in the ledger is refused, so that a typing error does not look like a
    clean record.
    """
    number = _number(layout, releases, person)
    found = []
    for release in releases:
        mine = read_part(layout, release, MEMBERS).filter(pl.col("person") == number)
        if mine.is_empty():
            continue
        group = mine["group"][0]
        held = read_part(layout, release, VALUES).filter(
            (pl.col("group") == group) & (pl.col("value") == value)
        )
        if not held.is_empty():
            found.append(
                PastExposure(
                    release=release.number,
                    label=release.label,
                    size=int(_sizes(layout, release)[group]),
                    count=held["count"][0],
                    present=mine["present"][0],
                )
            )
    return tuple(found)


def _number(layout: Layout, releases: tuple[ReleaseRecord, ...], person: str | int) -> int:
    unknown = InputRefused(
        "the ledger knows no person of this id",
        remedy="give the id as it is in the id column of the table or the registry",
    )
    if not releases:
        raise unknown
    if releases[0].id_type == "text":
        ids = pl.Series([str(person)], dtype=pl.String)
    else:
        try:
            ids = pl.Series(np.array([int(person)], dtype=np.int64))
        except (ValueError, OverflowError) as error:
            raise unknown from error
    number = int(Numbered.asked(layout, releases, ids).number[0])
    if number < 0:
        raise unknown
    return number


def _places(asked: Numbered) -> NDArray[np.int32]:
    """For each number of the ledger its place among the people asked for, or the place after."""
    place = np.full(asked.people, len(asked.ids), dtype=np.int32)
    is_known = asked.number >= 0
    place[asked.number[is_known]] = np.flatnonzero(is_known)
    return place


def _sizes(layout: Layout, release: ReleaseRecord) -> NDArray[np.int64]:
    column = "present" if release.is_presence_known else "size"
    return read_part(layout, release, GROUPS)[column].to_numpy().astype(np.int64)
