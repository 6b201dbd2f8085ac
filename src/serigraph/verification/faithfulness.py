"""Whether a release with cohorts shows what its table says, and leaves out only what it must.

Values are compared one by one, the unprotected ones too: what people hold is worked out again from
what is published of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.model import CodedValues, Population
from serigraph.verification.words import are_among, distinct

Allowed = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]
"""Whether a protected value may be taken out: of these places in the table, these values."""


@dataclass(frozen=True)
class Content:
    """What a population shows, by places in the table: pairs as words, ascending."""

    place: NDArray[np.int64]  # in the table, of each person
    shown: NDArray[np.int64]  # place * number of values + value, protected or not
    held: NDArray[np.int64]  # place * number of protected values + value


@dataclass(frozen=True)
class Covering:
    """The protected values that each published value counts as."""

    values: int  # how many there are, at least 1
    protected: int  # the same
    start: NDArray[np.int64]
    number: NDArray[np.int64]

    @staticmethod
    def of(names: pl.Series, population: Population) -> Covering:
        code = {name: place for place, name in enumerate(names.to_list())}
        pairs = sorted(
            (code[name], number)
            for number, value in enumerate(population.protected)
            for name in value.covers()
            if name in code
        )
        of_code = [place for place, _ in pairs]
        return Covering(
            max(len(names), 1),
            max(len(population.protected), 1),
            np.searchsorted(of_code, np.arange(len(names) + 1)),
            np.array([number for _, number in pairs], dtype=np.int64),
        )

    def expand(
        self, shown: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """For each way in which a pair of a place and a value counts as a protected value: which
        pair, the place, and the protected value."""
        place, code = np.divmod(shown, self.values)
        ways = self.start[code + 1] - self.start[code]
        which = np.repeat(np.arange(len(shown)), ways)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(ways) - ways, ways)
        return which, place[which], self.number[self.start[code[which]] + offset]


def contents(
    table: Population, populations: Sequence[tuple[Population, NDArray[np.int64]]], where: str
) -> tuple[Covering, list[Content]]:
    """What the table and some populations show; of each the place of its people in the table.

    Refuses one whose people do not have the quasi-identifiers of the table, or hold something other
    than what is published of them.
    """
    everything = [(table, np.arange(table.size)), *populations]
    coded = [CodedValues.of(each.values) for each, _ in everything]
    names = pl.concat([each.names.cast(pl.String) for each in coded]).unique().sort()
    covering = Covering.of(names, table)
    found = []
    for (population, place), values in zip(everything, coded, strict=True):
        _check_frame(table, population, place, where)
        code = names.search_sorted(values.names.cast(pl.String)).to_numpy().astype(np.int64)
        person = place[population.records()[values.person]]
        shown = distinct(person * covering.values + code[values.code])
        holder = np.repeat(place, np.diff(population.held_start))
        held = np.sort(holder * covering.protected + population.held.astype(np.int64))
        _, at, number = covering.expand(shown)
        if not np.array_equal(distinct(at * covering.protected + number), held):
            raise ImpossibleState("people hold something else than is published", where=where)
        found.append(Content(place, shown, held))
    return covering, found


def _check_frame(
    table: Population, population: Population, place: NDArray[np.int64], where: str
) -> None:
    """Refuse other columns, codes or protected values than those of the table."""
    if population is table:
        return
    if population.keeps_records_whole != table.keeps_records_whole:
        raise ImpossibleState("a release has other records than its table", where=where)
    same_columns = population.domains is table.domains or (
        len(population.domains) == len(table.domains)
        and all(
            mine.name == its.name and mine.values.equals(its.values)
            for mine, its in zip(population.domains, table.domains, strict=True)
        )
    )
    if not same_columns or any(
        (codes[place] != mine).any()
        for codes, mine in zip(table.codes, population.codes, strict=True)
    ):
        raise ImpossibleState("a release has other quasi-identifiers than its table", where=where)
    if len(population.protected) != len(table.protected) or any(
        (mine.name, mine.covers(), mine.persistence) != (its.name, its.covers(), its.persistence)
        or (its.persists and mine.threshold != its.threshold)
        for mine, its in zip(population.protected, table.protected, strict=True)
    ):
        raise ImpossibleState("a release protects other values than its table", where=where)


def check_left_out(
    before: tuple[Population, Content],
    after: tuple[Population, Content],
    covering: Covering,
    may_go: Allowed,
    where: str,
) -> None:
    """Refuse if something was added between two populations, or taken out without need; people who
    are only in the first are not looked at.

    A value goes only together with a protected value that it counts as, of which nothing is left
    then, and which ``may_go``. A record goes with the last of its values.
    """
    (whole, had), (rest, has) = before, after
    people = int(had.place.max(initial=-1)) + 1
    is_left = np.zeros(people, dtype=np.bool_)
    is_left[has.place] = True
    asked = had.shown[is_left[had.shown // covering.values]]
    gone = asked[:0]
    if not np.array_equal(asked, has.shown):
        if not are_among(has.shown, asked).all():
            raise ImpossibleState("a release shows what is not in its table", where=where)
        gone = asked[~are_among(asked, has.shown)]
    which, place, number = covering.expand(gone)
    could = np.flatnonzero(~are_among(place * covering.protected + number, has.held))
    may = could[may_go(place[could], number[could])]
    is_right = np.zeros(len(gone), dtype=np.bool_)
    is_right[which[may]] = True
    if not is_right.all():
        raise ImpossibleState("a value was left out of a release without need", where=where)
    was_present, had_any, has_any = (np.zeros(people, dtype=np.bool_) for _ in range(3))
    was_present[had.place] = whole.present
    had_any[asked // covering.values] = True
    has_any[has.shown // covering.values] = True
    if (rest.present != (was_present & (has_any | ~had_any))[has.place]).any():
        raise ImpossibleState(
            "a record was added, or left out other than with all of its values", where=where
        )


def check_records_left_out(
    before: tuple[Population, Content],
    after: tuple[Population, Content],
    covering: Covering,
    may_go: Allowed,
    where: str,
) -> None:
    """The same where a record is kept or left out as a whole: refuse if one was changed or added,
    or left out though none of its protected values ``may_go``."""
    (whole, had), (rest, has) = before, after
    is_left, was_present, is_shown = np.zeros((3, int(had.place.max(initial=-1)) + 1), np.bool_)
    is_left[has.place] = True
    was_present[had.place] = whole.present
    is_shown[has.place] = rest.present
    if (is_shown & ~was_present).any() or not np.array_equal(
        had.shown[is_shown[had.shown // covering.values]], has.shown
    ):
        raise ImpossibleState("a record is not what the table says", where=where)
    is_gone = was_present & is_left & ~is_shown
    place, number = np.divmod(had.held, covering.protected)
    asked = is_gone[place]
    place, number = place[asked], number[asked]
    is_gone[place[may_go(place, number)]] = False
    if is_gone.any():
        raise ImpossibleState("a record was left out of a release without need", where=where)


def check_plain(
    table: Population,
    population: Population,
    place: NDArray[np.int64],
    is_blank: NDArray[np.bool_],
    where: str,
) -> None:
    """Refuse plain cells that are not those of the table, or not empty in the records of people for
    whom they must be; ``place`` is where the people are in the table, all with a record there."""
    shown, own = population.plain, table.plain
    if shown.columns != own.columns:
        raise ImpossibleState("a release has other plain columns than its table", where=where)
    if not shown.width:
        return
    records = population.records()
    of_table = np.searchsorted(table.records(), place[records])
    blank = pl.Series(is_blank[records])
    right = own[of_table].filter(~blank)
    if (
        not shown.filter(~blank).equals(right)
        or not shown.filter(blank).select(pl.all().is_null().all()).row(0) == (True,) * shown.width
    ):
        raise ImpossibleState("a plain cell is shown that must not be", where=where)
