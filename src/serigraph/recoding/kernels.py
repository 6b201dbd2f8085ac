"""Compiled parts of recoding: the extent of groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.compiled import kernel


@kernel
def extend(
    codes: NDArray[np.int32],
    group: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> None:
    """Widen the intervals of each ``group``, from ``low`` to ``high``, [group, column], until they
    hold the ``codes``, [column, person], of everybody in it. What belongs to a group lies side by
    side: groups are met in no order, and found in memory once."""
    for i in range(len(group)):
        g = group[i]
        for column in range(len(codes)):
            # Branch-free: always write the new end.
            low[g, column] = min(low[g, column], codes[column, i])
            high[g, column] = max(high[g, column], codes[column, i])
