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
from serigraph.ledger.loops import fastest
from serigraph.ledger.numbers import Numbered
from serigraph.ledger.parts import (
    GROUPS,
    MEMBERS,
    PEOPLE,
    VALUES,
    check_unread,
    count_rows,
    read_files,
    read_members,
    read_numbers,
    read_part,
    read_values,
)
from serigraph.ledger.release import PastExposure, ReleaseRecord
from serigraph.model import (
    DistinctExposures,
    Exposures,
    Past,
    kind_of_numbers,
    kind_of_places,
    lists_of,
    ranked,
)
from serigraph.runtime.progress import Progress, Report, first_half, no_progress, second_half
from serigraph.runtime.threads import TOGETHER, parallel_map, slices
from serigraph.texts import composed

_TABLE = 1 << 22  # keys for which a table can always be afforded
_TILE = 1 << 14  # people whose past groups over some twenty releases stay in a processor's cache


def recall_past(
    layout: Layout,
    releases: tuple[ReleaseRecord, ...],
    ids: pl.Series,
    protected: Sequence[str],
    progress: Progress = no_progress,
) -> tuple[Numbered, Past]:
    """The numbers that people have in the ledger, and their history for the values named in
    ``protected``, in the order that they were asked for.

    People that the ledger does not know have -1 everywhere. Groups that held none of the values
    are left out. Sizes follow the adversary that each release was made against. Releases before
    the first that had any of these people are only compared with their digests.
    """
    asked = Numbered.asked(layout, releases, ids)
    begin = asked.first_release(releases)
    check_unread(layout, releases[:begin], read=PEOPLE)
    past = Past.none(len(ids))
    if begin < len(releases):
        past = _recall(layout, releases[begin:], asked, protected, partial(progress, "recalling"))
    return asked, past.after(begin)


def _recall(
    layout: Layout,
    releases: tuple[ReleaseRecord, ...],
    asked: Numbered,
    protected: Sequence[str],
    report: Report,
) -> Past:
    """The history of people over some releases."""
    values = parallel_map(lambda each: read_files(layout, each, VALUES), releases)
    # Everything is written where it stays: to provide memory takes the system longer than to
    # fill it.
    rows = list(map(count_rows, values))
    ends = list(accumulate(n + min(n, each.groups) for n, each in zip(rows, releases, strict=True)))
    numbers = np.empty(ends[-1], dtype=kind_of_numbers(0))
    room = np.split(numbers, ends[:-1])
    held = parallel_map(
        lambda j: _Held.recall(_sizes(layout, releases[j]), values[j], rows[j], protected, room[j]),
        range(len(releases)),
        first_half(report),
    )
    values.clear()  # what follows finds its memory
    first = [0, *accumulate(len(each.lists) for each in held)]
    tiles = _Tiles.empty(len(asked.ids), len(releases), kind_of_places(first[-1]))
    _place_groups(layout, releases, held, first, asked, tiles, second_half(report))
    together = Exposures.together([each.exposures for each in held])
    number = np.split(together.number, list(accumulate(len(each.exposures) for each in held))[:-1])
    kind = kind_of_numbers(len(together))
    stays = first[-1] == ends[-1] and numbers.dtype == kind
    lists = numbers if stays else np.empty(first[-1], dtype=kind)
    parallel_map(
        lambda j: held[j].write_lists(number[j].astype(kind), lists[first[j] : first[j + 1]]),
        range(len(releases)),
    )
    return Past(
        groups=tiles.by_person(),
        lists=lists,
        value=together.value,
        count=together.count,
        size=together.size,
    )


