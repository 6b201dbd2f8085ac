"""Forming groups: top-down by cutting, bottom-up by merging, for both forms of a release.

One idea serves both forms. A *cell* is a set of neighbours. In the generalised form a cell must be
a valid group itself; in the bucketised form it must be possible to deal its people into groups of
the smallest size that theory allows, which then interleave inside the cell. Cells are chosen by
the width of their boxes and by counts of values; who in a cell holds what plays no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping import kernels
from serigraph.grouping.districts import Districts, districts, in_threads
from serigraph.grouping.kernels import Facts, Scratch
from serigraph.grouping.problem import Demand, facts, scratch
from serigraph.population import Domain, History, Population, ranked
from serigraph.progress import Progress, silently

Method = Literal["top-down", "bottom-up"]
_MOST = 2**62  # quasi-identifiers that a number can tell apart

Box = tuple[Sequence[int], Sequence[int]]  # the lowest and the highest code of each column


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
    box: Box | None = None,
    progress: Progress = silently,
) -> Grouping:
    """Propose groups for everybody. Groups that no way was found to make valid are among them:
    ``excess_pairs`` names what is wrong with them. No group reaches beyond the ``box`` that these
    people have for themselves, where they are not everybody."""
    f = facts(population, history, demand, weight, key)
    single = len(f.held) == 0 or int(np.diff(f.held_start).max()) <= 1
    simple = f.past.shape[1] == 0 and (single or not demand.interleave)
    drawn = districts(f, _whole(population, box), simple)
    progress("forming groups")
    form = _interleaved if demand.interleave else _boxed
    grouping = form(drawn, method, simple, progress)
    group = np.empty(population.size, dtype=np.int64)
    group[drawn.people] = grouping.group
    return Grouping(group, grouping.low, grouping.high)


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
    order = np.argsort(group)
    ends = np.cumsum(np.bincount(group))
    found = kernels.excesses(f, scratch(len(population.protected)), order, ends)
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    values = max(len(population.protected), 1)
    excess = np.isin(group[holder] * values + population.held, found[:, 0] * values + found[:, 1])
    return holder[excess], population.held[excess]


def _whole(population: Population, box: Box | None) -> NDArray[np.int64]:
    """Everybody as one cell."""
    low, high = box or whole_box(population.domains)
    return np.array([0, population.size, 0, 0, *low, *high], dtype=np.int64)


def whole_box(domains: Sequence[Domain]) -> Box:
    """The box that holds every code of every column."""
    return [0] * len(domains), [max(domain.size - 1, 0) for domain in domains]


def _boxed(drawn: Districts, method: Method, simple: bool, progress: Progress) -> Grouping:
    """Groups that are boxes: each cell is one group."""
    f = drawn.facts
    order = np.arange(f.codes.shape[1], dtype=np.int64)

    def top_down(s: Scratch, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(kernels.split_cells(f, s, order, cells, simple))

    def bottom_up(s: Scratch, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([narrower(s, cell) for cell in cells])

    def narrower(s: Scratch, cell: NDArray[np.int64]) -> NDArray[np.int64]:
        here = slice(cell[kernels.BEGIN], cell[kernels.END])
        before = order[here].copy()
        merged = grown(s, cell, False)
        after = order[here].copy()
        width = kernels.total_width(f, order, merged)
        order[here] = before
        other = grown(s, cell, True)
        if kernels.total_width(f, order, other) < width:
            return other
        order[here] = after
        return merged

    def grown(s: Scratch, cell: NDArray[np.int64], squared: bool) -> NDArray[np.int64]:
        size = max(f.minimum_size, int(np.ceil(f.base.min())) if len(f.base) else 1)
        tree = kernels.blind_tree(f, s, order, cell, size, squared)
        state = kernels.merge_siblings(f, s, order, tree, simple, False)
        leaf = (tree[:, kernels.STATE] == 0) & (state == kernels.PLAIN)
        tree[:, kernels.STATE] = state
        kept = state >= 0
        rest = tree[kept & ~leaf]
        # What was merged may be cut again where a cut was not thought of before values were seen.
        return np.concatenate([tree[kept & leaf], top_down(s, rest) if len(rest) else rest])

    work = top_down if method == "top-down" else bottom_up
    cells = in_threads(drawn.cells, len(f.base), work, partial(progress, "forming groups"))
    return _numbered(f, order, cells)


def _interleaved(drawn: Districts, method: Method, simple: bool, progress: Progress) -> Grouping:
    """Groups that interleave: each cell is dealt into as many groups as it bears."""
    f = drawn.facts
    order = np.arange(f.codes.shape[1], dtype=np.int64)
    slot = np.empty(len(order), dtype=np.int64)

    def top_down(s: Scratch, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(kernels.split_cells(f, s, order, cells, simple))

    def bottom_up(s: Scratch, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        size = max(f.minimum_size, int(np.ceil(f.base.min())) if len(f.base) else 1)
        trees = [kernels.blind_tree(f, s, order, cell, size, False) for cell in cells]
        blocks = np.concatenate([tree[tree[:, kernels.STATE] == 0] for tree in trees])
        blocks[:, kernels.STATE] = kernels.UNKNOWN
        return blocks

    work = top_down if method == "top-down" else bottom_up
    cells = in_threads(drawn.cells, len(f.base), work, partial(progress, "forming groups"))
    cells = cells[np.argsort(cells[:, kernels.BEGIN])]
    s = scratch(len(f.base))
    cells = kernels.merge_neighbours(f, s, order, cells, simple, slot)
    dealt = in_threads(
        cells, len(f.base), lambda s, part: kernels.deal_cells(f, s, order, part, slot)
    )
    lengths = cells[:, kernels.END] - cells[:, kernels.BEGIN]
    first = np.where(dealt > 0, np.cumsum(dealt) - dealt, -1)
    group = np.full(len(order), -1, dtype=np.int64)
    of_cell = np.repeat(first, lengths)
    group[order] = np.where(of_cell >= 0, of_cell + slot, -1)
    groups = int(dealt.sum())
    failed = cells[(dealt == 0) & (cells[:, kernels.STATE] != kernels.PLAIN)]
    if len(failed):
        alone = kernels.split_cells(
            f._replace(interleave=False), s, order, failed, f.past.shape[1] == 0
        )
        for a, b, state in alone[:, :3].tolist():
            if state != kernels.PLAIN:
                group[order[a:b]] = groups
                groups += 1
    group, groups = _plain_groups(f, group, groups)
    empty = np.empty((groups, 0), dtype=np.int32)
    return Grouping(group, empty, empty)


def _numbered(f: Facts, order: NDArray[np.int64], cells: NDArray[np.int64]) -> Grouping:
    columns = f.codes.shape[0]
    cells = cells[np.argsort(cells[:, kernels.BEGIN])]
    boxed = cells[:, kernels.STATE] != kernels.PLAIN
    number = np.where(boxed, np.cumsum(boxed) - 1, -1)
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.repeat(number, cells[:, kernels.END] - cells[:, kernels.BEGIN])
    boxes = int(boxed.sum())
    group, groups = _plain_groups(f, group, boxes)
    somebody = np.zeros(groups, dtype=np.int64)
    somebody[group] = np.arange(len(order))
    points = f.codes[:, somebody[boxes:]].T.astype(np.int64)
    low = cells[boxed, kernels.BOX : kernels.BOX + columns]
    high = cells[boxed, kernels.BOX + columns :]
    return Grouping(
        group,
        np.concatenate([low, points]).astype(np.int32),
        np.concatenate([high, points]).astype(np.int32),
    )


def _plain_groups(f: Facts, group: NDArray[np.int64], groups: int) -> tuple[NDArray[np.int64], int]:
    """Number the people without a group by their quasi-identifiers: equal ones belong together."""
    plain = np.flatnonzero(group < 0)
    if len(plain) == 0:
        return group, groups
    together, different = np.zeros(len(plain), dtype=np.int64), 1
    for column in f.codes:
        codes = column[plain]
        values = int(codes.max()) + 1
        if different * values > _MOST:
            known, rank = ranked(together)
            together, different = rank.astype(np.int64), len(known)
        together = together * values + codes
        different *= values
    known, rank = ranked(together)
    numbered = group.copy()
    numbered[plain] = groups + rank
    return numbered, groups + len(known)
