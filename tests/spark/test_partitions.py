"""Borders between partitions: boxes that hold everybody once, merged where values do not fit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from serigraph.engines.spark.partitions import (
    Census,
    Tree,
    grow,
    merged_with_siblings,
    partitions,
)
from serigraph.grouping.forming import whole_box
from serigraph.model import Domain
from serigraph.runtime.randomness import SeededRandomness

DOMAINS = (
    Domain("age", "numeric", pl.Series(range(50))),
    Domain("sex", "categorical", pl.Series(["F", "M"])),
)


def people(number: int, seed: int = 1) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return np.stack([draw.integers(0, 50, number), draw.integers(0, 2, number)]).astype(np.int32)


@pytest.fixture(scope="module")
def tree() -> Tree:
    return grow(DOMAINS, people(800), 12, SeededRandomness(1))


def test_everybody_lies_in_the_box_of_its_leaf_and_in_no_other(tree: Tree) -> None:
    codes = people(3000, seed=2)
    leaf = tree.leaf_of(codes)
    inside = np.zeros(3000, dtype=np.int64)
    for node in np.flatnonzero(tree.is_leaf).tolist():
        low, high = (np.array(ends)[:, None] for ends in tree.box(node))
        mine = ((low <= codes) & (codes <= high)).all(axis=0)
        assert (leaf[mine] == node).all()
        inside += mine
    assert (inside == 1).all()
    assert 6 <= tree.is_leaf.sum() <= 18
    assert tree.box(0) == whole_box(DOMAINS)


def test_parents_and_ends(tree: Tree) -> None:
    for node in range(len(tree.nodes)):
        right = tree.right(node)
        if right:
            assert tree.parent(node + 1) == tree.parent(right) == node
            assert tree.end(node + 1) == right
            assert tree.end(right) == tree.end(node)
            below = np.concatenate([tree.leaves_below(node + 1), tree.leaves_below(right)])
            assert tree.leaves_below(node).tolist() == below.tolist()
    assert tree.parent(0) == 0


def census(tree: Tree, holders: dict[int, int], size: int = 100) -> Census:
    """So many people in each leaf, and holders of the only value in some."""
    leaves = np.flatnonzero(tree.is_leaf)
    number = np.zeros(len(tree.nodes), dtype=np.int64)
    number[leaves] = size
    held = np.array(list(holders), dtype=np.int64)
    return Census(number, number, held, held * 0, np.array(list(holders.values())))


def test_partitions_are_leaves_where_values_fit_and_merged_where_they_do_not(tree: Tree) -> None:
    base = np.array([4.0])
    leaves = np.flatnonzero(tree.is_leaf).tolist()
    exactly = dict.fromkeys(leaves, 25)
    assert list(partitions(tree, census(tree, exactly), base, 1)) == leaves
    crowded = partitions(tree, census(tree, {leaves[0]: 26}), base, 1)
    assert crowded[0] == tree.parent(leaves[0])
    for node in crowded:
        assert sum(26 for leaf in tree.leaves_below(node) if leaf == leaves[0]) * 4 <= 100 * len(
            tree.leaves_below(node)
        )
    covered = np.concatenate([tree.leaves_below(node) for node in crowded])
    assert covered.tolist() == leaves
    assert partitions(tree, census(tree, dict.fromkeys(leaves, 26)), base, 1) == (0,)
    assert partitions(tree, census(tree, {}), base, 101)[0] == tree.parent(leaves[0])


def test_borders_do_not_depend_on_where_a_few_holders_are(tree: Tree) -> None:
    """A target of 90 asks for more people than a leaf has, wherever the one holder is."""
    leaves = np.flatnonzero(tree.is_leaf).tolist()
    base = np.array([90.0])
    drawn = {partitions(tree, census(tree, {leaf: 1}, size=60), base, 1) for leaf in leaves}
    assert len(drawn) == 1
    assert all(60 * len(tree.leaves_below(node)) >= 90 for node in drawn.pop())


def test_who_fails_takes_the_neighbour_along_unless_that_is_too_much(tree: Tree) -> None:
    leaves = np.flatnonzero(tree.is_leaf).tolist()
    number = census(tree, {}).people
    nodes, stuck = merged_with_siblings(tree, leaves, [leaves[0]], number, 10_000)
    assert nodes[0] == tree.parent(leaves[0])
    assert not stuck
    assert np.concatenate([tree.leaves_below(node) for node in nodes]).tolist() == leaves
    nodes, stuck = merged_with_siblings(tree, leaves, [leaves[0]], number, 150)
    assert list(nodes) == leaves
    assert stuck == {leaves[0]}
    nodes, stuck = merged_with_siblings(tree, [0], [0], number, 10_000)
    assert (nodes, stuck) == ((0,), {0})
