"""Attendance: who comes and who stays away tells something about who holds.

The adversary knows who is in which group of which release, and so who was new and who did not come
back. Over all groups it learns whether holders come and go more often than others: the share of a
group that stays away grows, or falls, with the share that holds. With what it has learned it
weighs the members of each group. Nobody's values are known to it. Shmueli and others (2012) on
presence in successive releases.

Measured: in each group that shows a value, the member most believed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.definetti import shared_out
from serigraph.attacking.evidence import NOBODY, Evidence, Seen, one_of_each
from serigraph.attacking.scoring import Guesses, Risk, holding, together

_LEAST, _MOST = 0.005, 0.995  # chances of coming and going that are believed


@dataclass(frozen=True)
class Attendance:
    name: str = "attendance"
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if len(evidence.releases) < 2:
            return "it compares releases, and there is one"
        parts = []
        for j, seen in enumerate(evidence.releases):
            beside = [k for k in (j - 1, j + 1) if 0 <= k < len(evidence.releases)]
            away = [evidence.releases[k].group == NOBODY for k in beside]
            for value in range(len(evidence.values)):
                person = np.flatnonzero(seen.counts(value)[seen.group])
                ratio = np.ones(len(person))
                for each in away:
                    ratio *= _ratio(seen, value, each)[person]
                believed = shared_out(seen, value, person, ratio)
                picked = np.zeros(len(person), dtype=np.bool_)
                picked[one_of_each(seen.group[person], believed, draw)] = True
                values = np.full(len(person), value)
                parts.append(holding(evidence, person, values, believed, picked, j))
        return together(parts)


def _ratio(seen: Seen, value: int, away: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How much more probable it is of a holder than of others to be away, or there, as each is.

    The share of a group that is away is a + b n_s/n: a straight line through all groups.
    """
    members = seen.group >= 0
    groups = len(seen.size)
    people = np.bincount(seen.group[members], minlength=groups)
    gone = np.bincount(seen.group[members & away], minlength=groups) / np.maximum(people, 1)
    share = seen.chances(value)[:-1]
    weight = people / max(int(people.sum()), 1)
    middle, level = float(weight @ share), float(weight @ gone)
    spread = float(weight @ (share - middle) ** 2)
    slope = float(weight @ ((share - middle) * (gone - level))) / spread if spread else 0.0
    others = float(np.clip(level - slope * middle, _LEAST, _MOST))
    holders = float(np.clip(others + slope, _LEAST, _MOST))
    return np.where(away, holders / others, (1 - holders) / (1 - others))
