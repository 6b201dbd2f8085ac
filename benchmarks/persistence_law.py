"""The exact posterior of somebody who knows how a value behaves, and how cohorts that stand are
kept: who was ever published as a holder, given all that the releases tell of a cohort.

One member is followed, and the others are counted: members of whom nothing else is known are
interchangeable, so that it is enough to know how many of the others hold the value, and how many
of these were published as holders. What a release publishes is a function of these counts, of who
is present, and of lots; everything else has no chance and drops out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
State = tuple[int, int, int, int]
"""Of the member who is followed: 1 if it holds the value, plus 2 if it was ever published as a
holder. Of the others: who was not yet, how many of these hold the value, and how many of the rest
do."""


@dataclass(frozen=True)
class Belief:
    """How a value of one person behaves, whatever that of others does."""

    share: float  # hold it at first
    keeps: float  # the chance to hold it again in the next release
    gets: float  # the chance to hold it next, of somebody who does not hold it now
    present: float  # the chance to have a record

    def chances(self, people: int, holders: int) -> Floats:
        """How probable each number of holders is in the next release."""
        return np.convolve(_binomial(holders, self.keeps), _binomial(people - holders, self.gets))


@dataclass(frozen=True)
class Rules:
    """How cohorts are kept."""

    threshold: Fraction
    least: int = 2  # members of a cohort that goes on

    def companions(self, members: int, left: int, ever: int, others: int) -> int:
        """How many retire with those who have left, of whose cohort so many were ever published as
        holders; ``others`` is the crowd that other values need."""
        enough = max(-(-ever * self.threshold.denominator // self.threshold.numerator), others)
        companions = max(enough - left, 0)
        if members - left - companions < max(enough, self.least):
            return members - left
        return companions


@dataclass(frozen=True)
class Told:
    """What a release tells of a cohort: who retired before it, how many records there are, and how
    many of them show the value."""

    records: int
    count: int
    left: int = 0  # members who left the registry
    companions: int = 0
    others: int = 0  # the crowd that other values needed then


def posteriors(belief: Belief, rules: Rules, members: int, sights: Sequence[Told]) -> list[float]:
    """P(ever published as a holder | the sights), for somebody who retired before each release, in
    this order, and for somebody who never did. 0 where there is nobody like that."""
    found = []
    size = members
    for number, each in enumerate(sights):
        going = each.left + each.companions
        found.append(_followed(belief, rules, members, sights, number) if going else 0.0)
        size -= going
    found.append(_followed(belief, rules, members, sights, len(sights)) if size else 0.0)
    return found


def _followed(
    belief: Belief, rules: Rules, members: int, sights: Sequence[Told], retires: int
) -> float:
    """The posterior of a member who retires before the release with this place."""
    others, inside = members - 1, True
    weights = np.zeros((4, members, members, members))  # by state
    first = _binomial(others, belief.share)
    weights[0, others, :, 0] = (1 - belief.share) * first
    weights[1, others, :, 0] = belief.share * first
    for number, each in enumerate(sights):
        if number:
            weights = _grown_older(weights, belief, others)
        going = each.left + each.companions
        if going:
            leaves = number == retires
            weights = _applied(_retired(rules, (others, inside), each, leaves), weights)
            others, inside = others - going + leaves, inside and not leaves
        most = int((others + inside) * rules.threshold)
        told = (each.count, each.records)
        weights = _applied(_published(belief.present, (others, inside), most, told), weights)
        weights /= weights.sum()  # not a number where the sights are impossible
    return float(weights[2:].sum())


def _grown_older(weights: Floats, belief: Belief, others: int) -> Floats:
    """After everybody, also who has retired, may have lost or got the value."""
    size = weights.shape[1]
    later = np.zeros((size, size, size))  # of so many people, from so many holders to so many
    for people in range(others + 1):
        for holders in range(people + 1):
            later[people, holders, : people + 1] = belief.chances(people, holders)
    of_shown = np.zeros_like(later)
    of_shown[: others + 1] = later[others::-1]
    own = np.array([belief.chances(1, 0), belief.chances(1, 1)])
    return np.einsum(
        "shuxy,ht,uxv,uyw->stuvw",
        weights.reshape(2, 2, size, size, size),
        own,
        later,
        of_shown,
        optimize=True,
    ).reshape(weights.shape)


Ways = tuple[NDArray[np.int64], NDArray[np.int64], Floats]
"""The own state, and the other ones, of states before; the same after; and how probable that is."""


def _applied(ways: Ways, weights: Floats) -> Floats:
    before, after, chance = ways
    places = [np.ravel_multi_index(tuple(each.T), weights.shape) for each in (before, after)]
    more = np.bincount(places[1], weights.reshape(-1)[places[0]] * chance, weights.size)
    return more.reshape(weights.shape)


def _ways(found: Iterator[tuple[State, State, float]]) -> Ways:
    possible = [each for each in found if each[2]]
    before, after = (np.array([each[k] for each in possible]).reshape(-1, 4) for k in range(2))
    return before, after, np.array([each[2] for each in possible])


def _states(others: int) -> Iterator[State]:
    for own in range(4):
        for unshown in range(others + 1):
            for holders in range(unshown + 1):
                for shown in range(others - unshown + 1):
                    yield own, unshown, holders, shown


@cache
def _published(present: float, cohort: tuple[int, bool], most: int, told: tuple[int, int]) -> Ways:
    """What a release does that publishes so many holders and records of a cohort that may have
    ``most`` holders. The cohort has so many others, and may have the member who is followed."""
    return _ways(_publications(present, cohort, most, told))


def _publications(
    present: float, cohort: tuple[int, bool], most: int, told: tuple[int, int]
) -> Iterator[tuple[State, State, float]]:
    (others, inside), (count, records) = cohort, told
    for state in _states(others):
        own, unshown, holders, shown = state
        room = most - (others - unshown) - (inside and own >= 2)
        for here in range(1 + inside):
            chance = (present if here else 1 - present) if inside else 1.0
            again, first = here and own == 3, here and own == 1
            for new in range(holders + 1):
                now = min(new + first, room)
                before = count - now - again
                clean = records - now - before - (here and not first)
                chances = [
                    chance,
                    _chance(new, holders, present),
                    _chance(before, shown, present),
                    _chance(clean, others - holders - shown, present),
                ]
                for drawn in range(1 + first):
                    lot = abs(1 - drawn - now / (new + 1)) if first else 1.0
                    more = now - drawn
                    after = (own + 2 * drawn, unshown - more, holders - more, shown + more)
                    if min(after) >= 0:
                        yield state, after, prod(chances) * lot


@cache
def _retired(rules: Rules, cohort: tuple[int, bool], sight: Told, leaves: bool) -> Ways:
    """What it does to a cohort that so many retire from it; ``leaves`` if the one who is followed
    is among them."""
    return _ways(_retirements(rules, cohort, sight, leaves))


def _retirements(
    rules: Rules, cohort: tuple[int, bool], sight: Told, leaves: bool
) -> Iterator[tuple[State, State, float]]:
    others, inside = cohort
    going = sight.left + sight.companions - leaves
    for state in _states(others):
        own, unshown, holders, shown = state
        ever = others - unshown + (inside and own >= 2)
        if rules.companions(others + inside, sight.left, ever, sight.others) != sight.companions:
            continue
        # Of the others: not shown without and with the value, and shown without and with it.
        kinds = (unshown - holders, holders, others - unshown - shown, shown)
        for of_kind in _parts(going, kinds):
            after = (own, unshown - sum(of_kind[:2]), holders - of_kind[1], shown - of_kind[3])
            ways = prod(comb(n, k) for n, k in zip(kinds, of_kind, strict=True))
            yield state, after, ways / comb(others, going)


def _parts(total: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to take so many from kinds of which there are so many."""
    if not most:
        yield from () if total else ((),)
        return
    for first in range(min(total, most[0]) + 1):
        for rest in _parts(total - first, most[1:]):
            yield (first, *rest)


def _binomial(number: int, chance: float) -> Floats:
    return np.array([_chance(k, number, chance) for k in range(number + 1)])


def _chance(of: int, number: int, chance: float) -> float:
    """That so many of a number happen, each with the same chance."""
    if not 0 <= of <= number:
        return 0.0
    return float(comb(number, of) * chance**of * (1 - chance) ** (number - of))
