"""Forming groups: top-down by cutting, bottom-up by merging, for both forms of a release.

One idea serves both forms. A *cell* is a set of neighbours. In the generalised form a cell must be
a valid group itself; in the bucketised form it must be possible to deal its people into groups of
the smallest size that theory allows, which then interleave inside the cell. Cells are chosen by
the width of their boxes and by counts of values; who in a cell holds what does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.cutting import cut_down
from serigraph.grouping.districts import Districts, districts, in_threads
from serigraph.grouping.layout import (
    BEGIN,
    END,
    FAILED,
    FEW,
    GROUPS,
    PLAIN,
    RIGHT,
    SLACK,
    STATE,
    GroupingInput,
    Scratch,
)
from serigraph.grouping.merging import deal_cells, merge_siblings
from serigraph.grouping.numbering import Formed, Grouping, number_groups
from serigraph.grouping.past import find_neediest, largest_targets
from serigraph.grouping.problem import Demand, grouping_input, narrowed, scratch
from serigraph.model import Domain, Past, Population
from serigraph.runtime.progress import Progress, Report, no_progress
from serigraph.runtime.threads import parallel_map, slices

Method = Literal["top-down", "bottom-up"]
NEIGHBOURHOOD = 32  # groups in a cell cut without values, bottom-up, and then with them
Box = tuple[Sequence[int], Sequence[int]]  # lowest and highest code of each column


def form_groups(  # what an engine may ask of groups
    population: Population,
    past: Past,
    demand: Demand,
    method: Method,
    weight: NDArray[np.uint8],
    key: NDArray[np.uint64],
    box: Box | None = None,
    at_least: NDArray[np.int64] | int = 0,
    progress: Progress = no_progress,
) -> Grouping | NDArray[np.int32]:
    """Propose valid groups for everybody, or name the values that do not fit somebody's budget even
    if everybody were one group, also with ``at_least`` this many holders of each.

    Smaller groups might do in that case, if they kept a value away from that person. But their
    choice would depend on who holds it. If these people are only part of the population, no group
    reaches beyond their ``box``.
    """
    f = grouping_input(population, past, demand, weight, key)
    if past.releases:
        f = f._replace(neediest=_neediest(f))
        over_budget = _values_over_budget(f, at_least)
        if len(over_budget):
            return over_budget
    holders = np.count_nonzero(f.held_start[1:] > f.held_start[:-1])
    simple = f.past.shape[1] == 0 and (len(f.held) == holders or not demand.interleave)
    whole = whole_cell(population.size, box or whole_box(population.domains))
    drawn = districts(f, whole, simple)
    progress("forming groups")
    report = partial(progress, "forming groups")
    if demand.interleave:
        formed = _interleaved(drawn, simple, report)
    else:
        formed = _boxed(drawn, method, simple, report)
    return number_groups(formed, drawn, has_boxes=not demand.interleave)


def _neediest(f: GroupingInput) -> NDArray[np.float64]:
    """The largest target that each person's past requires, over all values."""
    neediest = np.empty(len(f.past))
    narrow = narrowed(f._replace(codes=f.codes[:, :0]))  # the type that kernels are compiled for
    parallel_map(
        lambda part: find_neediest(narrow, scratch(f), part.start, part.stop, neediest),
        slices(len(neediest)),
    )
    return neediest


def _values_over_budget(f: GroupingInput, at_least: NDArray[np.int64] | int) -> NDArray[np.int32]:
    """The values that exceed somebody's budget if everybody were one group."""
    holders = np.maximum(np.bincount(f.held, minlength=len(f.base)), at_least)
    most = max(int(f.weight.sum()) - f.known, 0) * (1 + SLACK)
    held = np.flatnonzero(holders)  # a value without holders meets even an infinite target
    if not len(held) or holders.max() * f.neediest.max(initial=0.0) <= most:
        return np.empty(0, dtype=np.int32)
    narrow = narrowed(f._replace(codes=f.codes[:, :0]))
    people = np.arange(len(f.past), dtype=np.uint32)
    needs = parallel_map(
        lambda part: largest_targets(narrow, scratch(f), people, part.start, part.stop),
        slices(len(people)),
    )
    is_too_much = holders[held] * np.max(needs, axis=0)[held] > most
    return np.asarray(held[is_too_much], dtype=np.int32)


