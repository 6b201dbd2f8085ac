"""What the ledger knows of given people: the paper's m(o, s), joined from its two factors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import InputRefused
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import (
    COHORTS,
    GROUPS,
    MEMBERS,
    PEOPLE,
    VALUES,
    check_unread,
    has_part,
    read_excluded,
    read_files,
    read_members,
    read_numbers,
    read_part,
    read_values,
)
from serigraph.ledger.person_numbers import Numbered
from serigraph.ledger.release import PastExposure, ReleaseRecord
from serigraph.model import Compositions, Past
from serigraph.runtime.progress import Progress, Report, first_half, no_progress, second_half
from serigraph.runtime.threads import TOGETHER, parallel_map, slices
from serigraph.texts import composed


def recall_past(
    layout: Layout,
    releases: tuple[ReleaseRecord, ...],
    ids: pl.Series,
    protected: Sequence[str],
    progress: Progress = no_progress,
) -> tuple[Numbered, Past]:
    """The numbers that people have in the ledger, and their past for the values named in
    ``protected``, in the order of ``ids``.

    People unknown to the ledger have -1 everywhere. Groups that held none of the values are left
    out. Sizes are the people whom the adversary of each release has to choose from. Releases before
    the first that had any of these people are only compared with their digests.
    """
    asked = Numbered.asked(layout, releases, ids)
    begin = asked.first_release(releases)
    check_unread(layout, releases[:begin], PEOPLE)
    check_unread(layout, releases[begin:], PEOPLE, MEMBERS, GROUPS, VALUES)
    past = Past.none(len(ids))
    if begin < len(releases):
        report = partial(progress, "recalling")
        past = _recall(layout, releases[begin:], _rows(asked), len(ids), protected, report)
    return asked, past.after(begin)


def recall_members(
    layout: Layout, releases: tuple[ReleaseRecord, ...], protected: Sequence[str]
) -> Past:
    """The past of everybody who was a member of one of these releases, over these alone."""
    if not releases:
        return Past.none(0)
    found = [read_numbers(read_files(layout, each, MEMBERS), "person") for each in releases]
    is_member = np.zeros(1 + max(int(each.max(initial=0)) for each in found), dtype=np.bool_)
    for each in found:
        is_member[each] = True
    people = int(np.count_nonzero(is_member))
    row = np.full(len(is_member), people, dtype=np.int32)
    row[is_member] = np.arange(people)
    return _recall(layout, releases, row, people, protected, partial(no_progress, "recalling"))


def _recall(
    layout: Layout,
    releases: tuple[ReleaseRecord, ...],
    row: NDArray[np.int32],
    people: int,
    protected: Sequence[str],
    report: Report,
) -> Past:
    """The past of people over some releases, by the row of each of the ledger's numbers; a thread
    reads each release."""
    found = parallel_map(
        lambda release: _compositions(layout, release, protected), releases, first_half(report)
    )
    first = [0, *accumulate(held.groups for _, held in found)]
    columns = np.full((len(releases), people + 1), -1, dtype=np.int32)

    def place_members(j: int) -> None:
        """Write the group of each member of a release to the person's row."""
        number = found[j][0]
        number = np.where(number >= 0, number + first[j], -1).astype(np.int32)
        for person, group in read_members(read_files(layout, releases[j], MEMBERS)):
            for part in slices(len(person), longest=TOGETHER):
                columns[j][row[person[part]]] = number[group[part]]

    parallel_map(place_members, range(len(releases)), second_half(report))
    return Past.of_releases(columns[:, :people], [held for _, held in found])


def _compositions(
    layout: Layout, release: ReleaseRecord, protected: Sequence[str]
) -> tuple[NDArray[np.int32], Compositions]:
    """The groups of a release that held any of the values: for each group of the release its number
    among them, or -1, and what they held. Nobody is charged for values that persist."""
    transient = [
        name if persistence == "transient" else None
        for name, persistence in zip(protected, release.persistence_of(protected), strict=True)
    ]
    group, value, count = _entries(read_files(layout, release, VALUES), transient)
    is_first = np.ones(len(group), dtype=np.bool_)
    np.not_equal(group[1:], group[:-1], out=is_first[1:])
    begin = np.flatnonzero(is_first)
    kept = group[begin]
    number = np.full(release.groups, -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    people, excluded = _sizes(layout, release)
    size = (people - excluded)[kept] - release.known_members
    return number, Compositions.of(np.diff(begin, append=len(group)), value, count, size)


def _entries(
    files: Sequence[bytes], protected: Sequence[str | None]
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint32]]:
    """What the groups of a release held of some values, ascending by group and then by value: the
    group, the place of the value in ``protected`` and the count of each entry."""
    index = {name: number for number, name in enumerate(protected)}
    groups, values, counts = [], [], []
    for piece in read_values(files):
        of_code = np.array([index.get(name, -1) for name in piece.names], dtype=np.int32)
        value, group, count = of_code[piece.code], piece.group, piece.count
        if of_code.min(initial=0) < 0:
            asked = value >= 0
            value, group, count = value[asked], group[asked], count[asked]
        groups.append(group)
        values.append(value)
        counts.append(count)
    group, value, count = _joined(groups), _joined(values), _joined(counts)
    if not _are_in_order(group, value):
        order = np.lexsort((value, group))
        group, value, count = group[order], value[order], count[order]
    return group, value, count


