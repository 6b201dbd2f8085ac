"""What a release shows of its groups, whatever its form: members, regions and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.model import Population
from serigraph.recoding.labels import widened_to_nodes
from serigraph.recoding.tables import extents
from serigraph.short_repr import Undisclosed

Form = Literal["generalised", "bucketised"]


@dataclass(frozen=True, repr=False)
class Entries(Undisclosed):
    """(person, value) pairs of a population, sorted by value and then by person."""

    person: NDArray[np.int64]
    value: NDArray[np.int64]  # places in ``names``
    start: NDArray[np.int64]  # first entry of each value
    names: pl.Series  # the values, ascending

    @staticmethod
    def of(population: Population, names: pl.Series) -> Entries:
        """The pairs of all present people; values that are not among ``names`` are left out."""
        values = population.values.cast(pl.List(pl.String))
        pairs = (
            pl.DataFrame({"person": population.records(), "value": values})
            .filter(pl.col("value").list.len() > 0)
            .explode("value")
            .filter(pl.col("value").is_in(names.implode()))
        )
        place = pairs["value"].cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)
        order = np.argsort(place, kind="stable")
        place = place[order]
        return Entries(
            person=pairs["person"].to_numpy().astype(np.int64)[order],
            value=place,
            start=np.searchsorted(place, np.arange(len(names) + 1)).astype(np.int64),
            names=names,
        )


@dataclass(frozen=True)
class Cells:
    """How often each group holds each value, sorted by value and then by group."""

    group: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]
    start: NDArray[np.int64]  # first cell of each value

    @staticmethod
    def of(entries: Entries, group: NDArray[np.int64]) -> Cells:
        groups = int(group.max(initial=0)) + 1
        cell, count = np.unique(entries.value * groups + group[entries.person], return_counts=True)
        value = cell // groups
        return Cells(
            group=cell % groups,
            value=value,
            count=count.astype(np.int64),
            start=np.searchsorted(value, np.arange(len(entries.names) + 1)).astype(np.int64),
        )


@dataclass(frozen=True)
class Groups:
    """The groups of a release: who is in them and what box of codes they cover.

    Groups in which nobody is present are not published, and not here; their people have -1.
    """

    number: NDArray[np.int64]  # of each person of the population, or -1
    size: NDArray[np.int64]  # members, absent ones included
    present: NDArray[np.int64]  # members with a record
    low: NDArray[np.int32]  # [column, group]
    high: NDArray[np.int32]

    @staticmethod
    def of(population: Population, group: NDArray[np.int64]) -> Groups:
        """Number the published groups consecutively; a negative group means none.

        A region is the smallest box that holds all members, present or not, on a taxonomy widened
        to sibling nodes as the release shows it.
        """
        if len(group) != population.size or (population.present & (group < 0)).any():
            raise ImpossibleState("somebody with a record has no group")
        shown, present = np.unique(group[population.present], return_counts=True)
        place = np.searchsorted(shown, group)
        place[place == len(shown)] = 0
        number = np.where(shown[place] == group, place, -1) if len(shown) else group * 0 - 1
        member = number >= 0
        low, high = extents(population.codes[:, member], number[member], len(shown))
        for column, domain in enumerate(population.domains):
            low[:, column], high[:, column] = widened_to_nodes(
                domain, low[:, column], high[:, column], low[:, column], high[:, column]
            )
        return Groups(
            number=number,
            size=np.bincount(number[member], minlength=len(shown)).astype(np.int64),
            present=present.astype(np.int64),
            low=np.ascontiguousarray(low.T),
            high=np.ascontiguousarray(high.T),
        )
