"""How many rows have quasi-identifiers that no other row shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_LARGEST = 2**62


def unique_rows(codes: NDArray[np.int32], sizes: Sequence[int]) -> int:
    """The columns of ``codes`` that occur once; row i holds codes below ``sizes[i]``.

    >>> unique_rows(np.array([[0, 0, 1, 1], [2, 2, 0, 1]], dtype=np.int32), [2, 3])
    2
    """
    together = np.zeros(codes.shape[1], dtype=np.int64)
    different = 1
    for own, size in zip(codes, sizes, strict=True):
        if different * size > _LARGEST:
            values, together = np.unique(together, return_inverse=True)
            different = len(values)
        together = together * size + own
        different *= size
    together.sort()
    is_first = np.append(True, together[1:] != together[:-1])[: len(together)]
    is_last = np.append(is_first[1:], True)[: len(together)]
    return int(np.count_nonzero(is_first & is_last))
