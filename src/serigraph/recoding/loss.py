"""How much of the quasi-identifiers a grouping hides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.model import Population, occurrences, occurring
from serigraph.recoding import kernels
from serigraph.runtime.threads import parallel_map, parallel_take, slices

Extents = tuple[NDArray[np.int32], NDArray[np.int32]]


def extents(codes: NDArray[np.int32], group: NDArray[np.int64], groups: int) -> Extents:
    """The smallest and the largest code of each group in each column: [group, column]."""

    def extent(columns: slice) -> Extents:
        several = np.ascontiguousarray(codes[columns])
        low = np.full((groups, len(several)), np.iinfo(np.int32).max, dtype=np.int32)
        high = np.full((groups, len(several)), -1, dtype=np.int32)
        kernels.extend(several, group, low, high)
        return low, high

    low, high = zip(*parallel_map(extent, slices(len(codes))), strict=True)
    return np.concatenate(low, axis=1), np.concatenate(high, axis=1)


def normalised_widths(
    population: Population,
    group: NDArray[np.int64],
    is_point: NDArray[np.bool_],
    known: Extents | None = None,
) -> NDArray[np.float64]:
    """NCP of each column: the width of a person's group on its scale, averaged over the members of
    published groups, which have somebody present. Of each group it is said whether its people are
    all alike, so that nothing has to be looked for, unless the extents of all groups are ``known``.

    0 where everybody keeps its own value, 1 where nobody's value is told from another's.
    """
    codes, groups = population.codes, len(is_point)
    is_shown = occurring(group, groups, population.present)
    people = np.where(is_shown, occurrences(group, groups), 0)
    members = int(people.sum())
    if members == 0:
        return np.zeros(len(population.domains))
    if known is None and is_point.any():
        wide = np.flatnonzero(~parallel_take(is_point, group))
        codes, group = codes[:, wide], (np.cumsum(~is_point) - 1)[group[wide]]
        people, groups = people[~is_point], groups - int(is_point.sum())
    low, high = known or extents(codes, group, groups)
    low, high = (np.where(people[:, None] > 0, each, 0) for each in (low, high))

    def loss(column: int) -> float:
        at = population.domains[column].positions()
        width = np.minimum(at[high[:, column]] - at[low[:, column]], 1.0)
        return float(width @ people / members)

    return np.array(parallel_map(loss, range(len(population.domains))))