def _joined(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The pieces concatenated. Most releases have one, which is not copied; those that held
    nothing have none."""
    if len(pieces) > 1:
        return np.concatenate(pieces)
    return pieces[0] if pieces else np.empty(0, dtype=np.int32)


def _are_in_order(group: NDArray[np.integer], value: NDArray[np.integer]) -> bool:
    """Whether entries ascend by group and then by value."""
    for part in slices(len(group) - 1, longest=TOGETHER):
        here, behind = part, slice(part.start + 1, part.stop + 1)
        is_next = group[behind] > group[here]
        is_next |= (group[behind] == group[here]) & (value[behind] > value[here])
        if not is_next.all():
            return False
    return True


def _rows(asked: Numbered) -> NDArray[np.int32]:
    """For each number of the ledger the row of the person among those asked for, or the row behind
    them."""
    row = np.full(asked.people, len(asked.ids), dtype=np.int32)
    known = np.flatnonzero(asked.number >= 0)
    row[asked.number[known]] = known
    return row


def recall_names(layout: Layout, releases: tuple[ReleaseRecord, ...]) -> tuple[str, ...]:
    """Every protected value that was ever in a group, ascending."""
    held = [read_part(layout, release, VALUES)["value"].cast(pl.String) for release in releases]
    return tuple(pl.concat(held).unique().sort().to_list()) if held else ()


def recall_exposures(
    layout: Layout, releases: tuple[ReleaseRecord, ...], person: str | int, value: str
) -> tuple[PastExposure, ...]:
    """Every past group that held the person and the value, oldest first.

    A person who is not in the ledger is refused, so that a typo does not look like a clean record.
    """
    number = _number(layout, releases, person)
    found = []
    persists = [release.persistence_of([value]) != ("transient",) for release in releases]
    for release, does_persist in zip(releases, persists, strict=True):
        mine = read_part(layout, release, MEMBERS).filter(pl.col("person") == number)
        if mine.is_empty():
            continue
        group = mine["group"][0]
        held = read_part(layout, release, VALUES).filter(
            (pl.col("group") == group) & (pl.col("value") == value)
        )
        if not held.is_empty():
            people, excluded = _sizes(layout, release)
            found.append(
                PastExposure(
                    release=release.number,
                    label=release.label,
                    size=int(people[group]),
                    count=held["count"][0],
                    present=mine["present"][0],
                    known_members=release.known_members,
                    excluded=0 if does_persist else int(excluded[group]),
                )
            )
    return tuple(found)


def _number(layout: Layout, releases: tuple[ReleaseRecord, ...], person: str | int) -> int:
    number = int(Numbered.asked(layout, releases, id_asked(releases, person)).number[0])
    if number < 0:
        raise _unknown()
    return number


def id_asked(releases: tuple[ReleaseRecord, ...], person: str | int) -> pl.Series:
    """The id of one person, in the type and form that the ledger has."""
    if not releases:
        raise _unknown()
    if releases[0].id_type == "text":
        return composed(pl.Series([str(person)], dtype=pl.String))
    try:
        return pl.Series(np.array([int(person)], dtype=np.int64))
    except (ValueError, OverflowError) as error:
        raise _unknown() from error


def _unknown() -> InputRefused:
    return InputRefused(
        "the ledger has no person with this id",
        remedy="give the id as in the id column of the table or the registry",
    )


def _sizes(layout: Layout, release: ReleaseRecord) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The people of each group whom the adversary sees, and those of them who cannot hold a
    transient value."""
    # Where values persist, somebody who knows who is there does not know whose record is withheld.
    is_told = release.is_presence_known and not has_part(release, COHORTS)
    column = "present" if is_told else "size"
    files = read_files(layout, release, GROUPS)
    return read_numbers(files, column).astype(np.int64), read_excluded(files, release.groups)
