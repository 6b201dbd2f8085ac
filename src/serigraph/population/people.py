"""The people of one release, as arrays: everybody in the table and in the registry."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.population.domain import Domain


@dataclass(frozen=True)
class ProtectedValue:
    """A value, or a class of values, that the guarantee covers."""

    name: str
    threshold: Fraction


@dataclass(frozen=True)
class Population:
    """One entry a person; everything is indexed by the person's place 0..N-1 in ``ids``.

    ``values`` holds what is published of each present person (protected or not, an empty list
    where a person has no value, null for absent people); ``held`` is the same restricted to what
    is protected, as indices into ``protected``, classes included: person i holds
    ``held[held_start[i]:held_start[i+1]]``, without repetition.
    """

    ids: pl.Series  # Int64 or String, unique, ascending
    present: NDArray[np.bool_]
    domains: tuple[Domain, ...]
    codes: NDArray[np.int32]  # one row a domain, one column a person
    protected: tuple[ProtectedValue, ...]  # ascending by name; only what somebody holds
    held_start: NDArray[np.int64]
    held: NDArray[np.int32]
    values: pl.Series  # List(String)
    digest: str  # of the table's content, independent of its file format and row order
    outside_registry: int = 0  # people of the table that the registry does not list

    def __post_init__(self) -> None:
        n = len(self.ids)
        if not (
            len(self.present) == n == len(self.values) == len(self.held_start) - 1
            and self.codes.shape == (len(self.domains), n)
            and (n == 0 or int(self.held_start[-1]) == len(self.held))
        ):
            raise ImpossibleState("the arrays of a population do not fit each other")

    @property
    def size(self) -> int:
        return len(self.ids)
