"""Large populations are first cut into districts, so that the detailed work stays in the cache and
can be shared among threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.counts import clear, cover, has_counts, tally
from serigraph.grouping.cutting import cut_down
from serigraph.grouping.layout import (
    BEGIN,
    BOX,
    COLUMN,
    END,
    FEW,
    RIGHT,
    SLACK,
    Cell,
    GroupingInput,
    Scratch,
)
from serigraph.grouping.past import add_largest_targets, pasts_allow
from serigraph.grouping.problem import narrow_codes, narrowed, scratch
from serigraph.model import starts_of
from serigraph.runtime.compiled import int64, kernel
from serigraph.runtime.progress import Report
from serigraph.runtime.threads import TOGETHER, parallel_map, parallel_take, slices, threads

DISTRICT = 4096  # smallest number of people
PARTS = 32  # work items per thread: enough to show progress
FALLING = 1024  # people who descend the tree in lockstep
ARRANGED = 1 << 16  # people rearranged at a time
SAMPLED = 64  # people per district in the sample that sets its border


@dataclass(frozen=True)
class Districts:
    """People in the order of their districts; ``input`` has them by their places in ``people``."""

    input: GroupingInput
    people: NDArray[np.uint32]
    cells: NDArray[np.int64]
    order: NDArray[np.uint32]  # of the places; cutting a district rearranges it


def districts(f: GroupingInput, whole: NDArray[np.int64], simple: bool) -> Districts:
    """Draw borders from a sample, without looking at values, then merge districts that are not
    valid with their siblings."""
    people = f.codes.shape[1]
    if people < 4 * DISTRICT:
        places = np.arange(people, dtype=np.uint32)
        return Districts(narrowed(f), places, whole, places.copy())
    every = DISTRICT // SAMPLED
    cell = whole.copy()
    cell[0, END] = len(f.key[::every])
    sample = f._replace(codes=f.codes[:, ::every], key=f.key[::every].copy(), interleave=False)
    sample = narrowed(sample)
    sampled = np.arange(cell[0, END], dtype=np.uint32)
    s = scratch(f)
    tree = cut_down(sample, s, sampled, cell, simple, SAMPLED)
    leaf = leaves(f.codes, tree)
    parts = slices(people)
    counts = parallel_map(lambda part: _counted(leaf[part], len(tree)), parts)
    _settle(tree, np.sum(counts, axis=0))
    start = tree[:, BEGIN] + np.cumsum(counts, axis=0) - counts
    arranged, order = _arranged(f, leaf, parts, start)
    places = _numbered(leaf)
    holders = np.bincount(f.held, minlength=len(f.base))
    at_least = holders if f.blind else np.minimum(holders, FEW)
    cells = tree[merged(tree, partial(fitting, arranged, places, at_least))]
    cells = cells[cells[:, END] > cells[:, BEGIN]]
    return Districts(arranged, order, cells, places)


def _counted(leaf: NDArray[np.uint32], leaves: int) -> NDArray[np.int64]:
    """How many people are in each leaf; in blocks, because NumPy copies its input."""
    counts = np.zeros(leaves, dtype=np.int64)
    for begin in range(0, len(leaf), TOGETHER):
        counts += np.bincount(leaf[begin : begin + TOGETHER], minlength=leaves)
    return counts


def _numbered(room: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The numbers from 0 on, written over an array that is no longer needed."""

    def write(part: slice) -> None:
        room[part] = np.arange(part.start, part.stop, dtype=np.uint32)

    parallel_map(write, slices(len(room), longest=TOGETHER))
    return room


