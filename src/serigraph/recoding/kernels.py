"""Compiled parts of recoding: the extent of groups."""

from __future__ import annotations

import numpy as np

from serigraph.runtime.compiled import kernel


@kernel
def extend(codes, group, low, high):
    """Widen the intervals of each group until they hold the codes of everybody in it. What belongs
    to a group lies side by side: groups are met in no order, and found in memory once."""
    for i in range(len(group)):
        g = np.uint32(group[i])
        for column in range(len(codes)):
            # Branch-free: always write the new end.
            low[g, column] = min(low[g, column], codes[column, i])
            high[g, column] = max(high[g, column], codes[column, i])
