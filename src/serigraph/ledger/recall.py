"""What the ledger knows of given people: the paper's m(o, s), joined from its two factors."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import InputRefused
from serigraph.ledger.layout import Layout
from serigraph.ledger.loops import fastest
from serigraph.ledger.numbers import Numbered
from serigraph.ledger.parts import (
    GROUPS,
    MEMBERS,
    VALUES,
    count_rows,
    read_files,
    read_members,
    read_numbers,
    read_part,
    read_values,
)
from serigraph.ledger.release import PastExposure, ReleaseRecord
from serigraph.population import (
    Different,
    Exposures,
    History,
    kind_of_numbers,
    kind_of_starts,
    ranked,
)
from serigraph.progress import Progress, first_half, second_half, silently
from serigraph.threads import TOGETHER, side_by_side, slices

_TILE = 1 << 14  # people whose past groups over some twenty releases stay in a processor's cache


def recall_history(
    layout: Layout,
    releases: tuple[ReleaseRecord, ...],
    ids: pl.Series,
    protected: Sequence[str],
    near: NDArray[np.uint16] | None = None,
    progress: Progress = silently,
) -> tuple[Numbered, History]:
    """The numbers that people have in the ledger, and their history for the values named in
    ``protected``, in the order that they were asked for.

    People that the ledger does not know have -1 everywhere. Groups that held none of the values
    are left out. Sizes follow the adversary that each release was made against. If it is said in
    which neighbourhood people live, the groups of each release come in the order of these: whoever
    follows neighbours finds their past side by side.
    """
    # Who people are is looked up beside what groups held.
    with ThreadPoolExecutor(1) as beside:
        looking = beside.submit(Numbered.asked, layout, releases, ids)
        if not releases:
            return looking.result(), History.none(len(ids))
        report = partial(progress, "recalling")
        values = side_by_side(lambda each: read_files(layout, each, VALUES), releases)
        # Everything is written where it stays: to provide memory takes the system longer than to
        # fill it.
        ends = list(accumulate(map(count_rows, values)))
        numbers = np.empty(ends[-1], dtype=kind_of_numbers(0))
        room = np.split(numbers, ends[:-1])
        held = side_by_side(
            lambda j: _Held.recall(_sizes(layout, releases[j]), values[j], protected, room[j]),
            range(len(releases)),
            first_half(report),
        )
        values.clear()  # what follows finds its memory
        asked = looking.result()
    first = [0, *accumulate(len(each.lengths) for each in held)]
    tiles = _Tiles.empty(len(ids), len(releases))
    place, lives = _places(asked, tiles, near)
    order = side_by_side(
        lambda j: _place_groups(
            layout, releases[j], held[j], first[j], place, lives, tiles.release(j)
        ),
        range(len(releases)),
        second_half(report),
    )
    together = Exposures.together([each.exposures for each in held])
    number = np.split(together.number, list(accumulate(len(each.exposures) for each in held))[:-1])
    entries = [0, *accumulate(len(each.number) for each in held)]
    kind = kind_of_numbers(len(together))
    stays = entries[-1] == len(numbers) and numbers.dtype == kind
    exposure = numbers if stays else np.empty(entries[-1], dtype=kind)
    start = np.zeros(first[-1] + 1, dtype=kind_of_starts(entries[-1]))
    side_by_side(
        lambda j: held[j].write_numbers(
            number[j],
            order[j],
            start[1 + first[j] : 1 + first[j + 1]],
            exposure[entries[j] : entries[j + 1]],
        ),
        range(len(releases)),
    )
    history = History(
        groups=tiles.by_person(),
        start=np.cumsum(start, dtype=start.dtype, out=start),
        exposure=exposure,
        value=together.value,
        count=together.count,
        size=together.size,
    )
    return asked, history


@dataclass(frozen=True)
class _Held:
    """What the groups of one release held of some values; other groups are left out."""

    group: NDArray[np.uint32]  # the release's number of each group, ascending
    lengths: NDArray[np.int64]
    number: NDArray[np.integer]  # of each exposure of each group, ascending by value
    exposures: Different  # that occur

    @staticmethod
    def recall(
        size: NDArray[np.int64],
        values: Sequence[bytes],
        protected: Sequence[str],
        room: NDArray[np.integer],
    ) -> _Held:
        """From the sizes of the groups, and the files that say what they held. ``room`` has a place
        for each of their rows: numbers are written there, if they are narrow enough."""
        loop = fastest()
        index = {name: number for number, name in enumerate(protected)}
        sizes, size_rank = ranked(size)
        counts = int(sizes.max(initial=0)) + 1
        # Most groups hold most values once, and few sizes are frequent: what occurs most lies side
        # by side in every table of keys.
        per_size = max(len(protected), 1)
        per_count = per_size * max(len(sizes), 1)
        keys = per_count * counts
        key: NDArray[Any] = np.empty(len(room), dtype=np.int32 if keys < 2**31 else np.int64)
        run_group = np.empty(len(room), dtype=np.uint32)
        run_start = np.empty(len(room) + 1, dtype=np.int64)
        run_start[0] = 0
        marks = np.zeros(keys if keys <= len(room) else 0, dtype=np.bool_)
        group_key = size_rank.astype(np.int64) * per_size
        runs, ascend = 0, True
        for piece in read_values(values):
            value = np.array([index.get(name, -1) for name in piece.names], dtype=np.int64)
            runs, ascends = loop.list_entries(
                value,
                piece.code,
                piece.group,
                piece.count,
                group_key,
                per_size,
                per_count,
                runs,
                key,
                run_group,
                run_start,
                marks,
            )
            ascend &= ascends
        group, lengths = run_group[:runs].copy(), np.diff(run_start[: runs + 1])
        key = key[: run_start[runs]]
        if not ascend:
            of_key = np.repeat(group, lengths)
            key = key[np.lexsort((key % per_size, of_key))]
            group, lengths = np.unique(of_key, return_counts=True)
        number: NDArray[np.integer]
        if len(marks):
            found = np.flatnonzero(marks)
            number_of = np.empty(keys, dtype=kind_of_numbers(len(found)))
            number_of[found] = np.arange(len(found))
            number = room[: len(key)] if number_of.dtype == room.dtype else key
            for part in slices(len(key), longest=TOGETHER):
                np.take(number_of, key[part], out=number[part], mode="clip")
        else:
            found, number = ranked(key)
            number = number.astype(kind_of_numbers(len(found)))
        left, value = np.divmod(found, per_size)
        count, size_at = np.divmod(left, max(len(sizes), 1))
        return _Held(
            group=group,
            lengths=lengths,
            number=number,
            exposures=Different(value.astype(np.int32), count.astype(np.int64), sizes[size_at]),
        )

    def write_numbers(
        self,
        number_of: NDArray[np.int32],
        order: NDArray[np.intp],
        lengths: NDArray[np.integer],
        exposure: NDArray[np.integer],
    ) -> None:
        """Write how much each group held, in this order of the groups, and what it was, with the
        number that each exposure has among all."""
        start = np.cumsum(self.lengths) - self.lengths
        number = self.number.copy()  # may lie where it is written to
        lengths[:] = self.lengths[order]
        fastest().renumber(
            number, start[order], lengths, number_of.astype(exposure.dtype), exposure
        )


@dataclass(frozen=True)
class _Tiles:
    """The past groups of everybody, for some people at a time: release by release at first, and
    then turned, so that those of each person lie together."""

    groups: NDArray[np.int32]  # [tile, release, person in the tile], counted from 1; 0 for none
    people: int

    @staticmethod
    def empty(people: int, releases: int) -> _Tiles:
        """One more person than there are has a place, for everybody that is not asked for."""
        return _Tiles(np.zeros((people // _TILE + 1, releases, _TILE), dtype=np.int32), people)

    def places(self, people: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where people are in each release, as if it were the first."""
        tile = people // _TILE
        tile *= _TILE * (self.groups.shape[1] - 1)
        tile += people
        return tile

    def release(self, j: int) -> NDArray[np.int32]:
        """From the first place of a release on."""
        return self.groups.reshape(-1)[j * _TILE :]

    def by_person(self) -> NDArray[np.int32]:
        """A row for each person, with -1 for none."""
        rows = self.groups.reshape(-1, self.groups.shape[1])

        def turn(part: slice) -> None:
            for tile in range(part.start, part.stop):
                here = slice(tile * _TILE, (tile + 1) * _TILE)
                rows[here] = np.subtract(self.groups[tile].T, 1, order="C")

        side_by_side(turn, slices(len(self.groups)))
        return rows[: self.people]


