"""Compiled parts of recoding: the extent of groups."""

from __future__ import annotations

from serigraph.compiled import kernel


@kernel
def extend(codes, group, low, high):
    """Widen the interval of each group until it holds the codes of everybody in it."""
    for i in range(len(codes)):
        g = group[i]
        low[g] = min(low[g], codes[i])
        high[g] = max(high[g], codes[i])
