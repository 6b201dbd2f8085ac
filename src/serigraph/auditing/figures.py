"""The figures of an audit: how probable links are, release by release and over the series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from serigraph.auditing.evidence import Assumption, Evidence
from serigraph.auditing.exact import (
    crossings,
    exposures,
    histories,
    largest_probability,
    probability,
)
from serigraph.auditing.exposure_survey import Changes, Ends, Links, Sightings, survey_exposures
from serigraph.records import WorstPair, worst_of
from serigraph.runtime.ordering import distinct

BINS = 20  # of the probability, each 0.05 wide
SHARES = 10  # tenths of the threshold; one more bin for what lies above it
_NEAR = 1e-9  # of the largest float: among these is the largest fraction


@dataclass(frozen=True)
class Figures:
    """Figures over many pairs; ``largest``, ``worst`` and the counts above are exact.

    ``by_probability`` counts the pairs in 20 equal parts of 0 to 1; ``by_share_of_threshold`` in
    tenths of their threshold, each up to its end, the last entry those above it.
    """

    pairs: int
    people: int  # that are in at least one of the pairs
    largest: Fraction
    mean: float
    pairs_above: int
    people_above: int
    by_probability: tuple[int, ...]
    by_share_of_threshold: tuple[int, ...]
    worst: WorstPair | None = None  # by its own threshold; not looked for in one release alone

    @property
    def is_within(self) -> bool:
        return self.pairs_above == 0


@dataclass(frozen=True)
class Survey:
    """Figures over the series after each release, and the final state of each person."""

    after: tuple[Figures, ...]
    touched: tuple[Fraction, ...]  # the largest probability of a pair that each release touches
    touched_worst: tuple[WorstPair | None, ...]  # the worst such pair, by its own threshold
    linked: NDArray[np.int64]  # the release of each person's first link
    largest: NDArray[np.float64]  # of each person
    largest_value: NDArray[np.int64]  # the value that it belongs to
    crossing: NDArray[np.int64]  # first release after which the person exceeds a threshold


def survey(evidence: Evidence, assumption: Assumption) -> Survey:
    """The global breach probability of every pair after every release, under an assumption."""
    releases, people = evidence.releases, len(evidence.ids)
    risk = evidence.count / np.maximum(assumption.size, 1)
    changes = Changes(
        pairs=np.zeros(releases, dtype=np.int64),
        total=np.zeros(releases),
        by_probability=np.zeros((releases, BINS), dtype=np.int64),
        by_share=np.zeros((releases, SHARES + 1), dtype=np.int64),
        above=np.zeros(releases, dtype=np.int64),
    )
    ends = Ends(
        largest=np.zeros(people),
        largest_value=np.full(people, -1, dtype=np.int64),
        crossing=np.full(people, releases, dtype=np.int64),
    )
    memberships = evidence.memberships
    sightings = Sightings(memberships.first, memberships.release, assumption.group)
    limits = np.array([float(each) for each in evidence.thresholds])
    closest: list[list[WorstPair]] = [[] for _ in range(releases)]
    close = [np.empty((0, 2), dtype=np.int64)]
    # Each threshold separately: the worst pair of one may be better than many of another. Counts
    # add up.
    for threshold in dict.fromkeys(evidence.thresholds):
        start, kept = _entries_of(evidence, threshold)
        worst = np.full((releases, 2), -1, dtype=np.int64)
        links = Links(start, evidence.value[kept], risk[kept])
        close.append(
            survey_exposures(sightings, links, limits, assumption.adds, changes, ends, worst)
        )
        for release, pair in _touched(evidence, assumption, worst, threshold):
            closest[release].append(pair)
    undecided = np.concatenate(close)
    crossed = crossings(evidence, assumption, undecided)
    exceeds = crossed < releases
    np.add.at(changes.above, crossed[exceeds], 1)
    np.minimum.at(ends.crossing, undecided[exceeds, 0], crossed[exceeds])
    first_link = _first_links(evidence, assumption)
    linked = _so_far(first_link, releases)
    exceeding = _so_far(ends.crossing, releases)
    pairs, total, by_probability, by_share, above = (np.cumsum(each, axis=0) for each in changes)
    touched = [max((each.probability for each in of), default=Fraction(0)) for of in closest]
    touched_worst = [worst_of(each) for each in closest]
    so_far = list(accumulate(touched_worst, lambda one, other: worst_of((one, other))))
    maxima = _maxima(evidence, assumption, touched, ends.largest, ends.largest_value)
    after = tuple(
        Figures(
            pairs=int(pairs[release]),
            people=int(linked[release]),
            largest=maxima[release],
            mean=float(total[release] / max(pairs[release], 1)),
            pairs_above=int(above[release]),
            people_above=int(exceeding[release]),
            by_probability=tuple(by_probability[release].tolist()),
            by_share_of_threshold=tuple(by_share[release].tolist()),
            worst=so_far[release],
        )
        for release in range(releases)
    )
    return Survey(after, tuple(touched), tuple(touched_worst), first_link, *ends)


def _entries_of(
    evidence: Evidence, threshold: Fraction
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Which entries are of values with this threshold, and where those of each group start."""
    has_it = np.array([each == threshold for each in evidence.thresholds])
    kept = has_it[evidence.value]
    return np.concatenate([[0], np.cumsum(kept)])[evidence.start].astype(np.int64), kept


