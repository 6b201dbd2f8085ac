"""Intersection: somebody who was among the suspects in every release is the one who stays.

The adversary knows who is in which group of which release, and that a value lasts: it is kept to
the next release with a given chance. From the counts of all groups it computes how probable it is
that each person was ever published as a holder. Ganta, Kasiviswanathan and Smith (KDD 2008);
Wong and others (2010) for values that change by a law.

Every person is a Markov chain over the releases (holds, does not hold), solved exactly by passing
messages forwards and backwards. That a group shows n_s holders couples the people in it: each group
has a weight, fitted until the expected number of published holders is n_s. That is the distribution
of maximum entropy with the published counts; it is exact for one release, and close where groups
have more than a few members.

Measured: in each group that shows a value, the member most believed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, Seen, one_of_each
from serigraph.attacking.scoring import Guesses, Risk, holding, together

_SWEEPS = 25
_TINY = 1e-12
_MOST = 1e9  # the weight of a group that shows as many holders as it has members


@dataclass(frozen=True)
class Intersection:
    """The attack on values that are kept with the chance ``keeps``."""

    name: str
    keeps: float
    risk: Risk = "inference"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if len(evidence.releases) < 2:
            return "it compares releases, and there is one"
        parts = []
        for value in range(len(evidence.values)):
            person, believed = ever_published(evidence, value, self.keeps)
            picked = np.zeros(len(person), dtype=np.bool_)
            for seen in evidence.releases:
                group = seen.group[person]
                linked = np.flatnonzero(seen.counts(value)[group])
                picked[linked[one_of_each(group[linked], believed[linked], draw)]] = True
            values = np.full(len(person), value)
            parts.append(holding(evidence, person, values, believed, picked))
        return together(parts)


def ever_published(
    evidence: Evidence, value: int, keeps: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The people ever in a group that showed the value, and how probable it is that each was
    published as a holder."""
    linked = np.zeros(evidence.people, dtype=np.bool_)
    for seen in evidence.releases:
        linked |= seen.counts(value)[seen.group] > 0
    person = np.flatnonzero(linked)
    chain = _Chain(evidence.releases, person, value, keeps)
    for _ in range(_SWEEPS):
        chain.sweep()
    return person, chain.ever()


class _Chain:
    """The chains of all people linked to one value; each sweep changes the weights of groups."""

    def __init__(
        self, releases: tuple[Seen, ...], person: NDArray[np.int64], value: int, keeps: float
    ) -> None:
        self._group = [
            np.where(seen.group[person] < 0, len(seen.size), seen.group[person])
            for seen in releases
        ]
        self._count = [seen.counts(value).astype(np.float64) for seen in releases]
        self._recorded = [np.append(seen.recorded, 0.0) for seen in releases]
        self._weight = [np.where(count > 0, 1.0, 0.0) for count in self._count]
        shares = [
            seen.counts(value).sum() / max(float((seen.size * seen.recorded).sum()), 1.0)
            for seen in releases
        ]
        self._share = float(np.clip(np.mean(shares), 1e-6, 0.5))
        stays = min(keeps, 1 - 1e-4)
        self._step = np.array(
            [
                [1 - self._share * (1 - stays) / (1 - self._share), 1 - stays],
                [self._share * (1 - stays) / (1 - self._share), stays],
            ]
        )  # [now, before]
        self._people = len(person)

    def _holds(self, j: int, shown: bool = True) -> NDArray[np.float64]:
        """The potential of holding the value in a release: not recorded, or weighted as shown."""
        group = self._group[j]
        recorded = self._recorded[j][group]
        weight = self._weight[j][group] if shown else 0.0
        potential: NDArray[np.float64] = 1 - recorded + recorded * weight
        return potential

    def _backwards(self) -> list[NDArray[np.float64]]:
        """For each release what the later ones say of those who hold or do not."""
        message = np.ones((2, self._people))
        found = [message]
        for j in range(len(self._group) - 1, 0, -1):
            message = self._step.T @ (message * np.stack([np.ones(self._people), self._holds(j)]))
            message = message / np.maximum(message.max(axis=0), _TINY)
            found.append(message)
        return found[::-1]

    def sweep(self) -> None:
        """Fit the weights of the groups of each release in turn."""
        later = self._backwards()
        earlier = np.repeat([[1 - self._share], [self._share]], self._people, axis=1)
        for j, group in enumerate(self._group):
            self._fit(j, group, earlier[0] * later[j][0], earlier[1] * later[j][1])
            earlier = self._step @ (earlier * np.stack([np.ones(self._people), self._holds(j)]))
            earlier = earlier / np.maximum(earlier.sum(axis=0), _TINY)

    def _fit(
        self, j: int, group: NDArray[np.int64], no: NDArray[np.float64], yes: NDArray[np.float64]
    ) -> None:
        count = self._count[j]
        recorded = self._recorded[j][group]
        for _ in range(3):
            shown = yes * recorded * self._weight[j][group]
            chance = shown / np.maximum(no + yes * (1 - recorded) + shown, _TINY)
            found = np.bincount(group, chance, minlength=len(count))
            people = np.bincount(group, minlength=len(count))
            odds = count * np.maximum(people - found, _TINY)
            odds /= np.maximum(found, _TINY) * np.maximum(people - count, _TINY)
            weight = np.where(count > 0, self._weight[j] * odds, 0.0)
            self._weight[j] = np.clip(weight, 0.0, _MOST)

    def ever(self) -> NDArray[np.float64]:
        """1 less the chance of never having been shown."""
        shown = hidden = np.repeat([[1 - self._share], [self._share]], self._people, axis=1)
        for j in range(len(self._group)):
            shown = shown * np.stack([np.ones(self._people), self._holds(j)])
            hidden = hidden * np.stack([np.ones(self._people), self._holds(j, shown=False)])
            scale = np.maximum(shown.sum(axis=0), _TINY)
            shown, hidden = self._step @ (shown / scale), self._step @ (hidden / scale)
        left = hidden.sum(axis=0) / np.maximum(shown.sum(axis=0), _TINY)
        found: NDArray[np.float64] = np.clip(1 - left, 0.0, 1.0)
        return found
