"""Plain top-down median splitting under the same constraint: what grouping is measured against.

A cell is cut at the median of its widest column, and stays as it is where one side of that cut
would not be valid. The stronger variant tries the other columns then, widest first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from serigraph.model import Population


def median_splitting(
    population: Population,
    base: NDArray[np.float64],
    minimum_size: int,
    *,
    tries_other_columns: bool,
) -> NDArray[np.int64]:
    """The group of everybody, for people without history; ``base`` is the target of each value."""
    at = [
        domain.positions()[codes]
        for domain, codes in zip(population.domains, population.codes, strict=True)
    ]
    boundaries = [domain.divergences() for domain in population.domains]
    is_valid = _validity(population, base, minimum_size)
    group = np.full(population.size, -1, dtype=np.int64)
    groups = 0
    stack = [np.arange(population.size)]
    while stack:
        cell = stack.pop()
        widths = np.array([min(float(np.ptp(column[cell])), 1.0) for column in at])
        widest_first = np.argsort(-widths, kind="stable")
        candidates = widest_first if tries_other_columns else widest_first[:1]
        for column in candidates.tolist():
            left = _left_of_median(population.codes[column][cell], boundaries[column])
            if left.any() and is_valid(cell[left]) and is_valid(cell[~left]):
                stack += [cell[left], cell[~left]]
                break
        else:
            group[cell] = groups
            groups += 1
    return group


def _left_of_median(codes: NDArray[np.int32], boundaries: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Who lies left of the cut nearest to the median; nobody where there is no cut.

    A taxonomy is cut at its shallowest boundaries only, so that regions stay unions of siblings.
    """
    known, count = np.unique(codes, return_counts=True)
    if len(known) < 2:
        return np.zeros(len(codes), dtype=np.bool_)
    inside = boundaries[known[0] : known[-1]]
    cuts = known[0] + np.flatnonzero(inside == inside.min())
    left = np.cumsum(count)[np.searchsorted(known, cuts, side="right") - 1]
    last: int = cuts[np.argmin(np.abs(2 * left - len(codes)))]
    return codes <= last


def _validity(
    population: Population, base: NDArray[np.float64], minimum_size: int
) -> Callable[[NDArray[np.int64]], bool]:
    start, held = population.held_start, population.held

    def is_valid(cell: NDArray[np.int64]) -> bool:
        if len(cell) < minimum_size:
            return False
        lengths = start[cell + 1] - start[cell]
        begins = np.repeat(start[cell] - (np.cumsum(lengths) - lengths), lengths)
        values = held[begins + np.arange(len(begins))]
        counts = np.bincount(values, minlength=len(base))
        return bool((counts * base <= len(cell) * (1 + 1e-12)).all())

    return is_valid