def _place_groups(
    layout: Layout,
    release: ReleaseRecord,
    held: _Held,
    first: int,
    place: NDArray[Any],
    lives: NDArray[np.uint16],
    groups: NDArray[np.int32],
) -> NDArray[np.intp]:
    """Write the group of everybody that is asked for; those of the release count from ``first``.
    Returns the order in which they do."""
    loop = fastest()
    members = list(read_members(read_files(layout, release, MEMBERS)))
    order = np.arange(len(held.group))
    if len(lives):
        near = np.zeros(release.groups, dtype=np.uint16)
        for person, group in members:
            loop.find_neighbourhoods(person, group, lives, near)
        order = np.argsort(near[held.group], kind="stable")
    number = np.zeros(release.groups, dtype=np.int32)
    number[held.group[order]] = np.arange(first + 1, first + 1 + len(order), dtype=np.int32)
    for person, group in members:
        loop.place_members(person, group, number, place, groups)
    return order


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


def _places(
    asked: Numbered, tiles: _Tiles, near: NDArray[np.uint16] | None
) -> tuple[NDArray[Any], NDArray[np.uint16]]:
    """For each number of the ledger the place of the person in the tiles, and the neighbourhood, if
    these are known."""
    kind = np.int32 if tiles.groups.size < 2**31 else np.int64
    place: NDArray[Any] = np.empty(asked.people, dtype=kind)
    lives = np.zeros(0 if near is None else asked.people, dtype=np.uint16)
    nobody = tiles.places(np.array([tiles.people]))[0]
    side_by_side(lambda part: place[part].fill(nobody), slices(len(place)))

    def write(part: slice) -> None:
        number = asked.number[part]
        known = np.flatnonzero(number >= 0)
        place[number[known]] = tiles.places(part.start + known)
        if near is not None:
            lives[number[known]] = near[part][known]

    side_by_side(write, slices(len(asked.ids), longest=TOGETHER))
    return place, lives


def _sizes(layout: Layout, release: ReleaseRecord) -> NDArray[np.int64]:
    column = "present" if release.is_presence_known else "size"
    return read_numbers(read_files(layout, release, GROUPS), column).astype(np.int64)
