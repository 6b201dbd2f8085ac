"""Suppression: whose record is missing held what could not be published.

The adversary knows who is in the table (only where the policy grants that: presence known), and
finds that somebody is in no group of the release. A method that suppresses the records that do not
fit has named their people. Wong and others (VLDB 2007) on methods that do no more than necessary.

Measured: everybody who is in a table and not in its release; right if the person holds any
protected value. The claim is that they hold one as often as people in the release do, or as the
promise says of them where it says more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, Truth
from serigraph.attacking.scoring import Guesses, Risk, promised, together


@dataclass(frozen=True)
class Suppression:
    name: str = "suppression"
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        del draw
        if any(seen.attends is None for seen in evidence.releases):
            return "the policy does not grant that presence is known, or tables are not given"
        return together([_missing(evidence, j) for j in range(len(evidence.releases))])


def _missing(evidence: Evidence, release: int) -> Guesses:
    seen = evidence.releases[release]
    assert seen.attends is not None
    person = np.flatnonzero(seen.attends & (seen.group < 0))
    people = max(int((seen.group >= 0).sum()), 1)
    usual = min(float(seen.shown_count.sum()) / people, 1.0)

    def is_right(truth: Truth) -> NDArray[np.bool_]:
        return truth.holds_anything(person, release)

    return Guesses(
        person=person,
        value=np.full(len(person), -1),
        believed=np.ones(len(person)),
        picked=np.ones(len(person), dtype=np.bool_),
        threshold=np.full(len(person), float(max(evidence.thresholds, default=1))),
        claimed=lambda truth: np.maximum(usual, _promised(truth, person)),
        is_right=is_right,
    )


def _promised(truth: Truth, person: NDArray[np.int64]) -> NDArray[np.float64]:
    """How probable it is by the promise that each was ever published as a holder of any value."""
    survival = np.ones(len(person))
    for value in range(len(truth.evidence.values)):
        survival *= 1 - promised(truth, person, np.full(len(person), value), None)
    found: NDArray[np.float64] = 1 - survival
    return found
