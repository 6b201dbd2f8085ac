"""The chance that each person was published as a holder, where there are too many ways to come by
the counts to sum them up: from ways that are drawn by chance (Markov chain Monte Carlo).

A chain holds one way: who is shown in which release. Two moves keep all counts. In a group, one
holder after the other is drawn anew among the members, by what else each is shown to hold (Gibbs
sampling). And a holder changes places with another member in all groups that they share
(Metropolis): a value that is kept moves more easily with its history.

Each chain begins with holders who are drawn by lot, and knows nothing of the truth. How far apart
chains stay says how well they mix, and is the error. A chain that is not worth several independent
draws is stuck: then nothing is said.

In kernels, ``groups`` says who is in which of them, and ``group`` alone in which group each person
is in each release; ``chain`` is the way that is changed; ``law`` that of the value; ``draw`` the
generator; ``a`` and ``b`` are two people; ``no`` and ``yes`` weigh not holding it and holding it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.links import Law, Linked
from serigraph.runtime.compiled import kernel, kernel_helper
from serigraph.runtime.threads import parallel_map
from serigraph.short_repr import Undisclosed

_CHAINS = 32
_FORGOTTEN = 200  # rounds that lead away from the beginning; in a round, each group is drawn anew
_ROUNDS = 100  # before chains are compared; then twice as many, without these, and so on
_STUCK = 800  # rounds after which chains are given up that are worth one draw
_MOST_VISITS = 1 << 30  # of all chains to the members of groups: some ten seconds
_WORTH = 4  # independent draws that a chain is worth if it mixes
_GOOD, _BEARABLE = 0.05, 0.1  # standard errors that are aimed at, and accepted


@dataclass(frozen=True, repr=False)
class Sampled(Undisclosed):
    """What chains have found, and its standard error."""

    chance: NDArray[np.float64]
    error: NDArray[np.float64]
    worth: float  # of a chain, in independent draws; infinite if all chains agree

    @property
    def has_mixed(self) -> bool:
        return self.worth >= _WORTH and float(self.error.max()) <= _BEARABLE


def sample_ways(linked: Linked, draw: np.random.Generator) -> Sampled | None:
    """The chance that each person of a part was ever published as a holder; None if the part is so
    large that chains would not come far."""
    most = _MOST_VISITS // (_CHAINS * len(linked.member)) - _FORGOTTEN  # rounds
    if most < _ROUNDS:
        return None
    streams = draw.spawn(_CHAINS)  # what else is drawn from ``draw`` stays what it is
    groups = _groups(linked)
    chains = [_begun(groups, _filled(linked, stream)) for stream in streams]

    def walk(rounds: int) -> NDArray[np.float64]:
        def one(number: int) -> NDArray[np.int64]:
            return _walk(groups, chains[number], linked.law, rounds, streams[number])

        return np.array(parallel_map(one, range(_CHAINS))) / rounds

    walk(_FORGOTTEN)
    rounds = _ROUNDS
    while True:
        found = compared(walk(rounds))
        most -= rounds
        rounds *= 2
        if (
            (found.worth >= _WORTH and found.error.max() <= _GOOD)
            or (found.worth < 2 and rounds > _STUCK)
            or rounds > most
        ):
            return found


def compared(means: NDArray[np.float64]) -> Sampled:
    """What chains agree on, of which each has found ``means[chain]``.

    What no chain has met is not impossible: chances are pulled towards one half by as much as one
    more draw of either kind would do it, before their error is computed.

    >>> compared(np.array([[1.0, 0.3], [1.0, 0.5]])).chance
    array([1. , 0.4])
    >>> compared(np.array([[1.0], [0.0]])).has_mixed
    False
    """
    chance, spread = means.mean(axis=0), means.var(axis=0, ddof=1)
    alone = float((chance * (1 - chance)).sum())
    worth = alone / float(spread.sum()) if spread.any() else np.inf
    draws = len(means) * (max(worth, 1.0) if spread.any() else 1.0)
    pulled = (chance * draws + 1) / (draws + 2)
    error = np.sqrt(np.maximum(spread / len(means), pulled * (1 - pulled) / draws))
    return Sampled(chance, error, worth)


def _filled(linked: Linked, draw: np.random.Generator) -> NDArray[np.bool_]:
    """Who is shown in which release, if the holders of each group are drawn by lot."""
    person, release = np.nonzero(linked.group >= 0)
    group = linked.group[person, release]
    order = np.lexsort((draw.random(len(group)), group))
    is_drawn = np.arange(len(group)) - linked.start[group[order]] < linked.count[group[order]]
    chosen = order[is_drawn]
    shown = np.zeros(linked.group.shape, dtype=np.bool_)
    shown[person[chosen], release[chosen]] = True
    return shown


class _Groups(NamedTuple):
    """Who is in which group: the members of a group are ``member`` from its ``start`` to that of
    the next one."""

    group: NDArray[np.int64]  # [person, release]
    recorded: NDArray[np.float64]  # [person, release]
    start: NDArray[np.int64]
    member: NDArray[np.int64]
    release: NDArray[np.int64]  # of each group


class _Chain(NamedTuple):
    """A way to come by the counts, changed in place."""

    shown: NDArray[np.bool_]  # [person, release]
    number: NDArray[np.int64]  # releases in which each person is shown
    usual: NDArray[np.float64]  # of each member: the odds to be shown, if it is shown nowhere else
    odds: NDArray[np.float64]  # of the members of one group
    held: NDArray[np.int64]  # which of these are its holders


def _groups(linked: Linked) -> _Groups:
    start, member = linked.start, linked.member
    release = np.argmax(linked.group[member[start[:-1]]] == np.arange(len(start) - 1)[:, None], 1)
    return _Groups(linked.group, linked.recorded, start, member, release)


def _begun(groups: _Groups, shown: NDArray[np.bool_]) -> _Chain:
    most = int(np.diff(groups.start).max())
    usual, odds = np.empty(len(groups.member)), np.empty(most)
    return _Chain(shown, shown.sum(axis=1), usual, odds, np.empty(most, dtype=np.int64))


@kernel
def _walk(
    groups: _Groups, chain: _Chain, law: Law, rounds: int, draw: np.random.Generator
) -> NDArray[np.int64]:
    """The number of ``rounds`` after which each person is shown anywhere. In a round the ``chain``
    draws the holders of each of the ``groups`` anew by ``draw``, under a ``law``."""
    releases = groups.group.shape[1]
    times = np.zeros(len(chain.number), dtype=np.int64)
    nowhere = np.zeros(releases, dtype=np.bool_)
    for g in range(len(groups.release)):
        for m in range(groups.start[g], groups.start[g + 1]):
            own = groups.recorded[groups.member[m]]
            chain.usual[m] = _odds(nowhere, own, groups.release[g], law)
    for _ in range(rounds):
        for g in range(len(groups.release)):
            _draw_anew(groups, chain, law, g, draw)
        for i in range(len(times)):
            times[i] += chain.number[i] > 0
    return times


@kernel_helper
def _draw_anew(groups: _Groups, chain: _Chain, law: Law, g: int, draw: np.random.Generator) -> None:
    """Draw the holders of group ``g``, one after the other, and then let them change places."""
    j, first = groups.release[g], groups.start[g]
    size = groups.start[g + 1] - first
    holders, others = 0, 0.0
    for m in range(size):
        i = groups.member[first + m]
        chain.odds[m] = chain.usual[first + m]
        if chain.number[i] > chain.shown[i, j]:  # few are shown elsewhere
            chain.odds[m] = _odds(chain.shown[i], groups.recorded[i], j, law)
        if chain.shown[i, j]:
            chain.held[holders] = m
            holders += 1
        else:
            others += chain.odds[m]
    for _ in range(holders):
        # Any of them, by lot: to take them in the order of members would favour some of these.
        t = int(draw.random() * holders)
        m = chain.held[t]
        k, left = m, draw.random() * (others + chain.odds[m]) - chain.odds[m]
        n = 0
        while left >= 0 and n < size:
            if not chain.shown[groups.member[first + n], j]:
                k = n
                left -= chain.odds[n]
            n += 1
        others += chain.odds[m] - chain.odds[k]
        _move(chain, groups.member[first + m], groups.member[first + k], j)
        chain.held[t] = k
    for _ in range(holders):
        t, k = int(draw.random() * holders), int(draw.random() * size)
        a, b = groups.member[first + chain.held[t]], groups.member[first + k]
        if not chain.shown[b, j] and _share_more(groups.group, a, b):
            before = _weight(groups, chain, law, a) * _weight(groups, chain, law, b)
            _exchange(groups.group, chain, a, b)
            after = _weight(groups, chain, law, a) * _weight(groups, chain, law, b)
            if draw.random() * before < after:
                chain.held[t] = k
            else:
                _exchange(groups.group, chain, a, b)


@kernel_helper
def _odds(shown: NDArray[np.bool_], recorded: NDArray[np.float64], j: int, law: Law) -> float:
    """The odds of a person to be shown in release ``j``, from when else it is ``shown``, and the
    chances that it is ``recorded``, under a ``law``."""
    no, yes = 1 - law.share, law.share
    for k in range(j):
        no, yes = _told(no, yes, shown[k], recorded[k])
        no, yes = (1 - law.gets) * no + (1 - law.keeps) * yes, law.gets * no + law.keeps * yes
        no, yes = no / (no + yes), yes / (no + yes)
    clear, holds = 1.0, 1.0
    for k in range(len(shown) - 1, j, -1):
        clear, holds = _told(clear, holds, shown[k], recorded[k])
        lost, kept = (1 - law.keeps) * clear + law.keeps * holds, law.gets
        clear, holds = (1 - kept) * clear + kept * holds, lost
        clear, holds = clear / (clear + holds), holds / (clear + holds)
    found: float = yes * holds * recorded[j] / (no * clear + yes * holds * (1 - recorded[j]))
    return found


@kernel_helper
def _told(no: float, yes: float, is_shown: bool, recorded: float) -> tuple[float, float]:
    """The weights of not holding and of holding a value, once it is known of a person, who is
    ``recorded`` with this chance, whether it ``is_shown``."""
    if is_shown:
        return 0.0, yes * recorded
    return no, yes * (1 - recorded)


@kernel_helper
def _weight(groups: _Groups, chain: _Chain, law: Law, i: int) -> float:
    """How probable it is under a ``law`` that person ``i`` is shown as in the ``chain``."""
    no, yes = 1 - law.share, law.share
    for k in range(groups.group.shape[1]):
        if k > 0:
            no, yes = (1 - law.gets) * no + (1 - law.keeps) * yes, law.gets * no + law.keeps * yes
        no, yes = _told(no, yes, chain.shown[i, k], groups.recorded[i, k])
    return no + yes


@kernel_helper
def _move(chain: _Chain, a: int, b: int, j: int) -> None:
    """Show person ``b`` instead of ``a`` in release ``j``."""
    chain.shown[a, j] = False
    chain.number[a] -= 1
    chain.shown[b, j] = True
    chain.number[b] += 1


@kernel_helper
def _share_more(group: NDArray[np.int64], a: int, b: int) -> bool:
    """Whether two people share more than one group: by drawing anew they only change one."""
    shared = 0
    for j in range(group.shape[1]):
        shared += group[a, j] >= 0 and group[a, j] == group[b, j]
    return shared > 1


@kernel_helper
def _exchange(group: NDArray[np.int64], chain: _Chain, a: int, b: int) -> None:
    """Two people change places in the groups that they share."""
    for j in range(group.shape[1]):
        if group[a, j] >= 0 and group[a, j] == group[b, j]:
            if chain.shown[a, j] and not chain.shown[b, j]:
                _move(chain, a, b, j)
            elif chain.shown[b, j] and not chain.shown[a, j]:
                _move(chain, b, a, j)
