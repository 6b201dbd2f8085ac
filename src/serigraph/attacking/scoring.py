"""What an attack has found: how often it is right, against what is claimed and against chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, Truth
from serigraph.short_repr import Undisclosed

Risk = Literal["singling out", "linkability", "inference"]
"""The three risks of the Article 29 Working Party (Opinion 05/2014)."""

CERTAIN = 0.99
_RELIABLE = 0.9  # of the people that an attack is certain of, how many it must be right about
_WORLDS = 8  # in which the control is scored
_ENOUGH = 5  # bets that are right by what is claimed, for a lift to mean anything
_TAIL = 0.025  # outside each end of an interval
_HALVINGS = 40
_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Guesses(Undisclosed):
    """What an attack believes of people, and which of these beliefs it would bet on.

    ``claimed`` is how probable the publisher says that each is, which may depend on the truth.
    ``is_right`` asks the truth.
    """

    person: NDArray[np.int64]
    value: NDArray[np.int64]  # what each is believed to hold; -1: any value
    believed: NDArray[np.float64]
    picked: NDArray[np.bool_]
    threshold: NDArray[np.float64]
    claimed: NDArray[np.float64] | Callable[[Truth], NDArray[np.float64]]
    is_right: Callable[[Truth], NDArray[np.bool_]]
    by_chance: NDArray[np.float64] | None = None  # where other worlds do not tell
    error: NDArray[np.float64] | None = None  # standard error of what is believed; not a number: an
    # approximation, good enough to bet on; None: exact, or as far as the attack goes


class Attack(Protocol):
    """One attack; its module says what the adversary knows, where it is described, and what is
    measured."""

    @property
    def name(self) -> str: ...

    @property
    def risk(self) -> Risk: ...

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        """What it believes; text says why it cannot be run on this evidence."""


@dataclass(frozen=True)
class Finding:
    """The figures of one attack; nothing in it names a person.

    It bets once for each group and value, or for each person that it is about, and in one release
    only on the same person and value: releases are alike, and a lucky bet would be lucky in all of
    them. What is claimed to be certain is no bet. ``lift`` is how
    often it was right over how often the publisher says that it would be, with the ends of a 95 %
    interval. ``control`` is the lift of the same bets in worlds with the same releases in which
    people have changed places: what chance gives.
    """

    attack: str
    risk: Risk
    guessed: int
    right: int
    claimed: float  # of these, how many would be right by what is claimed
    lift: float
    lowest: float
    highest: float
    control: float | None  # None: not computed
    precision: float
    above: int  # people rightly believed in with more than the threshold, if that share is right
    certain: int  # people rightly believed in with 99 % or more, if 90 % of these are right
    possible: int  # bets there were; more than guessed if a sample was drawn
    not_run: str = ""  # why, if it was not run
    approximate: int = 0  # bets that rest on an approximation of what such an adversary believes
    error: float = 0.0  # largest standard error of what is believed otherwise; 0: exact

    @property
    def is_sample(self) -> bool:
        return self.guessed < self.possible

    @property
    def is_telling(self) -> bool:
        """Whether there are bets enough for the lift to mean anything."""
        return self.claimed >= _ENOUGH

    def in_words(self) -> str:
        """How far it came, in a line."""
        return (
            f"{self.attack} right {self.lift:.2f} times as often as claimed "
            f"({self.lowest:.2f} to {self.highest:.2f})"
        )

    def doubts(self) -> tuple[str, ...]:
        """What to know of its beliefs, in a line each; nothing if they are exact."""
        found = []
        if self.approximate:
            found.append(
                f"{self.attack}: {self.approximate:,} of {self.guessed:,} bets rest on an "
                "approximation whose error is not known, and better ones may exist"
            )
        if self.error:
            found.append(
                f"{self.attack}: beliefs were sampled, with a standard error of at most "
                f"{self.error:.3f}"
            )
        return tuple(found)

    def exceeds(self, highest_lift: float, tail: float = _TAIL) -> bool:
        """Whether even the low end of the interval is above a limit; with a ``tail``, of a wider
        interval that leaves out this much at each end."""
        if not self.guessed:
            return False
        low, _ = interval(self.right, self.guessed, tail)
        return low * self.guessed > highest_lift * self.claimed


def run(
    attack: Attack,
    evidence: Evidence,
    truth: Truth,
    draw: np.random.Generator,
    sample: int | None = None,
    worlds: int = _WORLDS,
) -> Finding:
    """Let an attack guess, and score it. At most ``sample`` of its bets count. The control is the
    average over ``worlds`` worlds; there is none without them."""
    found = attack.guess(evidence, draw)
    if isinstance(found, str):
        return _nothing(attack, found)
    right = found.is_right(truth)
    claimed = found.claimed if isinstance(found.claimed, np.ndarray) else found.claimed(truth)
    error = np.zeros(len(found.person)) if found.error is None else found.error
    is_known = ~np.isnan(error)
    is_above = found.believed > found.threshold + _ROUNDING
    above = _rightly(
        found, right, is_above, float(found.threshold[is_above].mean()) if is_above.any() else 0.0
    )
    certain = _rightly(found, right, found.believed >= CERTAIN, _RELIABLE)
    picked = _once(found, claimed < 1 - _ROUNDING)
    possible = len(picked)
    if not possible:
        nothing = _nothing(attack, "there is nothing to guess that is not claimed to be certain")
        return replace(nothing, above=above, certain=certain)
    if sample is not None and possible > sample:
        picked = picked[draw.choice(possible, sample, replace=False)]
    bets, said = int(right[picked].sum()), float(claimed[picked].sum())
    by_chance = _by_chance(found, picked, truth, draw, worlds)
    low, high = interval(bets, len(picked))
    scale = len(picked) / max(said, _ROUNDING)
    return Finding(
        attack=attack.name,
        risk=attack.risk,
        guessed=len(picked),
        right=bets,
        claimed=said,
        lift=bets / max(said, _ROUNDING),
        lowest=low * scale,
        highest=high * scale,
        control=None if by_chance is None else by_chance / max(said, _ROUNDING),
        precision=bets / len(picked),
        above=above,
        certain=certain,
        possible=possible,
        approximate=int((~is_known[picked]).sum()),
        error=float(error[is_known].max(initial=0.0)),
    )


def combined(findings: Sequence[Finding]) -> Finding:
    """What one attack has found in several parts of a release."""
    ran = [each for each in findings if each.guessed]
    if len(ran) < 2:
        return ran[0] if ran else findings[0]
    right, guessed = sum(each.right for each in ran), sum(each.guessed for each in ran)
    claimed = sum(each.claimed for each in ran)
    low, high = interval(right, guessed)
    return replace(
        ran[0],
        guessed=guessed,
        right=right,
        claimed=claimed,
        lift=right / max(claimed, _ROUNDING),
        lowest=low * guessed / max(claimed, _ROUNDING),
        highest=high * guessed / max(claimed, _ROUNDING),
        control=None,
        precision=right / guessed,
        above=sum(each.above for each in findings),
        certain=sum(each.certain for each in findings),
        possible=sum(each.possible for each in ran),
    )


def _by_chance(
    found: Guesses,
    picked: NDArray[np.int64],
    truth: Truth,
    draw: np.random.Generator,
    worlds: int,
) -> float | None:
    """How many of the bets are right in other worlds with the same releases."""
    if found.by_chance is not None:
        return float(found.by_chance[picked].sum())
    if not worlds:
        return None
    right = [found.is_right(truth.permuted(draw))[picked].sum() for _ in range(worlds)]
    return float(np.mean(right))


def _rightly(
    found: Guesses, right: NDArray[np.bool_], believed: NDArray[np.bool_], least: float
) -> int:
    """How many people are rightly believed in. Nobody, if the attack is right about no more than
    the least share of those that it believes in: then it is only sure of itself."""
    if not believed.any() or float(right[believed].mean()) <= least:
        return 0
    return len(np.unique(found.person[right & believed]))


def _once(found: Guesses, is_open: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The places of the bets, the first on each person and value."""
    picked = np.flatnonzero(found.picked & is_open)
    keys = (found.person[picked] << 32) + found.value[picked]
    chosen: NDArray[np.int64] = picked[np.sort(np.unique(keys, return_index=True)[1])]
    return chosen


