"""What an audit counts of some of the people, and how two such counts become one.

Every figure is a sum or a maximum over people, so that an audit can be done in pieces: each piece
has all memberships of its people, and what their groups held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from serigraph.auditing.cohorts import AlikeAfter, CohortsAfter
from serigraph.auditing.evidence import (
    Assumption,
    Evidence,
    added_up,
    as_promised,
    members_known,
    presence_known,
)
from serigraph.auditing.exact import exposures, histories, probability
from serigraph.auditing.figures import Figures, Survey, localised, survey
from serigraph.auditing.persisting import with_classes
from serigraph.records import Exposure, worst_of


@dataclass(frozen=True)
class OtherAssumption:
    """The figures over all releases under an assumption that the promise does not make."""

    name: str
    figures: Figures


@dataclass(frozen=True)
class Linked:
    """A person and the value that it is linked to with the largest probability."""

    person: str | int
    is_within: bool
    rank: float  # the probability as the survey has it: floats rank, fractions are reported
    value: str
    threshold: Fraction
    probability: Fraction
    exposures: tuple[Exposure, ...]


@dataclass(frozen=True)
class Tally:
    """The figures of some of the people, release by release."""

    localised: tuple[Figures, ...]
    so_far: tuple[Figures, ...]
    assumptions: tuple[OtherAssumption, ...]
    worst: tuple[Linked, ...]  # worst first
    cohorts: tuple[CohortsAfter, ...] = ()  # after each release, if values persist


def tally(
    evidence: Evidence,
    *,
    known_members: int,
    worst: int,
    alike: Sequence[AlikeAfter] = (),
) -> Tally:
    """Every figure of the people that the evidence is about; ``alike`` is what it does not say of
    values that persist.

    In one release alone, the chance of a link does not depend on how values change over time; the
    other assumptions are about values that do not persist.
    """
    transient = evidence.of_transient()
    promised = as_promised(transient)
    whole = survey(transient, promised)
    others = [presence_known(transient), added_up(transient)]
    if known_members > max(transient.known_members, default=0):
        others.append(members_known(transient, known_members))
    linked = (*_worst(transient, promised, whole, worst), *_worst_alike(evidence, alike))
    return Tally(
        localised=tuple(
            localised(evidence, as_promised(evidence), number)
            for number in range(evidence.releases)
        ),
        so_far=with_classes(whole, alike).after,
        assumptions=tuple(
            OtherAssumption(each.name, survey(transient, each).after[-1]) for each in others
        ),
        worst=tuple(sorted(linked, key=lambda each: _badness(each)[:2])[:worst]),
        cohorts=tuple(each.figures for each in alike),
    )


def merged(one: Tally, other: Tally, worst: int) -> Tally:
    """The tally of the people of both; nobody may be in both."""
    return Tally(
        localised=_pairwise(one.localised, other.localised),
        so_far=_pairwise(one.so_far, other.so_far),
        assumptions=tuple(
            OtherAssumption(mine.name, _together(mine.figures, theirs.figures))
            for mine, theirs in zip(one.assumptions, other.assumptions, strict=True)
        ),
        worst=tuple(sorted((*one.worst, *other.worst), key=_badness)[:worst]),
    )


def _pairwise(one: Sequence[Figures], other: Sequence[Figures]) -> tuple[Figures, ...]:
    return tuple(_together(mine, theirs) for mine, theirs in zip(one, other, strict=True))


def _together(one: Figures, other: Figures) -> Figures:
    pairs = one.pairs + other.pairs
    return Figures(
        pairs=pairs,
        people=one.people + other.people,
        largest=max(one.largest, other.largest),
        mean=(one.mean * one.pairs + other.mean * other.pairs) / max(pairs, 1),
        pairs_above=one.pairs_above + other.pairs_above,
        people_above=one.people_above + other.people_above,
        by_probability=_sums(one.by_probability, other.by_probability),
        by_share_of_threshold=_sums(one.by_share_of_threshold, other.by_share_of_threshold),
        worst=worst_of((one.worst, other.worst)),
    )


def _sums(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(mine + theirs for mine, theirs in zip(one, other, strict=True))


def _badness(linked: Linked) -> tuple[bool, float, str | int]:
    return linked.is_within, -linked.rank, linked.person


def _worst_alike(evidence: Evidence, alike: Sequence[AlikeAfter]) -> Iterator[Linked]:
    """Somebody of the worst class of each value that persists, after the last release."""
    for after in alike[-1:]:
        for each in after.worst:
            exposure = Exposure(each.size, each.holders)
            probability = 1 - exposure.survival
            yield Linked(
                person=evidence.ids[each.person],
                is_within=probability <= each.threshold,
                rank=float(probability),
                value=each.value,
                threshold=each.threshold,
                probability=probability,
                exposures=(exposure,),
            )


def _worst(
    evidence: Evidence, assumption: Assumption, whole: Survey, number: int
) -> tuple[Linked, ...]:
    is_within = whole.crossing >= evidence.releases
    order = np.lexsort((-whole.largest, is_within))[:number]
    order = order[whole.largest[order] > 0]
    _, size, count = histories(evidence, assumption, order, whole.largest_value[order])
    found = []
    for place, person in enumerate(order.tolist()):
        value = int(whole.largest_value[person])
        known = exposures(size[place].tolist(), count[place].tolist())
        found.append(
            Linked(
                person=evidence.ids[person],
                is_within=bool(is_within[person]),
                rank=float(whole.largest[person]),
                value=evidence.values[value],
                threshold=evidence.thresholds[value],
                probability=probability(known, assumption.adds),
                exposures=tuple(known),
            )
        )
    return tuple(found)
