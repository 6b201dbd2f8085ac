"""Singling out: a group of one person is a record with a name.

The adversary knows quasi-identifiers, and finds people who are alone in their group. Their record
is known with all that it holds; nothing is left to guess. Sweeney (2002); Article 29 Working
Party, Opinion 05/2014.

Measured: everybody who is alone in a group. The claim is 1/(minimum group size) of the policy; with
a minimum of 1 nothing is claimed, and ``certain`` counts these people all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, Truth
from serigraph.attacking.scoring import Guesses, Risk, together


@dataclass(frozen=True)
class SinglingOut:
    name: str = "singling out"
    risk: Risk = "singling out"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        del draw
        return together([_alone(evidence, j) for j in range(len(evidence.releases))])


def _alone(evidence: Evidence, release: int) -> Guesses:
    seen = evidence.releases[release]
    person = np.flatnonzero(np.append(seen.size == 1, False)[seen.group])

    def is_right(truth: Truth) -> NDArray[np.bool_]:
        return truth.present[release][person]

    return Guesses(
        person=person,
        value=np.full(len(person), -1),
        believed=np.ones(len(person)),
        picked=np.ones(len(person), dtype=np.bool_),
        threshold=np.full(len(person), float(max(evidence.thresholds, default=1))),
        claimed=np.full(len(person), 1 / evidence.minimum_size),
        is_right=is_right,
    )