def holding(
    evidence: Evidence,
    person: NDArray[np.int64],
    value: NDArray[np.int64],
    believed: NDArray[np.float64],
    picked: NDArray[np.bool_],
    release: int | None = None,
    error: NDArray[np.float64] | None = None,
) -> Guesses:
    """Guesses that people hold values, in one release or ever, against the promise."""
    limits = np.array([float(each) for each in evidence.thresholds] or [1.0])
    return Guesses(
        person=person,
        value=value,
        believed=believed,
        picked=picked,
        threshold=limits[value],
        claimed=lambda truth: promised(truth, person, value, release),
        is_right=lambda truth: truth.holds(person, value, release),
        error=error,
    )


def together(parts: list[Guesses]) -> Guesses:
    """Several guesses as one."""

    def claimed(truth: Truth) -> NDArray[np.float64]:
        found = [
            each.claimed if isinstance(each.claimed, np.ndarray) else each.claimed(truth)
            for each in parts
        ]
        return np.concatenate(found) if found else np.empty(0)

    def is_right(truth: Truth) -> NDArray[np.bool_]:
        found = [each.is_right(truth) for each in parts]
        return np.concatenate(found) if found else np.empty(0, dtype=np.bool_)

    chances = [each.by_chance for each in parts if each.by_chance is not None]
    errors = [each.error for each in parts if each.error is not None]
    return Guesses(
        person=np.concatenate([np.empty(0, dtype=np.int64), *(each.person for each in parts)]),
        value=np.concatenate([np.empty(0, dtype=np.int64), *(each.value for each in parts)]),
        believed=np.concatenate([np.empty(0), *(each.believed for each in parts)]),
        picked=np.concatenate([np.empty(0, np.bool_), *(each.picked for each in parts)]),
        threshold=np.concatenate([np.empty(0), *(each.threshold for each in parts)]),
        claimed=claimed,
        is_right=is_right,
        by_chance=np.concatenate(chances) if chances else None,
        error=np.concatenate(errors) if errors else None,
    )


