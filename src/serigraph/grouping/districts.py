"""Large populations are cut into districts first, so that the fine work stays in the cache and
can be shared out to threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping import kernels
from serigraph.grouping.kernels import GroupingInput, Scratch
from serigraph.grouping.problem import narrow_codes, narrowed, scratch
from serigraph.model import starts_of
from serigraph.runtime.progress import Report
from serigraph.runtime.threads import TOGETHER, parallel_map, parallel_take, slices, threads

DISTRICT = 4096  # people, at the least
PARTS = 32  # of the work, for each thread: so many that progress can be told
SAMPLED = 64  # people of a district that are looked at to draw its border


@dataclass(frozen=True)
class Districts:
    """People in the order of their districts: ``facts`` speak of places in ``people``."""

    facts: GroupingInput
    people: NDArray[np.uint32]
    cells: NDArray[np.int64]
    order: NDArray[np.uint32]  # of the places; whoever cuts a district rearranges it


def districts(f: GroupingInput, whole: NDArray[np.int64], simple: bool) -> Districts:
    """Draw borders from a sample, without looking at values, and merge districts that cannot stand
    by themselves with their siblings."""
    people = f.codes.shape[1]
    if people < 4 * DISTRICT:
        places = np.arange(people, dtype=np.uint32)
        return Districts(narrowed(f), places, whole, places.copy())
    every = DISTRICT // SAMPLED
    cell = whole.copy()
    cell[0, kernels.END] = len(f.key[::every])
    sample = f._replace(codes=f.codes[:, ::every], key=f.key[::every].copy(), interleave=False)
    sample = narrowed(sample)
    sampled = np.arange(cell[0, kernels.END], dtype=np.uint32)
    s = scratch(len(f.base))
    tree = kernels.cut_down(sample, s, sampled, cell, simple, SAMPLED)
    leaf = leaves(f.codes, tree)
    parts = slices(people)
    counts = parallel_map(lambda part: _counted(leaf[part], len(tree)), parts)
    _settle(tree, np.sum(counts, axis=0))
    start = tree[:, kernels.BEGIN] + np.cumsum(counts, axis=0) - counts
    arranged, order = _arranged(f, leaf, parts, start)
    places = _numbered(leaf)
    holders = np.bincount(f.held, minlength=len(f.base))
    at_least = np.minimum(holders, kernels.FEW)
    cells = tree[merged(tree, partial(fitting, arranged, places, at_least))]
    cells = cells[cells[:, kernels.END] > cells[:, kernels.BEGIN]]
    return Districts(arranged, order, cells, places)


def _counted(leaf: NDArray[np.uint32], leaves: int) -> NDArray[np.int64]:
    """How many people are in each leaf; for some at a time, of which NumPy makes a copy."""
    counts = np.zeros(leaves, dtype=np.int64)
    for begin in range(0, len(leaf), TOGETHER):
        counts += np.bincount(leaf[begin : begin + TOGETHER], minlength=leaves)
    return counts


def _numbered(room: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The numbers from 0 on, in an array that nobody needs any more."""

    def write(part: slice) -> None:
        room[part] = np.arange(part.start, part.stop, dtype=np.uint32)

    parallel_map(write, slices(len(room), longest=TOGETHER))
    return room


def leaves(codes: NDArray[np.integer], tree: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The row of the leaf that each person lies in."""
    leaf = np.empty(codes.shape[1], dtype=np.uint32)
    parallel_map(
        lambda part: kernels.find_leaves(codes, tree, part.start, part.stop, leaf),
        slices(len(leaf)),
    )
    return leaf


def fitting(
    f: GroupingInput,
    order: NDArray[np.uint32],
    at_least: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether each of these cells can stand by itself, also with ``at_least`` so many holders of
    each value: a few of them must not tell by the border of a district where they are."""
    fits = np.empty(len(cells), dtype=np.bool_)
    parallel_map(
        lambda part: kernels.check_cells(
            f, scratch(len(f.base)), order, cells, part.start, part.stop, at_least, fits
        ),
        slices(len(cells)),
    )
    return fits


def merged(
    tree: NDArray[np.int64], fitting: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """The rows of a tree that remain if leaves are merged until each is fitting, or is all."""
    right = tree[:, kernels.RIGHT]
    is_leaf = right == 0
    remains, is_settled = np.zeros(len(tree), dtype=np.bool_), np.zeros(len(tree), dtype=np.bool_)
    remains[is_leaf] = is_settled[is_leaf] = fitting(tree[is_leaf])
    end = np.arange(len(tree)) + 1  # of what is below each row
    for row in np.flatnonzero(~is_leaf)[::-1].tolist():
        end[row] = end[right[row]]
        is_settled[row] = is_settled[row + 1] and is_settled[right[row]]
        if not is_settled[row] and (fitting(tree[row : row + 1])[0] or row == 0):
            remains[row : end[row]] = False
            remains[row] = is_settled[row] = True
    remains[0] |= is_leaf[0]
    return remains


def _settle(tree: NDArray[np.int64], people: NDArray[np.int64]) -> None:
    """Write to each row where its people begin and end, if leaves follow each other."""
    tree[:, kernels.END] = np.cumsum(people)
    tree[:, kernels.BEGIN] = tree[:, kernels.END] - people
    for row in np.flatnonzero(tree[:, kernels.RIGHT])[::-1]:
        tree[row, kernels.END] = tree[tree[row, kernels.RIGHT], kernels.END]


def in_threads(
    cells: NDArray[np.int64],
    values: int,
    work: Callable[[Scratch, NDArray[np.int64]], NDArray[np.int64]],
    report: Report = lambda _done, _total: None,
) -> NDArray[np.int64]:
    """Let threads work on parts of the cells; kernels do not hold the interpreter's lock."""
    if len(cells) < 2 * threads():
        return work(scratch(values), cells)
    parts = np.array_split(cells, min(PARTS * threads(), len(cells)))  # none of them empty
    return np.concatenate(parallel_map(lambda part: work(scratch(values), part), parts, report))


def _arranged(
    f: GroupingInput, leaf: NDArray[np.uint32], parts: Sequence[slice], start: NDArray[np.int64]
) -> tuple[GroupingInput, NDArray[np.uint32]]:
    """The facts of the people in the order of their leaves, and who they are. For each part it is
    said where its people of each leaf start. Keys are as random as they are in any order."""
    order = np.empty(len(leaf), dtype=np.uint32)
    codes = np.empty(f.codes.shape, dtype=narrow_codes(f))
    held_start = f.held_start
    marks = f.held if f.holds_one else f.held_start[1:] > f.held_start[:-1]
    held: NDArray[Any] = np.empty_like(marks)
    parallel_map(
        lambda j: kernels.arrange(
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
        places = np.flatnonzero(held)  # of a few people, or of all
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
