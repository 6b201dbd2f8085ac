"""Sorting by numbers that are small: of groups, or of people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_HALF = np.uint64(32)


def order_by(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """The places of numbers in 0..2^32-1 in ascending order, equal ones as they come.

    A number and its place in one word are sorted several times as fast as places by their numbers.

    >>> order_by(np.array([3, 1, 3, 0])).tolist()
    [3, 1, 0, 2]
    """
    together = numbers.astype(np.uint64) << _HALF
    together |= np.arange(len(numbers), dtype=np.uint64)
    together.sort()
    return (together & np.uint64(2**32 - 1)).astype(np.int64)
