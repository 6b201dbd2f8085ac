"""How many possible worlds agree with what was published."""

from __future__ import annotations

import math
from collections.abc import Iterable


def worlds_of_group(counts: Iterable[int]) -> int:
    """W_j = n_j! / prod_i n_{j,i}!, the possible worlds of one group (Lemma 3).

    ``counts`` holds n_{j,i}: how many people of the group have each sensitive value.

    >>> worlds_of_group([2, 1, 1])
    12
    """
    worlds, size = 1, 0
    for count in counts:
        if count < 0:
            raise ValueError(f"a value cannot be held by {count} people")
        size += count
        worlds *= math.comb(size, count)
    return worlds


def worlds_of_series(groups: Iterable[Iterable[int]]) -> int:
    """W_total,k = prod_j W_j, the possible worlds of a person's groups in all releases (Lemma 3).

    ``groups`` gives the counts of the values in the person's group of each release.

    Differs from the paper: for the groups of four in its introduction it speaks of 4! x 4! worlds,
    which counts the two flu patients as different. By its own Lemma 3 there are 12 x 12.

    >>> worlds_of_series([[2, 1, 1], [2, 1, 1]])
    144
    """
    return math.prod(worlds_of_group(counts) for counts in groups)
