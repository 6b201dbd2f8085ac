"""Whether regions overlap: a person in two of them could not be assigned to a group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.compiled import kernel

_FEW = 128  # boxes compared pairwise; larger sets are split first
_HALF = 32  # bits of a word
_NUMBER = 2**_HALF - 1


def overlapping(
    low: NDArray[np.int32], high: NDArray[np.int32], few: int = _FEW
) -> tuple[int, int]:
    """Two boxes that overlap, or (-1, -1): repeatedly looks for planes that separate the boxes.

    >>> low, high = np.array([[0, 0], [2, 0], [0, 3]]), np.array([[1, 2], [3, 3], [2, 4]])
    >>> overlapping(low.astype(np.int32), high.astype(np.int32))
    (1, 2)
    """
    columns = [(each.astype(np.int64), high.T[d].copy()) for d, each in enumerate(low.T)]
    stack = [np.arange(len(low))]
    while stack:
        boxes = stack.pop()
        parts = _parted(boxes, columns) if len(boxes) > few else []
        if parts:
            stack += parts
            continue
        first, second = _first_overlap(low, high, boxes)
        if first >= 0:
            return int(first), int(second)
    return -1, -1


def _parted(
    boxes: NDArray[np.int64], columns: list[tuple[NDArray[np.int64], NDArray[np.int32]]]
) -> list[NDArray[np.int64]]:
    """The boxes on both sides of the plane that splits them most evenly; none if no plane does.

    The first plane that leaves a good part of the boxes on either side is taken.
    """
    parts: list[NDArray[np.int64]] = []
    best = len(boxes)
    for low, high in columns:
        # A lower end and the number of its box in one word.
        word = low[boxes] << _HALF | boxes
        word.sort()
        in_order = word & _NUMBER
        reach = np.maximum.accumulate(high[in_order])
        cuts = 1 + np.flatnonzero(word[1:] >> _HALF > reach[:-1])
        if not len(cuts):
            continue
        uneven = np.abs(2 * cuts - len(boxes))
        middle = int(uneven.argmin())
        if uneven[middle] < best:
            best = int(uneven[middle])
            parts = [in_order[: cuts[middle]], in_order[cuts[middle] :]]
        if 4 * best <= len(boxes):
            break
    return parts


@kernel
def _first_overlap(
    low: NDArray[np.int32], high: NDArray[np.int32], boxes: NDArray[np.int64]
) -> tuple[np.int64, np.int64]:
    """The first two of these ``boxes`` that overlap, or (-1, -1): compares every pair. All boxes
    are [box, column], from ``low`` to ``high``."""
    for i in range(len(boxes)):
        for k in range(i + 1, len(boxes)):
            apart = False
            for d in range(low.shape[1]):
                if high[boxes[i], d] < low[boxes[k], d] or high[boxes[k], d] < low[boxes[i], d]:
                    apart = True
                    break
            if not apart:
                return boxes[i], boxes[k]
    return np.int64(-1), np.int64(-1)