def localised(evidence: Evidence, assumption: Assumption, release: int) -> Figures:
    """The probabilities of a link in one release alone (Lemma 1), exactly.

    Under every assumption the risk of a pair in one release is n_s/n of its group.
    """
    first, last = int(evidence.first_group[release]), int(evidence.first_group[release + 1])
    weight = np.zeros(last - first, dtype=np.int64)
    charged = assumption.people[first:last]
    weight[: len(charged)] = charged
    entries = slice(int(evidence.start[first]), int(evidence.start[last]))
    group = np.repeat(np.arange(last - first), np.diff(evidence.start[first : last + 1]))
    kept = weight[group] > 0
    group, value = group[kept], evidence.value[entries][kept]
    count, size = evidence.count[entries][kept], assumption.size[entries][kept]
    people = weight[group]
    pairs = int(people.sum())
    risk = count / np.maximum(size, 1)
    exceeds = _exceeds(count, size, value, evidence.thresholds)
    thresholds = np.array([float(threshold) for threshold in evidence.thresholds])[value]
    share = np.ceil(risk / thresholds * SHARES - _NEAR).astype(np.int64) - 1
    share = np.clip(share, 0, SHARES - 1)
    return Figures(
        pairs=pairs,
        people=int(charged.sum()),
        largest=_largest(count, size, risk),
        mean=float((risk * people).sum() / max(pairs, 1)),
        pairs_above=int(people[exceeds].sum()),
        people_above=int(weight[distinct(group[exceeds])].sum()),
        by_probability=_counted(np.minimum((risk * BINS).astype(np.int64), BINS - 1), people, BINS),
        by_share_of_threshold=_counted(np.where(exceeds, SHARES, share), people, SHARES + 1),
    )


def _exceeds(
    count: NDArray[np.int64],
    size: NDArray[np.int64],
    value: NDArray[np.int32],
    thresholds: Sequence[Fraction],
) -> NDArray[np.bool_]:
    """Whether n_s/n is above the threshold of each entry's value, in integers."""
    above = np.zeros(len(count), dtype=np.bool_)
    for threshold in set(thresholds):
        mine = np.array([each == threshold for each in thresholds])[value]
        numerator, denominator = threshold.numerator, threshold.denominator
        # Counts of people stay below 2^31; a threshold may have any denominator.
        kind = np.int64 if denominator < 2**31 else np.object_
        left, right = count[mine].astype(kind), size[mine].astype(kind)
        above[mine] = (left * denominator > right * numerator).astype(np.bool_)
    return above


def _largest(
    count: NDArray[np.int64], size: NDArray[np.int64], risk: NDArray[np.float64]
) -> Fraction:
    if not len(risk):
        return Fraction(0)
    near = risk >= risk.max() - _NEAR
    kinds = set(zip(count[near].tolist(), size[near].tolist(), strict=True))
    return max(Fraction(c, n) for c, n in kinds)


def _counted(place: NDArray[np.int64], weight: NDArray[np.int64], bins: int) -> tuple[int, ...]:
    return tuple(np.bincount(place, weights=weight, minlength=bins).astype(np.int64).tolist())


def _first_links(evidence: Evidence, assumption: Assumption) -> NDArray[np.int64]:
    """The first release in which each person was linked to anything, or the number of releases."""
    known = evidence.memberships
    person = np.repeat(np.arange(len(evidence.ids)), np.diff(known.first))
    linked = np.flatnonzero(assumption.group >= 0)[::-1]  # the first of each person is written last
    found = np.full(len(evidence.ids), evidence.releases, dtype=np.int64)
    found[person[linked]] = known.release[linked]
    return found


def _so_far(release: NDArray[np.int64], releases: int) -> NDArray[np.int64]:
    """How many people have reached their release by each; the number of releases means never."""
    return np.cumsum(np.bincount(release, minlength=releases + 1)[:releases])


def _touched(
    evidence: Evidence, assumption: Assumption, worst: NDArray[np.int64], threshold: Fraction
) -> Iterator[tuple[int, WorstPair]]:
    """For each release the pair with the largest float among those that it touches, exactly."""
    for release, (person, value) in enumerate(worst.tolist()):
        if person < 0:
            continue
        pair = np.array([person]), np.array([value])
        at, size, count = (each[0] for each in histories(evidence, assumption, *pair))
        known = exposures(size[at <= release].tolist(), count[at <= release].tolist())
        exact = probability(known, assumption.adds)
        yield release, WorstPair(evidence.values[value], exact, threshold)


def _maxima(
    evidence: Evidence,
    assumption: Assumption,
    touched: Sequence[Fraction],
    largest: NDArray[np.float64],
    largest_value: NDArray[np.int64],
) -> list[Fraction]:
    """The largest probability after each release.

    For the whole series everybody close to the largest float is decided exactly as well.
    """
    maxima = list(accumulate(touched, max))
    if maxima and largest.any():
        near = np.flatnonzero(largest >= largest.max() - _NEAR)
        exact = largest_probability(evidence, assumption, near, largest_value[near])
        maxima[-1] = max(maxima[-1], exact)
    return maxima
