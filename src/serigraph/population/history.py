"""What the ledger knows of the people of one release, as arrays.

The ledger is factorised: who was in which group, and what the group held. Exposures of a person
to a value are read off by walking the person's past groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class History:
    """Past groups of each person and the composition of each past group.

    Past groups of all releases are numbered through; only groups that held a protected value are
    kept. ``groups[j, i]`` is the group of person i (its place in the population) in past release j,
    or -1. Group g holds ``value[start[g]:start[g+1]]`` (indices into the population's protected
    values, ascending; values that nobody holds now are left out) with ``count`` people each, among
    ``size[g]`` people.
    """

    groups: NDArray[np.int32]  # one row a past release, one column a person
    start: NDArray[np.int64]
    value: NDArray[np.int32]
    count: NDArray[np.int64]
    size: NDArray[np.int64]  # the people that the adversary has to choose from

    @staticmethod
    def none(people: int) -> History:
        """The history of people before the first release."""
        return History(
            groups=np.empty((0, people), dtype=np.int32),
            start=np.zeros(1, dtype=np.int64),
            value=np.empty(0, dtype=np.int32),
            count=np.empty(0, dtype=np.int64),
            size=np.empty(0, dtype=np.int64),
        )

    def subset(self, kept: NDArray[np.bool_]) -> History:
        """The history of some of the people only."""
        return replace(self, groups=np.ascontiguousarray(self.groups[:, kept]))
