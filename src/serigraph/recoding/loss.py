"""How much of the quasi-identifiers a grouping hides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.population import Population, order_by


def extents(
    population: Population, group: NDArray[np.int64], groups: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The smallest and the largest code of each group in each column: [group, column]."""
    columns = len(population.domains)
    low = np.full((groups, columns), np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full((groups, columns), -1, dtype=np.int32)
    if len(group):
        order = order_by(group)
        begins = np.flatnonzero(np.diff(group[order], prepend=-1))
        which = group[order[begins]]
        for column in range(columns):
            codes = population.codes[column][order]
            low[which, column] = np.minimum.reduceat(codes, begins)
            high[which, column] = np.maximum.reduceat(codes, begins)
    return low, high


def normalised_widths(
    population: Population, group: NDArray[np.int64], groups: int
) -> NDArray[np.float64]:
    """NCP of each column: the width of a person's group on its scale, averaged over people.

    0 where everybody keeps its own value, 1 where nobody's value is told from another's.
    """
    if population.size == 0:
        return np.zeros(len(population.domains))
    low, high = extents(population, group, groups)
    people = np.bincount(group, minlength=groups)
    taken = people > 0
    losses = []
    for column, domain in enumerate(population.domains):
        at = domain.positions()
        width = np.minimum(at[high[taken, column]] - at[low[taken, column]], 1.0)
        losses.append(float((width * people[taken]).sum() / people.sum()))
    return np.array(losses)