def leaves(codes: NDArray[np.integer], tree: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The row of each person's leaf."""
    leaf = np.empty(codes.shape[1], dtype=np.uint32)
    parallel_map(
        lambda part: find_leaves(codes, tree, part.start, part.stop, leaf),
        slices(len(leaf)),
    )
    return leaf


def fitting(
    f: GroupingInput,
    order: NDArray[np.uint32],
    at_least: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether each of these cells is valid, even with ``at_least`` this many holders of each value:
    the border of a district must not reveal where a few holders are."""
    fits = np.empty(len(cells), dtype=np.bool_)
    largest = float(np.ceil(f.base[at_least > 0].max(initial=0.0)))
    size = largest + f.known if largest > 0.0 else 0.0
    if f.blind:  # the counts must fit wherever the holders are
        size = max(size, float(f.minimum_size))
    least = float(at_least.max(initial=0)) * size
    parallel_map(
        lambda part: check_cells(
            f, scratch(f), order, cells, part.start, part.stop, at_least, least, fits
        ),
        slices(len(cells)),
    )
    return fits


def merged(
    tree: NDArray[np.int64], fitting: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """The rows of a tree that remain when leaves are merged until each fits or only one is left."""
    right = tree[:, RIGHT]
    is_leaf = right == 0
    remains, is_settled = np.zeros(len(tree), dtype=np.bool_), np.zeros(len(tree), dtype=np.bool_)
    remains[is_leaf] = is_settled[is_leaf] = fitting(tree[is_leaf])
    end = np.arange(len(tree)) + 1  # of the subtree of each row
    for row in np.flatnonzero(~is_leaf)[::-1].tolist():
        end[row] = end[right[row]]
        is_settled[row] = is_settled[row + 1] and is_settled[right[row]]
        if not is_settled[row] and (fitting(tree[row : row + 1])[0] or row == 0):
            remains[row : end[row]] = False
            remains[row] = is_settled[row] = True
    remains[0] |= is_leaf[0]
    return remains


def _settle(tree: NDArray[np.int64], people: NDArray[np.int64]) -> None:
    """Write to each row where its people begin and end, given that leaves follow each other."""
    tree[:, END] = np.cumsum(people)
    tree[:, BEGIN] = tree[:, END] - people
    for row in np.flatnonzero(tree[:, RIGHT])[::-1]:
        tree[row, END] = tree[tree[row, RIGHT], END]


def in_threads(
    f: GroupingInput,
    cells: NDArray[np.int64],
    work: Callable[[Scratch, NDArray[np.int64]], NDArray[np.int64]],
    report: Report = lambda _done, _total: None,
) -> NDArray[np.int64]:
    """Let threads work on parts of the cells; kernels release the interpreter's lock."""
    if len(cells) < 2 * threads():
        return work(scratch(f), cells)
    parts = np.array_split(cells, min(PARTS * threads(), len(cells)))  # none is empty
    return np.concatenate(parallel_map(lambda part: work(scratch(f), part), parts, report))


def _arranged(
    f: GroupingInput, leaf: NDArray[np.uint32], parts: Sequence[slice], start: NDArray[np.int64]
) -> tuple[GroupingInput, NDArray[np.uint32]]:
    """The input with people in the order of their leaves, and who they are. ``start[j]`` has where
    the people of part j begin in each leaf. Keys are random in any order, and stay."""
    order = np.empty(len(leaf), dtype=np.uint32)
    codes = np.empty(f.codes.shape, dtype=narrow_codes(f))
    held_start = f.held_start
    marks = f.held if f.holds_one else f.held_start[1:] > f.held_start[:-1]
    held: NDArray[Any] = np.empty_like(marks)
    parallel_map(
        lambda j: arrange(
            leaf,
            parts[j].start,
            parts[j].stop,
            start[j],
            f.codes,
            marks,
            order,
            codes,
            held,
        ),
        range(len(parts)),
    )
    if not f.holds_one:
        places = np.flatnonzero(held)  # of the people who hold something
        begin, end = f.held_start[order[places]], f.held_start[order[places] + 1]
        held_start = starts_of(np.repeat(places, end - begin), len(order))
        first = np.repeat(begin - held_start[places], end - begin)
        held = parallel_take(f.held, first + np.arange(len(f.held)))
    return (
        f._replace(
            codes=codes,
            held_start=held_start,
            held=held,
            weight=f.weight if f.weight.all() else parallel_take(f.weight, order),
            past_row=order if f.past.shape[1] else f.past_row,
        ),
        order,
    )


@kernel
def find_leaves(
    codes: NDArray[np.integer],
    tree: NDArray[np.int64],
    begin: int,
    end: int,
    leaf: NDArray[np.uint32],
) -> None:
    """Write the row of each person's ``leaf``, for those from ``begin`` to ``end``, in a tree grown
    from a sample, by their ``codes``.

    Many people descend in lockstep, and those who have arrived stay where they are: no step waits
    for the one before, and there is no branch to mispredict.
    """
    columns = codes.shape[0]
    column = np.zeros(len(tree), dtype=np.uint32)
    code = np.zeros(len(tree), dtype=np.int32)
    child = np.empty((len(tree), 2), dtype=np.uint32)
    depth = np.zeros(len(tree), dtype=np.int64)
    deepest = int64(0)
    for row in range(len(tree)):
        child[row, 0] = child[row, 1] = row
        if tree[row, RIGHT] > 0:
            column[row] = tree[row, COLUMN]
            code[row] = tree[row + 1, BOX + columns + tree[row, COLUMN]]
            child[row, 0], child[row, 1] = row + 1, tree[row, RIGHT]
            depth[row + 1] = depth[tree[row, RIGHT]] = depth[row] + 1
        deepest = max(deepest, depth[row])
    for first in range(begin, end, FALLING):
        last = min(first + FALLING, end)
        for person in range(first, last):
            leaf[person] = 0
        for _ in range(deepest):
            for person in range(first, last):
                row = leaf[person]
                is_right = np.uint32(codes[column[row], person] > code[row])
                leaf[person] = child[row, is_right]


@kernel
def arrange(  # nine parameters: what one pass over the people reads, and what it writes
    leaf: NDArray[np.uint32],
    begin: int,
    end: int,
    start: NDArray[np.int64],
    codes: NDArray[np.integer],
    held: NDArray[Any],
    people: NDArray[np.uint32],
    arranged_codes: NDArray[np.integer],
    arranged_held: NDArray[Any],
) -> None:
    """Put people, from ``begin`` to ``end``, in the order of their ``leaf``: the next one of a leaf
    goes to ``start[leaf]``. Writes who is at each place to ``people``, the ``codes`` to
    ``arranged_codes``, and what is ``held``, or whether anything is, to ``arranged_held``.

    Goes column by column, in blocks large enough that the people of a leaf share cache lines.
    """
    place = np.empty(ARRANGED, dtype=np.uint32)
    for first in range(begin, end, ARRANGED):
        last = min(first + ARRANGED, end)
        for i in range(first, last):
            at = start[leaf[i]]
            start[leaf[i]] = at + 1
            place[i - first] = at
            people[at] = i
        for e in range(codes.shape[0]):
            for i in range(first, last):
                arranged_codes[e, place[i - first]] = codes[e, i]
        for i in range(first, last):
            arranged_held[place[i - first]] = held[i]


@kernel
def check_cells(  # nine parameters: what a pass over the cells reads, and what it writes
    f: GroupingInput,
    s: Scratch,
    order: NDArray[np.uint32],
    cells: NDArray[np.int64],
    begin: int,
    end: int,
    at_least: NDArray[np.int64],
    least: float,
    fits: NDArray[np.bool_],
) -> None:
    """Write to ``fits``, for each cell from ``begin`` to ``end``, whether it is valid: the values'
    shares allow it, and so would its people's pasts if it were one group, even if ``at_least`` this
    many of its people held each value, each in a separate group, wherever they are. For that it
    needs ``least`` people."""
    few = int64(0)
    for value in range(len(at_least)):
        few = max(few, at_least[value])
    need = np.empty(len(f.base))
    for i in range(begin, end):
        cell = Cell(cells[i, BEGIN], cells[i, END])
        n, touched = tally(f, s, order, cell)
        most = few
        for t in range(touched):
            most = max(most, s.holders[s.touched[t]])
        clear(s, touched)
        fits[i] = n >= least and has_counts(f, s, order, cell)
        if fits[i] and not pasts_allow(f, order, cell, most, n):
            need[:] = 0.0
            add_largest_targets(f, s, order, cell, need)
            n, touched = tally(f, s, order, cell)
            for value in range(len(need)):
                holders = max(s.holders[value], at_least[value])
                if holders > 0 and holders * need[value] > cover(f, n) * (1.0 + SLACK):
                    fits[i] = False
            clear(s, touched)
