"""Compiled parts of recoding: the extent of groups."""

from __future__ import annotations

from serigraph.compiled import kernel


@kernel
def extend(codes, group, low, high):
    """Widen the intervals of each group until they hold the codes of everybody in it. What belongs
    to a group lies side by side: groups are met in no order, and found in memory once."""
    for i in range(len(group)):
        g = group[i]
        for column in range(len(codes)):
            code = codes[column, i]
            if code < low[g, column]:
                low[g, column] = code
            if code > high[g, column]:
                high[g, column] = code
