"""The tables of a release, in the two forms, and how much of the quasi-identifiers they hide. No
identifier of a person is in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import fsum
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import (
    CodedValues,
    Population,
    occurrences,
    occurring,
    order_by_keys,
)
from serigraph.recoding.labels import as_text, cells_at, region_labels, widened_to_nodes
from serigraph.runtime.compiled import kernel
from serigraph.runtime.randomness import Randomness, shuffled
from serigraph.runtime.threads import TOGETHER, parallel_map, parallel_take, slices

Extents = tuple[NDArray[np.int32], NDArray[np.int32]]


def extents(codes: NDArray[np.int32], group: NDArray[np.int64], groups: int) -> Extents:
    """The smallest and the largest code of each group in each column: [group, column]."""

    def extent(columns: slice) -> Extents:
        several = np.ascontiguousarray(codes[columns])
        low = np.full((groups, len(several)), np.iinfo(np.int32).max, dtype=np.int32)
        high = np.full((groups, len(several)), -1, dtype=np.int32)
        _extend(several, group, low, high)
        return low, high

    low, high = zip(*parallel_map(extent, slices(len(codes))), strict=True)
    return np.concatenate(low, axis=1), np.concatenate(high, axis=1)


@kernel
def _extend(
    codes: NDArray[np.int32],
    group: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> None:
    """Widen the intervals of each ``group``, from ``low`` to ``high``, [group, column], until they
    hold the ``codes``, [column, person], of everybody in it. The ends of a group are adjacent,
    since groups come in no order: each is looked up in memory once."""
    for i in range(len(group)):
        g = group[i]
        for column in range(len(codes)):
            # Branch-free: always write the new end.
            low[g, column] = min(low[g, column], codes[column, i])
            high[g, column] = max(high[g, column], codes[column, i])


def normalised_widths(
    population: Population,
    group: NDArray[np.int64],
    is_point: NDArray[np.bool_],
    known: Extents | None = None,
) -> NDArray[np.float64]:
    """NCP of each column: the width of a person's group on its scale, averaged over the members of
    published groups, which have somebody present. ``is_point`` says which groups consist of
    people who are all alike: these have no width. The extents of all groups may be ``known``.

    0 if everybody keeps their own value, 1 if no two can be distinguished.
    """
    codes, groups = population.codes, len(is_point)
    is_shown = occurring(group, groups, population.present)
    people = np.where(is_shown, occurrences(group, groups), 0)
    members = int(people.sum())
    if members == 0:
        return np.zeros(len(population.domains))
    if known is None and is_point.any():
        wide = np.flatnonzero(~parallel_take(is_point, group))
        codes, group = codes[:, wide], (np.cumsum(~is_point) - 1)[group[wide]]
        people, groups = people[~is_point], groups - int(is_point.sum())
    low, high = known or extents(codes, group, groups)
    low, high = (np.where(people[:, None] > 0, each, 0) for each in (low, high))

    def loss(column: int) -> float:
        at = population.domains[column].positions()
        width = np.minimum(at[high[:, column]] - at[low[:, column]], 1.0)
        # Rounded once, since the order of groups must not show in the last digit.
        return fsum(width * people) / members

    return np.array(parallel_map(loss, range(len(population.domains))))


GROUP, COHORT, VALUE, COUNT = "group", "cohort", "value", "count"

_HALF_A_WORD = 32
_Result = TypeVar("_Result")


def generalised(
    population: Population,
    group: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    sensitive: str,
    randomness: Randomness,
    *,
    has_one_value: bool = False,
    known: Extents | None = None,
) -> dict[str, pl.DataFrame]:
    """One row for each present person: the region of its group, and its own values; see
    ``as_text``.

    Rows come in random order. Absent members widen regions but have no row. Where a person has one
    value, a cell holds that value and not a set. The extents of the groups may be ``known``.
    """

    def values(records: NDArray[np.int64]) -> list[pl.Series]:
        if not has_one_value:
            sets = population.values.gather(records).cast(pl.List(pl.String))
            return [sets.alias(sensitive)]
        own = population.values.list.first().gather(records)
        if isinstance(own.dtype, pl.Enum) and not own.null_count():
            own = cells_at(own.dtype.categories, own.to_physical().to_numpy())
        else:
            own = own.cast(pl.String)
        return [own.alias(sensitive)]

    return {"table": generalised_rows(population, group, low, high, values, randomness, known)}


def generalised_rows(
    population: Population,
    group: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    shown: Callable[[NDArray[np.int64]], list[pl.Series]],
    randomness: Randomness,
    known: Extents | None = None,
) -> pl.DataFrame:
    """One row for each present person, in random order: the region of its group, and what is
    ``shown`` of the records with these places."""
    inner_low, inner_high = known or extents(population.codes, group, len(low))
    records = rows = shuffled(len(population.values), randomness)
    if len(rows) < population.size:
        rows = parallel_take(population.records(), records)
    of_rows = parallel_take(group, rows)
    occurring_groups = np.flatnonzero(np.bincount(of_rows, minlength=len(low)))
    place = np.empty(len(low), dtype=np.uint32)
    place[occurring_groups] = np.arange(len(occurring_groups))
    of_row = pl.Series(parallel_take(place, of_rows))

    def regions(number: int) -> list[pl.Series]:
        domain = population.domains[number]
        bounds = (each[occurring_groups, number] for each in (inner_low, inner_high, low, high))
        labels = region_labels(domain, *widened_to_nodes(domain, *bounds))
        return [labels.gather(of_row)]

    works: list[Callable[[], list[pl.Series]]] = [partial(shown, records)]
    works += [partial(regions, number) for number in range(len(population.domains))]
    own, *columns = parallel_map(_done, works)
    return pl.DataFrame([*(each for column in columns for each in column), *own])


def regions_of(
    population: Population,
    members: Sequence[NDArray[np.int64]],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> pl.DataFrame:
    """The labels of some regions as the generalised table has them: each is that of these
    ``members``, places in the population, in a box from ``low`` to ``high``, [region, column]."""
    columns = []
    for number, domain in enumerate(population.domains):
        codes = [population.codes[number, places] for places in members]
        first, last = (
            np.array([end(each) for each in codes], dtype=np.int32) for end in (np.min, np.max)
        )
        widened = widened_to_nodes(domain, first, last, low[:, number], high[:, number])
        columns.append(region_labels(domain, *widened))
    return as_text(pl.DataFrame(columns))


def bucketised(
    population: Population,
    group: NDArray[np.int64],
    is_point: NDArray[np.bool_],
    shows_absent: bool,
    randomness: Randomness,
    cohort: NDArray[np.int64] | None = None,
    held: Callable[[], pl.DataFrame] | None = None,
) -> dict[str, pl.DataFrame]:
    """Two tables: the quasi-identifiers of all members with their group, and with their cohort if
    values persist, and what each group holds, ``held`` if it is given; see ``as_text``.

    ``group`` is the published number. Groups in which nobody is present are left out, unless values
    persist; rows are in the order of the group, at random within. ``is_point`` says which groups
    consist of people who are all alike.
    """
    if cohort is not None:
        is_point = np.zeros_like(is_point)  # equal quasi-identifiers may be of several cohorts
    works: list[Callable[[], pl.DataFrame]] = [
        partial(_members, population, group, is_point, shows_absent, randomness, cohort),
        held or partial(held_in_groups, population, group),
    ]
    members, sensitive = parallel_map(_done, works)
    return {"quasi_identifiers": members, "sensitive": sensitive}


def _done(work: Callable[[], _Result]) -> _Result:
    return work()


def _members(
    population: Population,
    group: NDArray[np.int64],
    is_point: NDArray[np.bool_],
    shows_absent: bool,
    randomness: Randomness,
    cohort: NDArray[np.int64] | None,
) -> pl.DataFrame:
    """The quasi-identifiers of the members of groups in which somebody is present, or of all if
    people stay together in cohorts."""
    present, groups = population.present, len(is_point)
    everybody_is_there = len(population.values) == population.size
    is_row = None if shows_absent or everybody_is_there else present
    sizes = occurrences(group, groups, is_row)
    if not everybody_is_there and cohort is None:
        sizes[~occurring(group, groups, present)] = 0
    rows = _rows(group, is_row, ~is_point & (sizes > 0), sizes, randomness)

    def cells(number: int) -> pl.Series:
        domain, codes = population.domains[number], population.codes[number]
        return cells_at(domain.values, parallel_take(codes, rows)).alias(domain.name)

    columns = parallel_map(cells, range(len(population.domains)))
    numbers = [pl.Series(GROUP, np.repeat(np.arange(groups), sizes))]
    if cohort is not None:
        of_row = pl.Series(COHORT, parallel_take(cohort, rows))
        numbers.append(of_row.set(of_row < 0, None))
    return pl.DataFrame([*numbers, *columns])


def _rows(
    group: NDArray[np.int64],
    is_row: NDArray[np.bool_] | None,
    is_mixed: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    randomness: Randomness,
) -> NDArray[np.int64]:
    """People in the order of their groups, whose numbers of rows are given, at random within. In
    groups that are not mixed all are alike, and one of them stands for each: it is the same row."""
    if is_row is None and is_mixed.all():
        return order_by_keys(randomness.keys(len(group)), group)
    somebody = np.zeros(len(sizes), dtype=np.int64)

    def mixed(part: slice) -> NDArray[np.int64]:
        mine = group[part]
        somebody[mine] = np.arange(part.start, part.stop)
        is_found = is_mixed[mine]
        if is_row is not None:
            is_found &= is_row[part]
        return np.asarray(part.start + np.flatnonzero(is_found))

    people = np.concatenate(parallel_map(mixed, slices(len(group), longest=TOGETHER)))
    order = order_by_keys(randomness.keys(len(people)), parallel_take(group, people))
    rows = np.repeat(somebody, sizes)
    rows[np.repeat(is_mixed, sizes)] = people[order]
    return rows


def held_in_groups(population: Population, group: NDArray[np.int64]) -> pl.DataFrame:
    """How many people of each group hold each value, protected or not."""
    values = CodedValues.of(population.values)
    for_code = max(len(values.names) - 1, 0).bit_length()
    for_group = int(group.max()).bit_length()
    word = np.uint32 if for_code + for_group <= _HALF_A_WORD else np.uint64
    people = values.person
    if len(population.values) < population.size:
        people = parallel_take(population.records(), people)
    together: NDArray[Any] = parallel_take(group, people).astype(word)
    together <<= for_code
    together |= values.code
    together.sort()
    first = np.flatnonzero(np.append(True, together[1:] != together[:-1])[: len(together)])
    distinct = together[first]
    return pl.DataFrame(
        {
            GROUP: (distinct >> for_code).astype(np.int64),
            VALUE: cells_at(values.names, distinct & ((1 << for_code) - 1)),
            COUNT: np.diff(first, append=len(together)),
        }
    )
