"""Classes of people who are alike, and how many of each were ever published as holders.

A class is a cohort and a release of retirement (`serigraph.model.cohorts`). If H of its |K| people
were published as holders of a value, an adversary who knows c of the others finds each of them a
holder with the probability H/(|K| - c), whatever values do over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from serigraph.model.cohorts import Cohorts
from serigraph.privacy.alikeness import crowd_probability
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True)
class ClassKind:
    """Classes of a value that have the same size and as many published holders."""

    size: int  # |K|
    holders: int  # H, at least 1
    classes: int
    is_open: bool  # somebody of them may still be in a release, or retired in the latest one

    @property
    def people(self) -> int:
        return self.size * self.classes

    def probability(self, known: int) -> Fraction:
        """H/(|K| - c)."""
        return crowd_probability(self.holders, self.size, known)


@dataclass(frozen=True, repr=False)
class Classes(Undisclosed):
    """All classes after a release, numbered from 0 on, with the people of ``Cohorts``."""

    number: NDArray[np.int64]  # of each person
    size: NDArray[np.int64]  # of each class
    retired: NDArray[np.int64]  # release of retirement of each class, or 0
    holders: dict[str, NDArray[np.int64]]  # of each value, in each class
    release: int  # the latest one

    @staticmethod
    def of(cohorts: Cohorts, release: int) -> Classes:
        """The classes after a release; nobody retired later."""
        kinds, number, size = np.unique(
            cohorts.cohort * (release + 1) + cohorts.retired,
            return_inverse=True,
            return_counts=True,
        )
        of_holder = number[cohorts.holder]
        return Classes(
            number=number,
            size=size,
            retired=kinds % (release + 1),
            holders={
                name: np.bincount(
                    of_holder[(cohorts.value == name).to_numpy()], minlength=len(size)
                )
                for name in cohorts.value.unique().sort()
            },
            release=release,
        )

    def kinds(self, name: str) -> tuple[ClassKind, ...]:
        """The classes with a published holder of a value."""
        holders = self.holders.get(name, np.zeros(len(self.size), dtype=np.int64))
        has_any = holders > 0
        is_open = (self.retired == 0) | (self.retired == self.release)
        facts = np.column_stack([self.size, holders, is_open])[has_any]
        found, classes = np.unique(facts, axis=0, return_counts=True)
        return tuple(
            ClassKind(size, held, number, bool(still))
            for (size, held, still), number in zip(found.tolist(), classes.tolist(), strict=True)
        )
