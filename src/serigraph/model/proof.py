"""What the verifier vouches for: the only thing that the ledger commits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model.cohorts import CohortChanges
from serigraph.records import WorstPair
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True)
class Gap:
    """A protected value with holders who are not published as such."""

    value: str
    missing: int  # number of such holders
    risk: Fraction  # the largest chance of being one of them, if that is charged, or 0


@dataclass(frozen=True, repr=False)
class Proof(Undisclosed):
    """The groups of one release, after an exact check of every exposure of every member.

    Only ``serigraph.verification.verify`` makes one. Groups are numbered 0..G-1. Where no value
    persists each has at least one present member; people in groups without one are not members of
    anything.
    """

    ids: pl.Series  # Int64 or String, ascending: the members
    group: NDArray[np.uint32]  # the group of each member
    present: NDArray[np.bool_]  # whether the member has a record in the release
    size: NDArray[np.int64]  # people in each group, absent ones included
    present_size: NDArray[np.int64]  # people in each group who have a record
    value_group: NDArray[np.uint32]  # one row for each (group, protected value held in it)
    value_name: pl.Series  # String, or an Enum with its names in order
    value_count: NDArray[np.int64]  # people in the group who hold the value
    largest: Fraction  # the largest breach probability of a pair that this release touches
    pairs: int  # (person, value) pairs that were checked
    exact_pairs: (
        int  # of these, decided in fractions because floats were too close to the threshold
    )
    holder: NDArray[np.int64]  # places in ``ids``; with ``held`` everybody published as a holder
    held: NDArray[np.int32]  # places in ``protected_names``
    protected_names: tuple[str, ...]
    worst: WorstPair | None = None  # of the pairs that this release touches, if there are any
    gaps: tuple[Gap, ...] = ()  # what was suppressed, ascending by value
    cohorts: CohortChanges | None = None  # None if no value persists
    # People of each group who cannot hold a transient value, as the adversary may know; None if it
    # cannot.
    excluded: NDArray[np.int64] | None = None

    @property
    def candidates(self) -> NDArray[np.int64]:
        """People in each group who may hold a transient value, present or not."""
        return self.size if self.excluded is None else self.size - self.excluded

    @property
    def missing(self) -> int:
        """Suppressed pairs of a person and a protected value."""
        return sum(gap.missing for gap in self.gaps)
