"""Background knowledge: somebody of each group has told what it holds, or knows itself.

The adversary knows one member of each group, drawn by lot, and what it holds: a relative, a
colleague, or the adversary itself. Martin and others (ICDE 2007); Chen, LeFevre and Ramakrishnan
(VLDB 2007). One of n members is struck off: n_s/(n - 1) is left if it does not hold the value,
(n_s - 1)/(n - 1) if it does.

Measured: in each group that shows a value and whose known member does not hold it, one other
member, drawn by lot. The claim is kept if the policy grants as much (``known_members``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from serigraph.attacking.evidence import Evidence, one_of_each
from serigraph.attacking.scoring import Guesses, Risk, holding, together


@dataclass(frozen=True)
class BackgroundKnowledge:
    name: str = "one member known"
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if not evidence.insiders:
            return "nobody has told anything"
        parts = []
        for j, seen in enumerate(evidence.releases):
            insider = evidence.insiders[j]
            for value in range(len(evidence.values)):
                counts = seen.counts(value)
                told = np.isin(evidence.pairs(np.arange(evidence.people), value), evidence.told[j])
                # Groups in which somebody is known, and does not hold the value.
                is_open = np.zeros(len(counts), dtype=np.bool_)
                is_open[seen.group[insider & ~told]] = True
                asked = is_open[seen.group] & (counts[seen.group] > 0) & ~insider
                asked &= seen.group >= 0
                person = np.flatnonzero(asked)
                group = seen.group[person]
                left = np.maximum(seen.size[group] - 1, counts[group])
                picked = np.zeros(len(person), dtype=np.bool_)
                picked[one_of_each(group, np.zeros(len(person)), draw)] = True
                values = np.full(len(person), value)
                believed = counts[group] / np.maximum(left, 1)
                parts.append(holding(evidence, person, values, believed, picked, j))
        return together(parts)
