"""Partitions: boxes of neighbours, small enough for one task, in which the values fit.

Borders are drawn like the districts of the local engine: a tree is grown over a sample of the
quasi-identifiers, without looking at values; then leaves that are too small, or in which some value
is too frequent, are merged with their siblings. A partition is a node of the tree, so it has its
own box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.grouping import Box, Demand, whole_box, whole_cell
from serigraph.grouping.cutting import cut_down
from serigraph.grouping.districts import leaves
from serigraph.grouping.layout import BOX, FEW, RIGHT, GroupingInput
from serigraph.grouping.problem import grouping_input, narrowed, scratch
from serigraph.model import Domain, Past, Population
from serigraph.runtime.randomness import Randomness

# A task with this many people takes seconds and some hundred megabytes, so it is cheap to repeat
# if a machine is lost; with fewer, more groups lie at a border between partitions.
PEOPLE = 150_000
SAMPLED = 256  # people per leaf in the sample that sets its border
MOST = 1_000_000  # largest partition made by merging those that failed


@dataclass(frozen=True)
class Tree:
    """The nodes in pre-order, as in `cut_down`."""

    nodes: NDArray[np.int64]
    columns: int

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        return np.asarray(self.nodes[:, RIGHT] == 0)

    def box(self, node: int) -> Box:
        ends = self.nodes[node, BOX:].tolist()
        return ends[: self.columns], ends[self.columns :]

    def right(self, node: int) -> int:
        return int(self.nodes[node, RIGHT])

    def end(self, node: int) -> int:
        """The row after the last one below a node."""
        while self.right(node):
            node = self.right(node)
        return node + 1

    def parent(self, node: int) -> int:
        """The node above; for the root, the root itself."""
        at = parent = 0
        while at != node:
            parent = at
            at = self.right(at) if node >= self.right(at) else at + 1
        return parent

    def leaves_below(self, node: int) -> NDArray[np.int64]:
        rows = np.arange(node, self.end(node))
        return rows[self.is_leaf[rows]]

    def leaf_of(self, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Each person's leaf."""
        return leaves(codes, self.nodes).astype(np.int64)


def grow(
    domains: tuple[Domain, ...], sample: NDArray[np.int32], leaves: int, randomness: Randomness
) -> Tree:
    """A tree with about this many leaves, from the codes of a sample of people.

    Leaves have between two thirds of and twice their share.
    """
    people = sample.shape[1]
    columns = len(domains)
    cell = whole_cell(people, whole_box(domains))
    size = max(2 * people // (3 * max(leaves, 1)), 1)
    order = np.arange(people, dtype=np.uint32)
    f = narrowed(_input_without_values(domains, sample, randomness))
    if people == 0 or leaves <= 1:
        return Tree(cell, columns)
    tree = cut_down(f, scratch(f), order, cell, True, size)
    return Tree(np.asarray(tree), columns)


def _input_without_values(
    domains: tuple[Domain, ...], codes: NDArray[np.int32], randomness: Randomness
) -> GroupingInput:
    people = codes.shape[1]
    nobody_knows = Population(
        ids=pl.Series(np.arange(people)),
        present=np.ones(people, dtype=np.bool_),
        domains=domains,
        codes=np.ascontiguousarray(codes),
        protected=(),
        held_start=np.zeros(people + 1, dtype=np.int64),
        held=np.empty(0, dtype=np.int32),
        values=pl.Series([[]] * people, dtype=pl.List(pl.String)),
        digest="",
    )
    return grouping_input(
        nobody_knows,
        Past.none(people),
        Demand(rules=(), minimum_size=1, interleave=False),
        np.ones(people, dtype=np.uint8),
        randomness.keys(people),
    )


@dataclass(frozen=True)
class Census:
    """How many people each leaf has, and how many of them hold each protected value."""

    people: NDArray[np.int64]  # of each node of the tree; only leaves have any
    weight: NDArray[np.int64]  # those of them who give cover
    leaf: NDArray[np.int64]  # one entry per value and leaf
    value: NDArray[np.int64]
    holders: NDArray[np.int64]

    def of_values(self, values: int) -> NDArray[np.int64]:
        """The holders of each value, over all leaves."""
        return np.bincount(self.value, weights=self.holders, minlength=values).astype(np.int64)


def partitions(
    tree: Tree, census: Census, base: NDArray[np.float64], minimum_size: int
) -> tuple[int, ...]:
    """The nodes that the counts allow as partitions, from left to right: with their own holders,
    and with a few of any value, wherever these are."""
    rows = len(tree.nodes)
    of_all = census.of_values(len(base))
    least = np.ceil(base[of_all > 0].max(initial=0.0)) * min(of_all.max(initial=0), FEW)
    # A value that fits in both halves fits in the whole: only those that fail somewhere matter.
    crowded = census.holders * base[census.value] > census.weight[census.leaf]
    watched = np.unique(census.value[crowded])
    entries = np.flatnonzero(np.isin(census.value, watched))
    holders = np.zeros((rows, len(watched)), dtype=np.int64)
    place = np.searchsorted(watched, census.value[entries])
    np.add.at(holders, (census.leaf[entries], place), census.holders[entries])
    people = census.weight.copy()
    chosen = np.zeros(rows, dtype=np.bool_)
    is_settled = np.zeros(rows, dtype=np.bool_)
    for node in range(rows - 1, -1, -1):
        right = tree.right(node)
        if right:
            people[node] = people[node + 1] + people[right]
            holders[node] = holders[node + 1] + holders[right]
            if is_settled[node + 1] and is_settled[right]:
                is_settled[node] = True
                continue
        fits = people[node] >= max(minimum_size, 1, least) and bool(
            (holders[node] * base[watched] <= people[node]).all()
        )
        if fits or node == 0:
            chosen[node : tree.end(node)] = False
            chosen[node] = True
            is_settled[node] = True
    return tuple(np.flatnonzero(chosen).tolist())


def merged_with_siblings(
    tree: Tree, nodes: Sequence[int], failed: Sequence[int], people: NDArray[np.int64], most: int
) -> tuple[tuple[int, ...], frozenset[int]]:
    """The partitions after those that failed were merged with their neighbours, and the failed
    ones that stay as they are because they would become too large."""
    chosen = set(nodes)
    stuck = set()
    for node in failed:
        if node not in chosen:
            continue  # already merged into its neighbour
        parent = tree.parent(node)
        if parent == node or people[tree.leaves_below(parent)].sum() > most:
            stuck.add(node)
            continue
        chosen -= set(range(parent, tree.end(parent)))
        chosen.add(parent)
    return tuple(sorted(chosen)), frozenset(stuck & chosen)
