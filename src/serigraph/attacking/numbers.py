"""Numbers: groups are numbered, or lie in the file, in the order in which they were formed.

The adversary knows in which order the table lists people, and that groups were formed around one
holder after the other, as clustering does: the first group with a value around the first holder in
the table, the last one around the last. In each group it suspects the member who lies in the table
where the group lies among the groups. The unsorted matching attack of Sweeney (2002), on groups
instead of rows.

Measured: in each group that shows a value, the member whose place in the table fits best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from serigraph.attacking.evidence import Evidence, one_of_each
from serigraph.attacking.scoring import Guesses, Risk, holding, together


@dataclass(frozen=True)
class Numbers:
    name: str = "numbers of groups"
    risk: Risk = "linkability"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if evidence.listed is None or any(seen.rows is None for seen in evidence.releases):
            return "it needs the rows and the order of the tables: give the tables (--raw)"
        parts = []
        for j, seen in enumerate(evidence.releases):
            assert seen.rows is not None
            is_here = (seen.group >= 0) & (evidence.listed >= 0)
            in_table = np.zeros(evidence.people)
            in_table[is_here] = np.argsort(np.argsort(evidence.listed[is_here])) / is_here.sum()
            for value in range(len(evidence.values)):
                counts = seen.counts(value)
                shows = np.flatnonzero((counts[:-1] > 0) & (seen.rows.number >= 0))
                in_file = np.zeros(len(counts))
                in_file[shows] = (np.argsort(np.argsort(seen.rows.number[shows])) + 0.5) / max(
                    len(shows), 1
                )
                person = np.flatnonzero(is_here & np.isin(seen.group, shows))
                group = seen.group[person]
                fits = -np.abs(in_table[person] - in_file[group])
                picked = np.zeros(len(person), dtype=np.bool_)
                picked[one_of_each(group, fits, draw)] = True
                believed = counts[group] / seen.size[group]
                values = np.full(len(person), value)
                parts.append(holding(evidence, person, values, believed, picked, j))
        return together(parts)
