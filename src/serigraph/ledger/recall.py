"""What the ledger knows of given people: the paper's m(o, s), joined from its two factors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import InputRefused
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import (
    GROUPS,
    MEMBERS,
    VALUES,
    check_id_type,
    numbers_of,
    read_part,
    read_people,
)
from serigraph.ledger.release import PastExposure, ReleaseRecord
from serigraph.population import History


def recall_history(
    layout: Layout, releases: tuple[ReleaseRecord, ...], ids: pl.Series, protected: Sequence[str]
) -> History:
    """The history of people in the order of ``ids``, for the values named in ``protected``.

    People that the ledger does not know have -1 everywhere. Groups that held none of the values
    are left out. Sizes follow the adversary that each release was made against.
    """
    check_id_type(ids, releases)
    if not releases:
        return History.none(len(ids))
    people = read_people(layout, releases)
    place = _places(numbers_of(ids, people), people.height)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        recalled = list(
            pool.map(
                lambda release: _recall_release(layout, release, place, len(ids), protected),
                releases,
            )
        )
    first = np.cumsum([len(past.size) for past in recalled]) - [len(past.size) for past in recalled]
    lengths = np.concatenate([np.diff(past.start) for past in recalled])
    return History(
        groups=np.concatenate(
            [
                np.where(past.groups >= 0, past.groups + np.int32(number), np.int32(-1))
                for past, number in zip(recalled, first, strict=True)
            ]
        ),
        start=np.concatenate([[0], np.cumsum(lengths)]),
        value=np.concatenate([past.value for past in recalled]),
        count=np.concatenate([past.count for past in recalled]),
        size=np.concatenate([past.size for past in recalled]),
    )


def _recall_release(
    layout: Layout,
    release: ReleaseRecord,
    place: NDArray[np.int64],
    people: int,
    protected: Sequence[str],
) -> History:
    """One release as the only past; ``place`` says where each person of the ledger is asked for."""
    held = read_part(layout, release, VALUES)
    index = held["value"].cast(pl.Enum(protected), strict=False).to_physical()
    named = index.is_not_null().to_numpy()
    group = held["group"].to_numpy()[named].astype(np.int64)
    value = index.drop_nulls().to_numpy().astype(np.int32)
    count = held["count"].to_numpy()[named].astype(np.int64)
    key = group * max(len(protected), 1) + value
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key)
        value, count = value[order], count[order]
    lengths = np.bincount(group, minlength=release.groups)
    is_kept = lengths > 0
    number = np.where(is_kept, np.cumsum(is_kept) - 1, -1).astype(np.int32)
    members = read_part(layout, release, MEMBERS)
    at = place[members["person"].to_numpy()]
    is_asked = at >= 0
    groups = np.full((1, people), -1, dtype=np.int32)
    groups[0, at[is_asked]] = number[members["group"].to_numpy()[is_asked]]
    return History(
        groups=groups,
        start=np.concatenate([[0], np.cumsum(lengths[is_kept])]),
        value=value,
        count=count,
        size=_sizes(layout, release)[is_kept],
    )


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
    number = int(numbers_of(ids, read_people(layout, releases))[0])
    if number < 0:
        raise unknown
    return number


def _places(numbers: NDArray[np.int64], people: int) -> NDArray[np.int64]:
    """For each number of the ledger its place among the people asked for, or -1."""
    place = np.full(people, -1, dtype=np.int64)
    is_known = numbers >= 0
    place[numbers[is_known]] = np.flatnonzero(is_known)
    return place


def _sizes(layout: Layout, release: ReleaseRecord) -> NDArray[np.int64]:
    column = "present" if release.is_presence_known else "size"
    return read_part(layout, release, GROUPS)[column].to_numpy().astype(np.int64)
