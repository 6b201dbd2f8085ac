"""Districts are merged along their tree until the values of each fit into it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from serigraph.grouping.districts import merged
from serigraph.grouping.layout import BEGIN, BOX, RIGHT

Node = tuple["Node", "Node"] | None  # both halves of what was cut


def rows_of(node: Node, above: int = 0) -> list[int]:
    """The rows of a tree in pre-order: for each the row of its right half, or 0."""
    if node is None:
        return [0]
    left = rows_of(node[0], above + 1)
    return [above + 1 + len(left), *left, *rows_of(node[1], above + 1 + len(left))]


def remaining(right: list[int], fits: list[bool], row: int = 0) -> list[int] | None:
    """The rows below one that remain, or none if something does not fit."""
    if right[row] == 0:
        return [row] if fits[row] or row == 0 else None
    left, other = remaining(right, fits, row + 1), remaining(right, fits, right[row])
    if left is not None and other is not None:
        return left + other
    return [row] if fits[row] or row == 0 else None


@given(
    st.recursive(st.none(), lambda half: st.tuples(half, half), max_leaves=30),
    st.floats(0, 1),
)
def test_merged_districts_are_those_of_a_plain_form(node: Node, share: float) -> None:
    right = rows_of(node)
    draw = np.random.default_rng(int(share * 2**32))
    fits = (draw.random(len(right)) < share).tolist()
    tree = np.zeros((len(right), BOX), dtype=np.int64)
    tree[:, RIGHT] = right
    tree[:, BEGIN] = np.arange(len(right))

    def fitting(cells: np.ndarray) -> np.ndarray:
        return np.array([fits[row] for row in cells[:, BEGIN]], dtype=np.bool_)

    assert np.flatnonzero(merged(tree, fitting)).tolist() == remaining(right, fits)
