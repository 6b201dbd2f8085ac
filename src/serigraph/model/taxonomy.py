"""Taxonomies: trees over the values of a categorical column.

A taxonomy is stored as its leaves in depth-first order, each with its path. A node is then an
interval of leaves, and two neighbouring leaves separate at a *divergence*: the depth of the deepest
node that holds both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from serigraph.errors import TaxonomyError


@dataclass(frozen=True)
class Taxonomy:
    """Leaves in depth-first order; ``paths[i]`` runs from the root's label to leaf ``i`` itself."""

    paths: tuple[tuple[str, ...], ...]

    @staticmethod
    def from_rows(rows: Sequence[Sequence[str]], *, where: str = "") -> Taxonomy:
        """Build from rows as ARX writes them: the leaf first, then its ancestors up to the root."""
        problems = _problems(rows)
        if problems:
            raise TaxonomyError(
                "the taxonomy is not a tree",
                where=where,
                remedy="give every leaf one line, leaf first, root last, with equally many levels",
                problems=problems,
            )
        children: dict[tuple[str, ...], dict[tuple[str, ...], None]] = {}
        for row in rows:
            path = tuple(reversed(row))
            for depth in range(1, len(path)):
                children.setdefault(path[:depth], {})[path[: depth + 1]] = None
        leaves: list[tuple[str, ...]] = []
        roots: dict[tuple[str, ...], None] = {(row[-1],): None for row in rows}
        stack = list(roots)[::-1]
        while stack:
            node = stack.pop()
            below = children.get(node)
            if below is None:
                leaves.append(node)
            else:
                stack.extend(reversed(below))
        return Taxonomy(tuple(leaves))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        return tuple(path[-1] for path in self.paths)

    @cached_property
    def divergence(self) -> NDArray[np.int32]:
        """For each boundary between leaves i and i+1, the number of path labels that they share."""
        shared = [
            next(
                (depth for depth, (a, b) in enumerate(zip(left, right, strict=True)) if a != b),
                len(left),
            )
            for left, right in zip(self.paths, self.paths[1:], strict=False)
        ]
        return np.array(shared, dtype=np.int32)

    def cover(self, low: int, high: int) -> tuple[str, ...]:
        """The labels of the largest nodes that together hold exactly the leaves low..high.

        Of nodes with the same leaves the lowest is taken, since its label says the most.

        >>> pets = Taxonomy.from_rows([["cat", "pet"], ["dog", "pet"], ["eel", "fish"]])
        >>> pets.cover(0, 1), pets.cover(0, 2), pets.cover(1, 1)
        (('pet',), ('pet', 'eel'), ('dog',))
        """
        labels: list[str] = []
        leaf = low
        while leaf <= high:
            label, end = self._largest_node(leaf, high)
            labels.append(label)
            leaf = end + 1
        return tuple(labels)

    def smallest_node(self, low: int, high: int) -> tuple[int, int]:
        """The leaves of the smallest node that holds the leaves low..high."""
        return self._extent.get(self._shared_path(low, high), (0, len(self.paths) - 1))

    def siblings(self, low: int, high: int) -> tuple[int, int]:
        """The leaves of that node's children, from the child that holds low to that of high."""
        depth = len(self._shared_path(low, high)) + 1
        return (
            self._extent[self.paths[low][:depth]][0],
            self._extent[self.paths[high][:depth]][1],
        )

    def _shared_path(self, low: int, high: int) -> tuple[str, ...]:
        depth = int(self.divergence[low:high].min()) if high > low else len(self.paths[low])
        return self.paths[low][:depth]

    def _largest_node(self, first: int, last: int) -> tuple[str, int]:
        path = self.paths[first]
        label, reached = path[-1], first
        for depth in range(len(path), 0, -1):
            start, end = self._extent[path[:depth]]
            if start != first or end > last:
                break
            if end > reached:
                label, reached = path[depth - 1], end
        return label, reached

    @cached_property
    def _extent(self) -> dict[tuple[str, ...], tuple[int, int]]:
        extent: dict[tuple[str, ...], tuple[int, int]] = {}
        for leaf, path in enumerate(self.paths):
            for depth in range(1, len(path) + 1):
                start, _ = extent.get(path[:depth], (leaf, leaf))
                extent[path[:depth]] = (start, leaf)
        return extent


def _problems(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return ["it has no lines"]
    problems = []
    levels = len(rows[0])
    uneven = [number for number, row in enumerate(rows, 1) if len(row) != levels]
    if uneven:
        problems.append(f"line {uneven[0]} has a different number of levels from line 1 ({levels})")
        return problems
    seen: dict[str, int] = {}
    parent_of: dict[tuple[int, str], tuple[str, int]] = {}
    for number, row in enumerate(rows, 1):
        if row[0] in seen:
            problems.append(f"line {number} repeats the leaf of line {seen[row[0]]}")
        seen[row[0]] = number
        for level, (child, parent) in enumerate(pairwise(row)):
            known, line = parent_of.setdefault((level, child), (parent, number))
            if known != parent:
                problems.append(
                    f"line {number} puts {child!r} under {parent!r}, line {line} under {known!r}"
                )
    return problems
