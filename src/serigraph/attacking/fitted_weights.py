"""An approximation of the chance that each person was published as a holder.

Every person is a Markov chain over the releases (holds, does not hold), solved exactly by passing
messages forwards and backwards. That a group shows n_s holders couples the people in it: each group
has a weight, fitted until the expected number of published holders is n_s. That is the distribution
of maximum entropy with the published counts; it is exact for one release.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.links import Linked

_SWEEPS = 25
_TINY = 1e-12
_MOST = 1e9  # the weight of a group that shows as many holders as it has members


def fit_weights(linked: Linked) -> NDArray[np.float64]:
    """About how probable it is that each person was ever published as a holder."""
    fit = _Fit(linked)
    for _ in range(_SWEEPS):
        fit.sweep()
    return fit.ever()


class _Fit:
    """The chains of all people; each sweep changes the weights of groups."""

    def __init__(self, linked: Linked) -> None:
        law = linked.law
        self._group = linked.group.T  # the last weight is for those who are in none
        self._recorded = linked.recorded.T
        self._count = np.append(linked.expected, 0.0)
        self._weight = np.where(self._count > 0, 1.0, 0.0)
        self._begin = np.array([[1 - law.share], [law.share]]) + np.zeros(len(linked.person))
        self._step = np.array(
            [[1 - law.gets, 1 - law.keeps], [law.gets, law.keeps]]
        )  # [now, before]

    def _holds(self, j: int, shown: bool = True) -> NDArray[np.float64]:
        """The potential of holding the value in a release: not recorded, or weighted as shown."""
        weight = self._weight[self._group[j]] if shown else 0.0
        potential: NDArray[np.float64] = 1 - self._recorded[j] * (1 - weight)
        return potential

    def _seen(
        self, message: NDArray[np.float64], j: int, shown: bool = True
    ) -> NDArray[np.float64]:
        """A message with what a release says."""
        return np.stack([message[0], message[1] * self._holds(j, shown)])

    def sweep(self) -> None:
        """Fit the weights of the groups of each release in turn."""
        later = [np.ones_like(self._begin)]
        for j in range(len(self._group) - 1, 0, -1):
            message = self._step.T @ self._seen(later[-1], j)
            later.append(message / np.maximum(message.max(axis=0), _TINY))
        earlier = self._begin
        for j in range(len(self._group)):
            self._fit(j, *(earlier * later.pop()))
            earlier = self._step @ self._seen(earlier, j)
            earlier = earlier / np.maximum(earlier.sum(axis=0), _TINY)

    def _fit(self, j: int, no: NDArray[np.float64], yes: NDArray[np.float64]) -> None:
        """Fit the weights of the groups of one release to what the others say."""
        is_in = self._group[j] >= 0
        group, recorded = self._group[j][is_in], self._recorded[j][is_in]
        no, yes = no[is_in], yes[is_in]
        groups, place = np.unique(group, return_inverse=True)
        count, people = self._count[groups], np.bincount(place)
        for _ in range(3):
            shown = yes * recorded * self._weight[group]
            found = np.bincount(place, shown / np.maximum(no + yes * (1 - recorded) + shown, _TINY))
            odds = count * np.maximum(people - found, _TINY)
            odds /= np.maximum(found, _TINY) * np.maximum(people - count, _TINY)
            self._weight[groups] = np.clip(self._weight[groups] * odds, 0.0, _MOST)

    def ever(self) -> NDArray[np.float64]:
        """1 less the chance of never having been shown."""
        shown = hidden = self._begin
        for j in range(len(self._group)):
            shown, hidden = self._seen(shown, j), self._seen(hidden, j, shown=False)
            scale = np.maximum(shown.sum(axis=0), _TINY)
            shown, hidden = self._step @ (shown / scale), self._step @ (hidden / scale)
        left = hidden.sum(axis=0) / np.maximum(shown.sum(axis=0), _TINY)
        found: NDArray[np.float64] = np.clip(1 - left, 0.0, 1.0)
        return found
