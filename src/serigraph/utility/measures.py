"""Measures of a release that follow from its groups alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.model import Population
from serigraph.runtime.ordering import distinct
from serigraph.utility.published import Groups


@dataclass(frozen=True)
class GroupSizes:
    """Sizes in people, absent members included, over groups in which somebody is present."""

    groups: int
    mean: float
    largest: int
    groups_with_protected_value: int
    mean_with_protected_value: float
    largest_with_protected_value: int


def group_sizes(population: Population, group: NDArray[np.int64]) -> GroupSizes:
    """The sizes of all groups, and of those that hold a protected value."""
    groups = Groups.of(population, group)
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    linked = groups.size[distinct(groups.number[holder])]
    return GroupSizes(
        groups=len(groups.size),
        mean=_mean(groups.size),
        largest=int(groups.size.max(initial=0)),
        groups_with_protected_value=len(linked),
        mean_with_protected_value=_mean(linked),
        largest_with_protected_value=int(linked.max(initial=0)),
    )


def normalised_certainty_penalty(
    population: Population, group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """NCP of each quasi-identifier: the width of a record's region on the column's scale, averaged
    over the records; 0 where every record keeps its own value, 1 where no two can be distinguished.

    In a bucketised release, whose quasi-identifiers are shown as they are, it says how far apart
    the people lie among whom a value is hidden.
    """
    groups = Groups.of(population, group)
    records = int(groups.present.sum())
    penalties = []
    for column, domain in enumerate(population.domains):
        at = domain.positions()
        width = np.minimum(at[groups.high[column]] - at[groups.low[column]], 1.0)
        penalties.append(float((width * groups.present).sum() / records) if records else 0.0)
    return np.array(penalties)


def discernibility(population: Population, group: NDArray[np.int64], *, left_out: int = 0) -> int:
    """The number of records that each record cannot be distinguished from, summed up: |G|^2 per
    group, and the whole table for each record that was left out (Bayardo and Agrawal)."""
    present = Groups.of(population, group).present
    records = int(present.sum()) + left_out
    return int((present * present).sum()) + left_out * records


def normalised_group_size(
    population: Population, group: NDArray[np.int64], *, smallest: float
) -> float:
    """C_avg: records per group, over the smallest size that the guarantee allows; 1 is best."""
    present = Groups.of(population, group).present
    return _mean(present) / smallest


def suppressed_share(raw: Population, published: Population) -> float:
    """The share of the (person, value) pairs of the table that were not published."""
    before, after = _pairs(raw), _pairs(published)
    return (before - after) / before if before else 0.0


def _pairs(population: Population) -> int:
    return int(population.values.list.len().sum())


def _mean(sizes: NDArray[np.int64]) -> float:
    return float(sizes.mean()) if len(sizes) else 0.0
