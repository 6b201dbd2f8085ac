"""What the ledger knows of given people: the paper's m(o, s), joined from its two factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    CodedValues,
    Numbered,
    read_members,
    read_part,
    read_values,
)
from serigraph.ledger.release import PastExposure, ReleaseRecord
from serigraph.population import Exposures, History, ranked
from serigraph.threads import side_by_side, slices

_KEYS = 2**16  # different exposures of a release, as long as there are not more


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
    # One more than there are people: for everybody that is not asked for.
    groups = np.full((len(releases), len(asked.ids) + 1), -1, dtype=np.int32)
    side_by_side(
        lambda j: _place_groups(layout, releases[j], held[j], first[j], place, groups[j]),
        range(len(releases)),
    )
    lengths = np.concatenate([each.lengths for each in held])
    exposures = [piece for each in held for piece in each.exposures]
    return History.of_exposures(_by_person(groups), lengths, exposures)


@dataclass(frozen=True)
class _Held:
    """What the groups of one release held of some values; other groups are left out."""

    group: NDArray[np.int64]  # the release's number of each group, ascending
    lengths: NDArray[np.int64]
    exposures: list[Exposures]  # of one piece after the other

    @staticmethod
    def recall(layout: Layout, release: ReleaseRecord, protected: Sequence[str]) -> _Held:
        from serigraph.ledger import kernels  # only whoever recalls waits for Numba

        index = {name: number for number, name in enumerate(protected)}
        sizes, size_rank = ranked(_sizes(layout, release))
        counts = int(sizes.max(initial=0)) + 1
        if len(protected) * len(sizes) * counts >= 2**63:
            raise ImpossibleState("a release has more exposures than can be told apart")
        kept = np.empty(release.groups, dtype=np.int64)
        lengths = np.empty(release.groups, dtype=np.int64)
        ordered: list[CodedValues] = []
        keys_at_most = _KEYS
        while True:
            so_far = np.array([0, 0, 0, -1, -1])
            keys = np.empty(keys_at_most, dtype=np.int64)
            slots = np.full(2 * keys_at_most, -1, dtype=np.int32)
            numbers = [np.empty(0, dtype=np.int32)]
            state = kernels.DONE
            for piece in ordered or read_values(layout, release):
                _check_range(piece.group, release.groups)
                _check_range(piece.count, counts)
                number = np.empty(len(piece.group), dtype=np.int32)
                state = kernels.list_exposures(
                    piece.group,
                    piece.code,
                    piece.count,
                    np.array([index.get(name, -1) for name in piece.names], dtype=np.int32),
                    size_rank,
                    len(sizes),
                    counts,
                    kept,
                    lengths,
                    number,
                    slots,
                    keys,
                    so_far,
                )
                if state != kernels.DONE:
                    break
                numbers.append(number[: so_far[kernels.ENTRIES]])
            if state == kernels.OUT_OF_ORDER:
                ordered = [_in_order(read_values(layout, release), index)]
            elif state == kernels.FULL:
                keys_at_most *= 8
            else:
                break
        left, count = np.divmod(keys[: so_far[kernels.DIFFERENT]], counts)
        value, size_at = np.divmod(left, max(len(sizes), 1))
        different = value.astype(np.int32), count, sizes[size_at]
        groups = so_far[kernels.GROUPS]
        return _Held(
            kept[:groups], lengths[:groups], [Exposures(number, *different) for number in numbers]
        )


def _in_order(pieces: Iterable[CodedValues], index: Mapping[str, int]) -> CodedValues:
    """All pieces as one, ascending by group and value; values without a number are left out."""
    names = list(index)
    found = [
        (
            piece.group,
            np.array([index.get(name, len(names)) for name in piece.names])[piece.code],
            piece.count,
        )
        for piece in pieces
    ]
    group, value, count = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((value, group))
    order = order[value[order] < len(names)]
    return CodedValues(group[order], count[order], value[order].astype(np.int32), names)


def _place_groups(
    layout: Layout,
    release: ReleaseRecord,
    held: _Held,
    first: int,
    place: NDArray[np.int32],
    groups: NDArray[np.int32],
) -> None:
    """Write the group of everybody that is asked for; those of the release count from ``first``."""
    from serigraph.ledger import kernels

    number = np.full(release.groups, -1, dtype=np.int32)
    number[held.group] = np.arange(first, first + len(held.group), dtype=np.int32)
    for person, group in read_members(layout, release):
        _check_range(person, len(place))
        _check_range(group, release.groups)
        kernels.place_groups(person, group, number, place, groups)


def _check_range(numbers: NDArray[np.uint32], end: int) -> None:
    """Kernels do not notice that they read beyond an array."""
    if numbers.max(initial=0) >= max(end, 1):
        raise ImpossibleState("a part of the ledger speaks of what the catalog does not know")


def _by_person(by_release: NDArray[np.int32]) -> NDArray[np.int32]:
    """The same with a row for each person; the last column, which is nobody's, is left out."""
    from serigraph.ledger import kernels

    groups = np.empty((by_release.shape[1] - 1, len(by_release)), dtype=np.int32)
    side_by_side(
        lambda part: kernels.turn(by_release, part.start, part.stop, groups), slices(len(groups))
    )
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
