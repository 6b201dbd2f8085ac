"""Background knowledge: some members of each group have told what they hold, or know themselves.

The adversary knows c members of each group, drawn by lot, and what they hold: relatives,
colleagues, the adversary itself. Martin and others (ICDE 2007); Chen, LeFevre and Ramakrishnan
(VLDB 2007). If none of them holds the value, n_s/(n - c) is left for the others. If h of them do,
as a holder who is curious about the other holders, (n_s - h)/(n - c) is left: less.

Measured: in each group that shows a value and has c members known who do not hold it, one other
member, drawn by lot. The claim is kept if the policy grants as much (``known_members``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from serigraph.attacking.evidence import Evidence, one_of_each
from serigraph.attacking.scoring import Guesses, Risk, holding, together


@dataclass(frozen=True)
class BackgroundKnowledge:
    """With this number of members known."""

    name: str
    known: int
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if not evidence.insiders:
            return "nobody has told anything"
        parts = []
        for j, seen in enumerate(evidence.releases):
            number = evidence.insiders[j]
            insider = (number >= 0) & (number < self.known)
            for value in range(len(evidence.values)):
                counts = seen.counts(value)
                told = np.isin(evidence.pairs(np.arange(evidence.people), value), evidence.told[j])
                # Groups in which enough people are known, and none of them holds the value.
                clean = np.bincount(seen.group[insider & ~told], minlength=len(counts))
                is_open = clean == self.known
                asked = is_open[seen.group] & (counts[seen.group] > 0) & ~insider
                asked &= seen.group >= 0
                person = np.flatnonzero(asked)
                group = seen.group[person]
                left = np.maximum(seen.size[group] - self.known, counts[group])
                picked = np.zeros(len(person), dtype=np.bool_)
                picked[one_of_each(group, np.zeros(len(person)), draw)] = True
                values = np.full(len(person), value)
                believed = counts[group] / np.maximum(left, 1)
                parts.append(holding(evidence, person, values, believed, picked, j))
        return together(parts)
