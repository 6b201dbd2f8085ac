"""Large populations are cut into districts first, so that the fine work stays in the cache and
can be shared out to threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping import kernels
from serigraph.grouping.kernels import Facts, Scratch
from serigraph.grouping.problem import scratch
from serigraph.progress import Report
from serigraph.threads import side_by_side, slices, threads

DISTRICT = 4096  # people, at the least
PARTS = 32  # of the work, for each thread: so many that progress can be told
SAMPLED = 64  # people of a district that are looked at to draw its border


@dataclass(frozen=True)
class Districts:
    """People in the order of their districts: ``facts`` speak of places in ``people``."""

    facts: Facts
    people: NDArray[np.int64]
    cells: NDArray[np.int64]


def districts(f: Facts, whole: NDArray[np.int64], simple: bool) -> Districts:
    """Draw borders from a sample, without looking at values, and merge districts in which some
    value is too frequent with their siblings."""
    people = f.codes.shape[1]
    if people < 4 * DISTRICT:
        return Districts(f, np.arange(people), whole)
    every = DISTRICT // SAMPLED
    cell = whole.copy()
    cell[0, kernels.END] = len(f.key[::every])
    sample = f._replace(
        codes=np.ascontiguousarray(f.codes[:, ::every]), key=f.key[::every].copy(), interleave=False
    )
    sampled = np.arange(cell[0, kernels.END], dtype=np.uint32)
    s = scratch(len(f.base))
    tree = kernels.cut_down(sample, s, sampled, cell, simple, False, 0, SAMPLED)
    leaf = leaves(f.codes, tree)
    _settle(tree, np.bincount(leaf, minlength=len(tree)))
    order = np.argsort(leaf.astype(np.min_scalar_type(len(tree))), kind="stable")
    arranged = _arranged(f, order)
    places = np.arange(people, dtype=np.uint32)
    fits = fitting_leaves(arranged, places, tree)
    state = kernels.merge_siblings(arranged, s, places, tree, fits)
    cells = tree[state >= 0].copy()
    cells = cells[cells[:, kernels.END] > cells[:, kernels.BEGIN]]
    return Districts(arranged, order, cells)


def leaves(codes: NDArray[np.int32], tree: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The row of the leaf that each person lies in."""
    leaf = np.empty(codes.shape[1], dtype=np.uint32)
    side_by_side(
        lambda part: kernels.find_leaves(codes, tree, part.start, part.stop, leaf),
        slices(len(leaf)),
    )
    return leaf


def fitting_leaves(
    f: Facts, order: NDArray[np.uint32], tree: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the values fit into each row of the tree that is a leaf."""
    fits = np.zeros(len(tree), dtype=np.bool_)
    side_by_side(
        lambda part: kernels.check_leaves(
            f, scratch(len(f.base)), order, tree, part.start, part.stop, fits
        ),
        slices(len(tree)),
    )
    return fits


def _settle(tree: NDArray[np.int64], people: NDArray[np.int64]) -> None:
    """Write to each row where its people begin and end, if leaves follow each other."""
    tree[:, kernels.END] = np.cumsum(people)
    tree[:, kernels.BEGIN] = tree[:, kernels.END] - people
    for row in np.flatnonzero(tree[:, kernels.RIGHT])[::-1]:
        tree[row, kernels.END] = tree[tree[row, kernels.RIGHT], kernels.END]


def with_own_targets(drawn: Districts) -> Districts:
    """Let the facts say what people with a past ask of any group at all."""
    f = drawn.facts
    if f.past.shape[1] == 0:
        return drawn
    own = np.empty(len(f.past))

    def find(s: Scratch, people: NDArray[np.int64]) -> NDArray[np.int64]:
        kernels.find_own_targets(f, s, people, own)
        return people

    in_threads(np.arange(len(own), dtype=np.uint32), len(f.base), find)
    return replace(drawn, facts=f._replace(own=own))


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
    return np.concatenate(side_by_side(lambda part: work(scratch(values), part), parts, report))


def _arranged(f: Facts, order: NDArray[np.int64]) -> Facts:
    """The facts of the people in another order. Keys are as random as they are in any order."""
    lengths = np.diff(f.held_start)
    start, entries = f.held_start, order
    if len(f.held) != len(order) or lengths.max() > 1:
        places = np.flatnonzero(_taken(lengths > 0, order))  # of a few people, or of all
        holders = order[places]
        start = np.zeros(len(order) + 1, dtype=np.int64)
        start[places + 1] = lengths[holders]
        np.cumsum(start, out=start)
        first = f.held_start[holders] - start[places]
        entries = np.repeat(first, lengths[holders]) + np.arange(start[-1])
    codes = np.empty_like(f.codes)
    for column, taken in zip(f.codes, codes, strict=True):
        _taken(column, order, taken)
    return f._replace(
        codes=codes,
        held_start=start,
        held=_taken(f.held, entries),
        weight=f.weight if f.weight.all() else _taken(f.weight, order),
        past=f.past[order],
    )


def _taken(
    source: NDArray[Any], places: NDArray[np.int64], out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """What is at these places, gathered in threads. (NumPy first checks all places, and needs
    another copy for it, unless it is told to clip them.)"""
    taken = np.empty(len(places), dtype=source.dtype) if out is None else out
    side_by_side(
        lambda part: np.take(source, places[part], out=taken[part], mode="clip"),
        slices(len(places)),
    )
    return taken
