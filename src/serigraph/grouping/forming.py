"""Forming groups: top-down by cutting, bottom-up by merging, for both forms of a release.

One idea serves both forms. A *cell* is a set of neighbours. In the generalised form a cell must be
a valid group itself; in the bucketised form it must be possible to deal its people into groups of
the smallest size that theory allows, which then interleave inside the cell. Cells are chosen by
the width of their boxes and by counts of values; who in a cell holds what plays no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping import kernels
from serigraph.grouping.kernels import Facts, Scratch
from serigraph.grouping.problem import Demand, facts, scratch
from serigraph.population import History, Population

Method = Literal["top-down", "bottom-up"]


@dataclass(frozen=True)
class Grouping:
    """A proposal: the group of every person, and the box of codes of every group."""

    group: NDArray[np.int64]
    low: NDArray[np.int32]  # [group, column]
    high: NDArray[np.int32]

    @property
    def groups(self) -> int:
        return len(self.low)


def form_groups(
    population: Population,
    history: History,
    demand: Demand,
    method: Method,
    weight: NDArray[np.uint8],
    key: NDArray[np.uint64],
) -> Grouping:
    """Propose groups for everybody. Groups that no way was found to make valid are among them:
    ``excess_pairs`` names what is wrong with them."""
    f = facts(population, history, demand, weight, key)
    s = scratch(len(population.protected))
    order = np.arange(population.size, dtype=np.int64)
    if demand.interleave:
        return _interleaved(f, s, order, method)
    low, high = _whole_box(population)
    cells = np.array([[0, population.size, 0, 0]], dtype=np.int64)
    simple = f.past.shape[1] == 0
    if method == "bottom-up":
        cells, low, high, finished = _merged_cells(f, s, order, low, high, simple)
        rest, rest_low, rest_high = _split(
            f, s, order, cells[~finished], low[~finished], high[~finished], simple
        )
        cells = np.concatenate([cells[finished], rest])
        low = np.concatenate([low[finished], rest_low])
        high = np.concatenate([high[finished], rest_high])
    else:
        cells, low, high = _split(f, s, order, cells, low, high, simple)
    return _numbered(f, order, cells, low, high)


def excess_pairs(
    population: Population,
    history: History,
    demand: Demand,
    weight: NDArray[np.uint8],
    group: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The (person, value) pairs to be given up: everybody that holds, in some group, a value that
    some member of the group cannot bear."""
    f = facts(population, history, demand, weight, np.zeros(population.size, dtype=np.uint64))
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group))
    found = kernels.excesses(f, scratch(len(population.protected)), order, ends)
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    values = max(len(population.protected), 1)
    excess = np.isin(group[holder] * values + population.held, found[:, 0] * values + found[:, 1])
    return holder[excess], population.held[excess]


def _whole_box(population: Population) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    columns = len(population.domains)
    high = np.array([[domain.size - 1 for domain in population.domains]], dtype=np.int32)
    return np.zeros((1, columns), dtype=np.int32), high.reshape(1, columns)


def _split(
    f: Facts,
    s: Scratch,
    order: NDArray[np.int64],
    cells: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    simple: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    if len(cells) == 0:
        return cells, low, high
    return kernels.split_cells(f, s, order, cells, low, high, simple)  # type: ignore[no-any-return]


def _merged_cells(
    f: Facts,
    s: Scratch,
    order: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    simple: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Cells merged bottom-up, and which of them need no further cut: those that never merged."""
    leaf = max(f.minimum_size, 1)
    tree, low, high = kernels.blind_cells(f, order, 0, len(order), low[0], high[0], leaf)
    state = kernels.merge_siblings(f, s, order, tree, simple)
    kept = state >= 0
    cells = tree[kept].copy()
    cells[:, 2] = state[kept]
    finished = (tree[kept, 2] == 0) & (state[kept] != kernels.FAILED)
    return cells, low[kept], high[kept], finished


def _interleaved(f: Facts, s: Scratch, order: NDArray[np.int64], method: Method) -> Grouping:
    columns = f.codes.shape[0]
    low = np.zeros((1, columns), dtype=np.int32)
    single = len(f.held) == 0 or int(np.diff(f.held_start).max()) <= 1
    simple = f.past.shape[1] == 0 and single
    slot = np.empty(len(order), dtype=np.int64)
    if method == "bottom-up":
        size = max(f.minimum_size, int(np.ceil(f.base.min())) if len(f.base) else 1)
        tree, _, _ = kernels.blind_cells(f, order, 0, len(order), low[0], low[0], size)
        cells = tree[tree[:, 2] == 0].copy()
        cells[:, 2] = kernels.FAILED
        for cell in cells:
            cell[2], cell[3] = kernels.cell_state(f, s, order, cell[0], cell[1], simple, slot)
    else:
        whole = np.array([[0, len(order), 0, 0]], dtype=np.int64)
        cells, _, _ = _split(f, s, order, whole, low, low, simple)
    cells = kernels.merge_neighbours(f, s, order, cells[np.argsort(cells[:, 0])], simple, slot)
    group = np.full(len(order), -1, dtype=np.int64)
    groups = kernels.deal_cells(f, s, order, cells, slot, group)
    failed = cells[cells[:, 2] == kernels.FAILED]
    if len(failed):
        alone = f._replace(interleave=False)
        boxes = np.zeros((len(failed), columns), dtype=np.int32)
        failed, _, _ = _split(alone, s, order, failed, boxes, boxes, f.past.shape[1] == 0)
        for a, b, state, _ in failed.tolist():
            if state != kernels.PLAIN:
                group[order[a:b]] = groups
                groups += 1
    group, groups = _plain_groups(f, group, groups)
    empty = np.empty((groups, 0), dtype=np.int32)
    return Grouping(group, empty, empty)


def _numbered(
    f: Facts,
    order: NDArray[np.int64],
    cells: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> Grouping:
    group = np.full(len(order), -1, dtype=np.int64)
    boxed = cells[:, 2] != kernels.PLAIN
    number = np.full(len(cells), -1, dtype=np.int64)
    number[boxed] = np.arange(boxed.sum())
    by_place = np.argsort(cells[:, 0])
    lengths = (cells[:, 1] - cells[:, 0])[by_place]
    group[order] = np.repeat(number[by_place], lengths)
    group, groups = _plain_groups(f, group, int(boxed.sum()))
    plain = groups - int(boxed.sum())
    if plain:
        first = np.full(groups, len(order), dtype=np.int64)
        np.minimum.at(first, group, np.arange(len(order)))
        points = f.codes[:, first[groups - plain :]].T
    else:
        points = np.empty((0, f.codes.shape[0]), dtype=np.int32)
    return Grouping(
        group,
        np.concatenate([low[boxed], points]).astype(np.int32),
        np.concatenate([high[boxed], points]).astype(np.int32),
    )


def _plain_groups(f: Facts, group: NDArray[np.int64], groups: int) -> tuple[NDArray[np.int64], int]:
    """Number the people without a group by their quasi-identifiers: equal ones belong together."""
    plain = np.flatnonzero(group < 0)
    if len(plain) == 0:
        return group, groups
    together = np.zeros(len(plain), dtype=np.int64)
    for column in f.codes:
        codes = column[plain].astype(np.int64)
        together = together * (int(codes.max()) + 1) + codes
        _, together = np.unique(together, return_inverse=True)
    numbered = group.copy()
    numbered[plain] = groups + together
    return numbered, groups + int(together.max()) + 1