@dataclass(frozen=True)
class _Held:
    """What the groups of one release held of some values; other groups are left out."""

    group: NDArray[np.uint32]  # the release's number of each group, ascending
    begin: NDArray[np.integer]  # of the list of each group, and behind them the end of the last
    lists: NDArray[np.integer]  # how many exposures, and their numbers, ascending by value
    exposures: DistinctExposures  # that occur

    @staticmethod
    def recall(
        size: NDArray[np.int64],
        values: Sequence[bytes],
        rows: int,
        protected: Sequence[str],
        room: NDArray[np.integer],
    ) -> _Held:
        """From the sizes of the groups, and the files that say what they held, with so many rows.
        ``room`` has a place for each row, and for each group that can have one: lists are written
        there, if they are narrow enough for it."""
        loop = fastest()
        index = {name: number for number, name in enumerate(protected)}
        sizes, size_rank = ranked(size)
        counts = int(sizes.max(initial=0)) + 1
        # Most groups hold most values once, and few sizes are frequent: what occurs most lies side
        # by side in every table of keys.
        per_size = max(len(protected), 1)
        per_count = per_size * max(len(sizes), 1)
        keys = per_count * counts
        group_key = size_rank.astype(np.int64) * per_size

        def listed(
            lists: NDArray[np.integer], number_of: NDArray[np.int32], key_of: NDArray[np.int64]
        ) -> tuple[NDArray[np.uint32], NDArray[np.integer], int, bool]:
            most = len(lists) - rows
            run_group = np.empty(most, dtype=np.uint32)
            run_begin = np.empty(most + 1, dtype=kind_of_places(len(lists)))
            runs, found, ascend, run_begin[0] = 0, 0, True, 0
            for piece in read_values(values):
                value = np.array([index.get(name, -1) for name in piece.names], dtype=np.int64)
                runs, found, ascends = loop.list_entries(
                    value,
                    piece.code,
                    piece.group,
                    piece.count,
                    group_key,
                    per_size,
                    per_count,
                    runs,
                    found,
                    number_of,
                    key_of,
                    lists,
                    run_group,
                    run_begin,
                )
                ascend &= ascends
                if found > len(key_of):
                    break
            return run_group[:runs], run_begin[: runs + 1], found, ascend

        is_wide = keys > max(len(room), _TABLE)
        if not is_wide:
            table = np.full(keys, -1, dtype=np.int32)
            key_of = np.empty(min(keys, np.iinfo(room.dtype).max), dtype=np.int64)
            lists = room
            group, begin, found, ascend = listed(lists, table, key_of)
            # Too many differ, or groups are not in order, so that there are more lists than groups.
            is_wide = found > len(key_of)
        if is_wide:
            key_of = np.empty(0, dtype=np.int64)
            lists = np.empty(2 * rows, dtype=np.int64)
            group, begin, found, ascend = listed(lists, np.empty(0, dtype=np.int32), key_of)
        group, begin = group.copy(), begin.copy()  # their arrays are larger, mostly
        lists, key_of = lists[: begin[-1]], key_of[:found]
        if is_wide or not ascend:
            lengths = np.diff(begin) - 1
            number = np.delete(lists, begin[:-1])
            if is_wide:
                key_of, number = ranked(number)
            of_entry = np.repeat(group, lengths)
            number = number[np.lexsort((key_of[number] % per_size, of_entry))]
            group, lengths = np.unique(of_entry, return_counts=True)
            starts, lists = lists_of(lengths, number)
            begin = np.append(starts, len(lists))
        left, value = np.divmod(key_of, per_size)
        count, size_at = np.divmod(left, max(len(sizes), 1))
        return _Held(
            group=group,
            begin=begin,
            lists=lists,
            exposures=DistinctExposures(value.astype(np.int32), count, sizes[size_at]),
        )

    def write_lists(self, number_of: NDArray[np.integer], lists: NDArray[np.integer]) -> None:
        """Write the lists with the numbers that exposures have among all."""
        fastest().renumber(self.lists, self.begin, number_of, lists)


@dataclass(frozen=True)
class _Tiles:
    """The past groups of everybody, for some people at a time: release by release at first, and
    then turned, so that those of each person lie together."""

    groups: NDArray[np.integer]  # [tile, release, person in the tile], counted from 1; 0 for none
    people: int

    @staticmethod
    def empty(people: int, releases: int, kind: type[np.integer]) -> _Tiles:
        """One more person than there are has a place, for everybody that is not asked for."""
        return _Tiles(np.zeros((people // _TILE + 1, releases, _TILE), dtype=kind), people)

    def places(self, people: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where people are in each release, as if it were the first."""
        tile = people // _TILE
        tile *= _TILE * (self.groups.shape[1] - 1)
        tile += people
        return tile

    def release(self, j: int) -> NDArray[np.integer]:
        """From the first place of a release on."""
        return self.groups.reshape(-1)[j * _TILE :]

    def by_person(self) -> NDArray[np.integer]:
        """A row for each person, with -1 for none."""
        rows = self.groups.reshape(-1, self.groups.shape[1])

        def turn(part: slice) -> None:
            turned = np.empty((_TILE, rows.shape[1]), dtype=rows.dtype)
            for tile in range(part.start, part.stop):
                np.subtract(self.groups[tile].T, 1, out=turned)
                rows[tile * _TILE : (tile + 1) * _TILE] = turned

        parallel_map(turn, slices(len(self.groups)))
        return rows[: self.people]


def _place_groups(
    layout: Layout,
    releases: tuple[ReleaseRecord, ...],
    held: Sequence[_Held],
    first: Sequence[int],
    asked: Numbered,
    tiles: _Tiles,
    report: Report,
) -> None:
    """Write where the list of each past group of everybody that is asked for begins; ``first`` says
    where those of a release do."""
    place = _places(asked, tiles)

    def write(j: int) -> None:
        begin = np.zeros(releases[j].groups, dtype=tiles.groups.dtype)
        begin[held[j].group] = held[j].begin[:-1].astype(begin.dtype) + (1 + first[j])
        for person, group in read_members(read_files(layout, releases[j], MEMBERS)):
            fastest().place_members(person, group, begin, place, tiles.release(j))

    parallel_map(write, range(len(releases)), report)


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
        ids = composed(pl.Series([str(person)], dtype=pl.String))
    else:
        try:
            ids = pl.Series(np.array([int(person)], dtype=np.int64))
        except (ValueError, OverflowError) as error:
            raise unknown from error
    number = int(Numbered.asked(layout, releases, ids).number[0])
    if number < 0:
        raise unknown
    return number


def _places(asked: Numbered, tiles: _Tiles) -> NDArray[Any]:
    """For each number of the ledger the place of the person in the tiles."""
    kind = np.int32 if tiles.groups.size < 2**31 else np.int64
    place: NDArray[Any] = np.empty(asked.people, dtype=kind)
    nobody = tiles.places(np.array([tiles.people]))[0]
    parallel_map(lambda part: place[part].fill(nobody), slices(len(place)))

    def write(part: slice) -> None:
        number = asked.number[part]
        known = np.flatnonzero(number >= 0)
        place[number[known]] = tiles.places(part.start + known)

    parallel_map(write, slices(len(asked.ids), longest=TOGETHER))
    return place


def _sizes(layout: Layout, release: ReleaseRecord) -> NDArray[np.int64]:
    column = "present" if release.is_presence_known else "size"
    return read_numbers(read_files(layout, release, GROUPS), column).astype(np.int64)