def whole_cell(people: int, box: Box) -> NDArray[np.int64]:
    """Everybody as a single cell."""
    low, high = box
    return np.array([[0, people, 0, 0, 0, 0, *low, *high]], dtype=np.int64)


def whole_box(domains: Sequence[Domain]) -> Box:
    """The box that holds every code of every column."""
    return [0] * len(domains), [max(domain.size - 1, 0) for domain in domains]


def _boxed(drawn: Districts, method: Method, simple: bool, report: Report) -> Formed:
    """Groups that are boxes: each cell is one group."""
    f, order = drawn.input, drawn.order
    cutting = _Cutting(f, order, simple)
    # With pasts, bottom-up merging would depend on where holders and needy people meet.
    blind_first = method == "bottom-up" and f.past.shape[1] == 0
    cut = cutting.bottom_up if blind_first else cutting.top_down
    cells = in_threads(f, drawn.cells, cut, report)
    cells[:, GROUPS] = cells[:, STATE] != PLAIN
    return Formed(cells, order, np.zeros(len(order), dtype=np.uint32))


@dataclass(frozen=True)
class _Cutting:
    """The ways to cut cells into groups that are boxes; they rearrange ``order`` as they go.

    Each cell is cut once. To cut it in two ways and keep the narrower result would reveal who holds
    a value: the choice depends on it, and anybody who knows the method can replay it in every
    world.
    """

    f: GroupingInput
    order: NDArray[np.uint32]
    simple: bool

    def top_down(self, s: Scratch, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Cut cells into groups."""
        return _leaves(cut_down(self.f, s, self.order, cells, self.simple, 0))

    def bottom_up(self, s: Scratch, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Cut cells without looking at values, merge the pieces until they are valid, and cut those
        again, now looking at values."""
        return np.concatenate([self._merged(s, cell.reshape(1, -1)) for cell in cells])

    def _merged(self, s: Scratch, cell: NDArray[np.int64]) -> NDArray[np.int64]:
        f, size = self.f, _neighbourhood(self.f)
        tree = cut_down(f, s, self.order, cell, self.simple, size)
        state = merge_siblings(f, s, self.order, tree)
        leaf = (tree[:, RIGHT] == 0) & (state == PLAIN)
        tree[:, STATE] = state
        kept = state >= 0
        return np.concatenate([tree[kept & leaf], self.top_down(s, tree[kept & ~leaf])])


def _leaves(tree: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cells of a tree that were not cut further."""
    return np.asarray(tree[tree[:, RIGHT] == 0])


def _neighbourhood(f: GroupingInput) -> int:
    """The size of a neighbourhood that is cut without values: room for many of the smallest groups,
    and for a few holders of any value, or all if cuts are blind, wherever they are."""
    if not len(f.base):
        return NEIGHBOURHOOD * f.minimum_size
    smallest, largest = (int(np.ceil(each)) + f.known for each in (f.base.min(), f.base.max()))
    holders = int(np.bincount(f.held, minlength=1).max()) if f.blind else FEW
    room: int = min(holders * largest, f.codes.shape[1])  # with more, nothing is cut either
    return max(NEIGHBOURHOOD * max(f.minimum_size, smallest), room)


def _interleaved(drawn: Districts, simple: bool, report: Report) -> Formed:
    """Groups that interleave: each cell is dealt into as many groups as possible."""
    f, order = drawn.input, drawn.order
    slot = np.empty(len(order), dtype=np.uint32)

    def dealt(s: Scratch, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([district(s, cell.reshape(1, -1)) for cell in drawn])

    def district(s: Scratch, cell: NDArray[np.int64]) -> NDArray[np.int64]:
        cells = _leaves(cut_down(f, s, order, cell, simple, 0))
        return np.asarray(deal_cells(f, s, order, cells, simple, False, slot))

    s = scratch(f)
    cells = in_threads(f, drawn.cells, dealt, report)
    cells = cells[np.argsort(cells[:, BEGIN])]
    cells = np.asarray(deal_cells(f, s, order, cells, simple, True, slot))
    for cell in np.flatnonzero(cells[:, STATE] == FAILED).tolist():
        cells[cell, GROUPS] = 1
        slot[cells[cell, BEGIN] : cells[cell, END]] = 0
    return Formed(cells, order, slot)