def promised(
    truth: Truth, person: NDArray[np.int64], value: NDArray[np.int64], release: int | None
) -> NDArray[np.float64]:
    """How probable the publisher says that each link is: n_s/(n - c) in one release,
    1 - prod(1 - n_s/(n - c)) over all, or H/(|K| - c) of a class where values persist."""
    evidence = truth.evidence
    releases = evidence.releases if release is None else evidence.releases[release : release + 1]
    survival = np.ones(len(person))
    for name in np.unique(value).tolist():
        chosen = value == name
        if release is None and evidence.persisting and evidence.persisting[name]:
            survival[chosen] = 1 - _in_classes(truth, person[chosen], name)
            continue
        for seen in releases:
            chances = seen.chances(name, evidence.known_members)
            survival[chosen] *= 1 - chances[seen.group[person[chosen]]]
    result: NDArray[np.float64] = 1 - survival
    return result


def _in_classes(truth: Truth, person: NDArray[np.int64], value: int) -> NDArray[np.float64]:
    evidence = truth.evidence
    classes = evidence.classes
    if classes is None:
        return np.zeros(len(person))
    everybody = np.arange(evidence.people)
    held = truth.holds(everybody, np.full(evidence.people, value), None)
    size = np.bincount(classes[classes >= 0])
    holders = np.bincount(classes[(classes >= 0) & held], minlength=len(size))
    share = np.append(
        holders / np.maximum(size - evidence.known_members, np.maximum(holders, 1)), 0
    )
    found: NDArray[np.float64] = share[classes[person]]
    return found


def interval(right: int, guessed: int, outside: float = _TAIL) -> tuple[float, float]:
    """The exact interval of a share (Clopper and Pearson 1934), of 95 % if no more is ``outside``
    each of its ends.

    >>> [round(end, 3) for end in interval(5, 10)]
    [0.187, 0.813]
    """
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, guessed + 1)))])
    number = np.arange(guessed + 1)
    ways = logs[guessed] - logs[number] - logs[guessed - number]

    def tail(share: float, counted: slice) -> float:
        chances = ways + number * np.log(share) + (guessed - number) * np.log1p(-share)
        return float(np.exp(chances[counted]).sum())

    low = _crossing(lambda share: tail(share, slice(right, None)) > outside) if right else 0.0
    high = 1.0
    if right < guessed:
        high = _crossing(lambda share: tail(share, slice(0, right + 1)) < outside)
    return low, high


def _crossing(is_above: Callable[[float], bool]) -> float:
    """Where a condition on a share begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2


def _nothing(attack: Attack, why: str) -> Finding:
    return Finding(attack.name, attack.risk, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0, why)
