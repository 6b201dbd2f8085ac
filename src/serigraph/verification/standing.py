"""Where a series stands: how much of their budget the pairs of the ledger have spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from serigraph.population import History
from serigraph.verification import kernels

BINS = 10
MOST_LINKS = 1024


@dataclass(frozen=True)
class Standing:
    """Counts only, nobody's name: pairs by value and by tenth of their budget that is spent."""

    spent: NDArray[np.int64]  # [value, tenth]
    links: NDArray[np.int64]  # [value, number of links]
    largest_by_person: NDArray[np.float64]

    @property
    def pairs(self) -> int:
        return int(self.spent.sum())

    def people_above(self, share_of_threshold: float, threshold: Fraction) -> int:
        """People whose largest probability exceeds this share of the threshold."""
        return int((self.largest_by_person > share_of_threshold * float(threshold)).sum())


def standing(history: History, thresholds: Sequence[Fraction]) -> Standing:
    """Walk through the ledger and say where everybody stands (floats: for display)."""
    values = len(thresholds)
    spent = np.zeros((values, BINS), dtype=np.int64)
    links = np.zeros((values, min(history.releases, MOST_LINKS) + 1), dtype=np.int64)
    largest = np.zeros(len(history.groups))
    kernels.survey_past(
        history.groups,
        history.start,
        history.exposure,
        history.value,
        1.0 - history.count / history.size,
        np.array([float(t) for t in thresholds]),
        BINS,
        spent,
        links,
        largest,
    )
    return Standing(spent, links, largest)
