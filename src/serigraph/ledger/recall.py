"""What the ledger knows of given people: the paper's m(o, s), joined from its two factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import InputRefused
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
from serigraph.progress import Progress, first_half, second_half, silently
from serigraph.threads import side_by_side, slices

_TOGETHER = 1 << 16  # numbers that stay in a processor's cache, with what is made of them


def recall_history(
    layout: Layout,
    releases: tuple[ReleaseRecord, ...],
    asked: Numbered,
    protected: Sequence[str],
    progress: Progress = silently,
) -> History:
    """The history of people in the order that they were asked for, for the values named in
    ``protected``.

    People that the ledger does not know have -1 everywhere. Groups that held none of the values
    are left out. Sizes follow the adversary that each release was made against.
    """
    if not releases:
        return History.none(len(asked.ids))
    place = _places(asked)
    report = partial(progress, "recalling")
    held = side_by_side(
        lambda each: _Held.recall(layout, each, protected), releases, first_half(report)
    )
    first = [0, *accumulate(len(each.lengths) for each in held)]
    # One more than there are people: for everybody that is not asked for.
    groups = np.full((len(releases), len(asked.ids) + 1), -1, dtype=np.int32)
    side_by_side(
        lambda j: _place_groups(layout, releases[j], held[j], first[j], place, groups[j]),
        range(len(releases)),
        second_half(report),
    )
    lengths = np.concatenate([each.lengths for each in held])
    return History.of_exposures(_by_person(groups), lengths, [each.exposures for each in held])


@dataclass(frozen=True)
class _Held:
    """What the groups of one release held of some values; other groups are left out."""

    group: NDArray[np.int64]  # the release's number of each group, ascending
    lengths: NDArray[np.int64]
    exposures: Exposures

    @staticmethod
    def recall(layout: Layout, release: ReleaseRecord, protected: Sequence[str]) -> _Held:
        index = {name: number for number, name in enumerate(protected)}
        sizes, size_rank = ranked(_sizes(layout, release))
        counts = int(sizes.max(initial=0)) + 1
        different = len(protected) * len(sizes) * counts
        kind = np.int32 if different < 2**31 else np.int64
        groups = [np.empty(0, dtype=np.uint32)]
        keys: list[NDArray[Any]] = [np.empty(0, dtype=kind)]
        for piece in read_values(layout, release):
            numbers = [index.get(name, -1) for name in piece.names]
            value_of: NDArray[Any] = np.array(numbers, dtype=kind)
            for part in slices(len(piece.group), longest=_TOGETHER):
                key, group, count = value_of[piece.code[part]], piece.group[part], piece.count[part]
                if (value_of < 0).any():
                    named = key >= 0
                    key, group, count = key[named], group[named], count[named]
                key *= len(sizes)
                key += size_rank[group]
                key *= counts
                key += count.astype(kind)
                groups.append(group)
                keys.append(key)
        group, key = np.concatenate(groups), np.concatenate(keys)
        # Within a group the size is the same: keys ascend as the values do.
        begin = _begins(group, key)
        if begin is None:
            order = np.lexsort((key, group))
            group, key = group[order], key[order]
            begin = np.flatnonzero(np.diff(group, prepend=-1))
        found, number = ranked(key)
        left, count = np.divmod(found, counts)
        value, size_at = np.divmod(left, max(len(sizes), 1))
        return _Held(
            group=group[begin].astype(np.int64),
            lengths=np.diff(begin, append=len(group)),
            exposures=Exposures(
                number, value.astype(np.int32), count.astype(np.int64), sizes[size_at]
            ),
        )


def _begins(group: NDArray[np.uint32], key: NDArray[Any]) -> NDArray[np.int64] | None:
    """Where groups begin, if these and the keys of each of them ascend."""
    begin = [np.zeros(min(len(group), 1), dtype=np.int64)]
    for part in slices(max(len(group) - 1, 0), longest=_TOGETHER):
        behind = slice(part.start + 1, part.stop + 1)
        is_next = group[behind] > group[part]
        if not (is_next | (group[behind] == group[part]) & (key[behind] > key[part])).all():
            return None
        begin.append(part.start + 1 + np.flatnonzero(is_next))
    return np.concatenate(begin)


def _place_groups(
    layout: Layout,
    release: ReleaseRecord,
    held: _Held,
    first: int,
    place: NDArray[np.int32],
    groups: NDArray[np.int32],
) -> None:
    """Write the group of everybody that is asked for; those of the release count from ``first``."""
    number = np.full(release.groups, -1, dtype=np.int32)
    number[held.group] = np.arange(first, first + len(held.group), dtype=np.int32)
    for person, group in read_members(layout, release):
        for part in slices(len(person), longest=_TOGETHER):
            groups[place[person[part]]] = number[group[part]]


def _by_person(by_release: NDArray[np.int32]) -> NDArray[np.int32]:
    """The same with a row for each person; the last column, which is nobody's, is left out."""
    groups = np.empty((by_release.shape[1] - 1, len(by_release)), dtype=np.int32)

    def turn(part: slice) -> None:
        groups[part] = by_release[:, part].T

    side_by_side(turn, slices(len(groups), longest=_TOGETHER // 4))
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
