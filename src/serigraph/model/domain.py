"""A quasi-identifier as an ordered domain of codes.

Numbers and dates are ordered by size, taxonomy leaves in depth-first order, other categories by
name. Every region of a release is then a box of code intervals, whatever the columns are.

A missing value is a value of its own: it has code 0 where the column has any, it lies apart from
all others, and no interval that holds it together with other codes counts as narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model.kinds import KINDS, Kind
from serigraph.model.taxonomy import Taxonomy
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True, repr=False)
class Domain(Undisclosed):
    """The values that one quasi-identifier takes, in code order."""

    name: str
    kind: Kind
    values: pl.Series  # the value of each code; null at code 0 if the column has missing values
    taxonomy: Taxonomy | None = None

    @property
    def is_scale(self) -> bool:
        return KINDS[self.kind].is_scale

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def has_missing(self) -> bool:
        return self.size > 0 and self.values[0] is None

    def positions(self) -> NDArray[np.float64]:
        """Where each code lies on a scale on which the known values span 0 to 1."""
        known = self.values.slice(1) if self.has_missing else self.values
        if self.is_scale:
            at = known.to_physical().cast(pl.Float64).to_numpy().astype(np.float64)
        else:
            at = np.arange(len(known), dtype=np.float64)
        span = float(at[-1] - at[0]) if len(at) > 1 else 0.0
        scaled = (at - at[0]) / span if span > 0 else np.zeros(len(at))
        return np.concatenate([[-1.0], scaled]) if self.has_missing else scaled

    def divergences(self) -> NDArray[np.int32]:
        """For each boundary between codes i and i+1, how deep in the taxonomy it lies.

        A region may be cut only at its shallowest boundaries, so that it stays a union of siblings.
        Without a taxonomy all boundaries are alike; the one beside a missing value is shallowest.
        """
        known = self.size - self.has_missing
        if self.taxonomy is not None:
            inner = self.taxonomy.divergence
        else:
            inner = np.zeros(max(known - 1, 0), dtype=np.int32)
        if self.has_missing and known > 0:
            return np.concatenate([np.array([-1], dtype=np.int32), inner])
        return inner
