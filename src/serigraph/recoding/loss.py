"""How much of the quasi-identifiers a grouping hides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.population import Population
from serigraph.recoding import kernels
from serigraph.threads import side_by_side


def extents(
    population: Population, group: NDArray[np.int64], groups: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The smallest and the largest code of each group in each column: [group, column]."""
    found = side_by_side(lambda codes: _extent(codes, group, groups), population.codes)
    low, high = zip(*found, strict=True)
    return np.stack(low, axis=1), np.stack(high, axis=1)


def normalised_widths(
    population: Population, group: NDArray[np.int64], groups: int
) -> NDArray[np.float64]:
    """NCP of each column: the width of a person's group on its scale, averaged over people.

    0 where everybody keeps its own value, 1 where nobody's value is told from another's.
    """
    if population.size == 0:
        return np.zeros(len(population.domains))
    people = np.bincount(group, minlength=groups)
    # Most of a registry may be people for themselves, who have no width.
    several = people > 1
    members = np.flatnonzero(several[group])
    number = (np.cumsum(several) - 1)[group[members]]

    def loss(column: int) -> float:
        at = population.domains[column].positions()
        low, high = _extent(population.codes[column][members], number, int(several.sum()))
        width = np.zeros(groups)
        width[several] = np.minimum(at[high] - at[low], 1.0)
        return float((width * people)[people > 0].sum() / population.size)

    return np.array(side_by_side(loss, range(len(population.domains))))


def _extent(
    codes: NDArray[np.int32], group: NDArray[np.int64], groups: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    low = np.full(groups, np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full(groups, -1, dtype=np.int32)
    kernels.extend(codes, group, low, high)
    return low, high
