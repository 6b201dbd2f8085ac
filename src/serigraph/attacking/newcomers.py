"""Newcomers: two releases are subtracted from each other.

The adversary knows who is in which group of which release, and that values last. It joins groups of
two successive releases until both sides have the same people, but for those who are new, or who
have gone. If nobody has gone, the holders that are more belong to the newcomers; if nobody is new,
those that are fewer belong to the people who have gone. Byun and others (Secure Data Management
2006); Xiao and Tao (m-invariance, SIGMOD 2007).

Measured: one newcomer, or one who has gone, of each such difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, Seen, one_of_each
from serigraph.attacking.scoring import Guesses, Risk, holding, together


@dataclass(frozen=True)
class Newcomers:
    name: str = "newcomers"
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if len(evidence.releases) < 2:
            return "it compares releases, and there is one"
        parts = []
        for j in range(len(evidence.releases) - 1):
            before, after = evidence.releases[j], evidence.releases[j + 1]
            part_before, part_after = joined(before, after)
            for value in range(len(evidence.values)):
                for (old, of_old), (new, of_new) in (
                    ((before, part_before), (after, part_after)),
                    ((after, part_after), (before, part_before)),
                ):
                    person, part, believed = _differing(old, of_old, new, of_new, value)
                    picked = np.zeros(len(person), dtype=np.bool_)
                    picked[one_of_each(part, np.zeros(len(person)), draw)] = True
                    values = np.full(len(person), value)
                    parts.append(holding(evidence, person, values, believed, picked))
        return together(parts)


def joined(before: Seen, after: Seen) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The groups of two releases in parts that share no people: the part of each group."""
    stays = (before.group >= 0) & (after.group >= 0)
    one, other = before.group[stays], after.group[stays] + len(before.size)
    part = np.arange(len(before.size) + len(after.size))
    while True:
        least = part.copy()
        np.minimum.at(least, one, part[other])
        np.minimum.at(least, other, part[one])
        least = least[least]  # halves the way
        if np.array_equal(least, part):
            return part[: len(before.size)], part[len(before.size) :]
        part = least


def _differing(
    old: Seen, of_old: NDArray[np.int64], new: Seen, of_new: NDArray[np.int64], value: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The people who are in ``new`` only, in parts that nobody has left and that have more holders
    there: the part of each, and the share that holds."""
    parts = int(max(of_old.max(initial=0), of_new.max(initial=0))) + 1
    more = np.bincount(of_new, new.counts(value)[:-1], minlength=parts)
    more -= np.bincount(of_old, old.counts(value)[:-1], minlength=parts)
    came = np.flatnonzero((new.group >= 0) & (old.group < 0))
    gone = np.flatnonzero((old.group >= 0) & (new.group < 0))
    number = np.bincount(of_new[new.group[came]], minlength=parts)
    left = np.bincount(of_old[old.group[gone]], minlength=parts)
    telling = (more > 0) & (left == 0) & (number > 0)
    person = came[telling[of_new[new.group[came]]]]
    part = of_new[new.group[person]]
    return person, part, np.minimum(more[part] / np.maximum(number[part], 1), 1.0)
