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
    columns = len(population.domains)
    low = np.full((columns, groups), np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full((columns, groups), -1, dtype=np.int32)
    side_by_side(
        lambda column: kernels.extend(population.codes[column], group, low[column], high[column]),
        range(columns),
    )
    return low.T, high.T


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
    taken = slice(None) if people.all() else people > 0

    def loss(column: int) -> float:
        at = population.domains[column].positions()
        width = np.minimum(at[high[taken, column]] - at[low[taken, column]], 1.0)
        return float((width * people[taken]).sum() / population.size)

    return np.array(side_by_side(loss, range(len(population.domains))))
