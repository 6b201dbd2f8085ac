"""Crowds: people whom every release so far treats alike, and how many of them are holders.

The theorem is in `serigraph.privacy.alikeness`; this is the same over arrays. The crowds of a value
are numbered, and each release splits them by what it tells of their members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from serigraph.auditing.sightings import Sightings
from serigraph.model import order_by

SHARES = 20  # equal parts of 0 to 1
_AWAY, _CLEAR, _GROUPS = 0, 1, 2  # what a release reveals about a person; groups count from 2
_NEAR = 1e-9


@dataclass(frozen=True)
class HolderFigures:
    """The people ever published as holders, and the share H/|K| of holders in their crowds.

    Everything is exact. ``by_share`` counts the holders in 20 equal parts of 0 to 1.
    """

    holders: int
    largest: Fraction  # share
    above: int  # holders in crowds above the threshold
    above_if_known: int  # the same, if c other members of each crowd are known: H/(|K| - c)
    certain: int  # holders in crowds of holders only
    by_share: tuple[int, ...]


@dataclass(frozen=True)
class CrowdFigures:
    """The crowds of people ever linked to a value, or of all pairs of a person and a value.

    ``surely_above`` and ``possibly_above`` follow from the published counts alone: whose crowd has
    a share of holders above the threshold in every world that agrees with them, or in some world.
    """

    people: int  # ever in a group that showed the value
    crowds: int
    alone: int  # people alike to nobody else
    surely_above: int
    possibly_above: int
    held: HolderFigures | None  # None if the holders are not known


@dataclass(frozen=True)
class ValueCrowds:
    """The crowds of one value."""

    value: str
    threshold: Fraction
    figures: CrowdFigures


@dataclass(frozen=True)
class CrowdsAfter:
    """The crowds after a release: of every value, and of all pairs together."""

    label: str
    over_all: CrowdFigures
    values: tuple[ValueCrowds, ...]


@dataclass(frozen=True)
class PublishedHolders:
    """Who was published as a holder in one release: pairs of a person and a value, ascending by
    value."""

    person: NDArray[np.int64]
    value: NDArray[np.int64]


def crowds_after_releases(
    people: int,
    labels: Sequence[str],
    values: Sequence[tuple[str, Fraction]],
    releases: Sequence[Sightings],
    holders: Sequence[PublishedHolders] | None,
    known_members: int,
) -> tuple[CrowdsAfter, ...]:
    """The crowds after each release. ``values`` are the names with their thresholds."""
    seen = [_Seen.of(each, people) for each in releases]
    found: list[list[ValueCrowds]] = [[] for _ in releases]
    for index, (name, threshold) in enumerate(values):
        for j, crowds in enumerate(_crowds_of_value(seen, holders, index, people)):
            figures = crowds.figures(threshold, known_members, holders is not None)
            found[j].append(ValueCrowds(name, threshold, figures))
    return tuple(
        CrowdsAfter(label, _together([each.figures for each in of]), tuple(of))
        for label, of in zip(labels, found, strict=True)
    )


@dataclass(frozen=True)
class _Seen:
    """A release as arrays over everybody."""

    group: NDArray[np.int32]  # of each person; one more than the last for those in none
    otherwise: NDArray[np.int32]  # what it reveals of each group that does not show the value
    members: NDArray[np.int64]  # of each group
    ordered: NDArray[np.int64]  # people by group
    start: NDArray[np.int64]  # where those of each group begin
    shown: Sightings

    @staticmethod
    def of(shown: Sightings, people: int) -> _Seen:
        groups = len(shown.members)
        quiet = np.arange(_GROUPS, groups + 1 + _GROUPS, dtype=np.int32)
        quiet[:groups][shown.records == shown.members] = _CLEAR
        quiet[:groups][shown.records == 0] = _AWAY
        quiet[groups] = _AWAY
        group = np.full(people, groups, dtype=np.int32)
        group[shown.person] = shown.group
        order = order_by(shown.group)
        return _Seen(
            group=group,
            otherwise=quiet,
            members=shown.members,
            ordered=shown.person[order],
            start=np.searchsorted(shown.group[order], np.arange(groups + 1)),
            shown=shown,
        )

    def entries(self, value: int) -> slice:
        first, last = np.searchsorted(self.shown.shown_value, [value, value + 1])
        return slice(int(first), int(last))

    def linked(self, value: int) -> NDArray[np.int64]:
        """The people in groups that show the value."""
        group = self.shown.shown_group[self.entries(value)]
        lengths = self.start[group + 1] - self.start[group]
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        place: NDArray[np.int64] = np.repeat(self.start[group], lengths) + within
        return self.ordered[place]


@dataclass(frozen=True)
class _Crowds:
    """The crowds of a value: sizes, holders, and the bounds of these that counts give."""

    size: NDArray[np.int64]  # |K|
    holders: NDArray[np.int64]  # H
    least: NDArray[np.int64]
    most: NDArray[np.int64]

    def figures(self, threshold: Fraction, known: int, is_held_known: bool) -> CrowdFigures:
        size = self.size
        return CrowdFigures(
            people=int(size.sum()),
            crowds=len(size),
            alone=int(np.count_nonzero(size == 1)),
            surely_above=int(size[_exceeds(self.least, size, threshold)].sum()),
            possibly_above=int(size[_exceeds(self.most, size, threshold)].sum()),
            held=self._held(threshold, known) if is_held_known else None,
        )

    def _held(self, threshold: Fraction, known: int) -> HolderFigures:
        is_held = self.holders > 0
        size, holders = self.size[is_held], self.holders[is_held]
        left = np.maximum(size - known, holders)
        place = np.minimum(holders * SHARES // size, SHARES - 1)
        by_share = np.bincount(place, weights=holders, minlength=SHARES).astype(np.int64)
        return HolderFigures(
            holders=int(holders.sum()),
            largest=_largest(holders, size),
            above=int(holders[_exceeds(holders, size, threshold)].sum()),
            above_if_known=int(holders[_exceeds(holders, left, threshold)].sum()),
            certain=int(holders[holders == size].sum()),
            by_share=tuple(by_share.tolist()),
        )


def _crowds_of_value(
    releases: Sequence[_Seen], holders: Sequence[PublishedHolders] | None, value: int, people: int
) -> Iterator[_Crowds]:
    """The crowds of the people ever linked to a value, after each release."""
    everybody = _EverLinked.to(value, releases, people)
    for j, release in enumerate(releases):
        if holders is not None:
            first, last = np.searchsorted(holders[j].value, [value, value + 1])
            everybody.publish(holders[j].person[first:last])
        everybody.see(release, value)
        yield everybody.crowds()


class _EverLinked:
    """The people ever linked to one value, split into crowds release by release.

    Changes with every release that it sees. Who is alone stays alone, so that crowds of several
    people are all that has to be split.
    """

    def __init__(self, person: NDArray[np.int64], people: int) -> None:
        number = len(person)
        self._person = person
        self._is_linked = np.zeros(number, dtype=np.bool_)  # so far
        self._is_holder = np.zeros(people, dtype=np.bool_)  # so far, of everybody
        self._least = np.full(number, -people)  # the largest n_s - n of the groups so far
        self._most = np.zeros(number, dtype=np.int64)  # their n_s, added up
        self._place = np.full(people, -1, dtype=np.int64)  # of everybody among those linked
        self._place[person] = np.arange(number)
        self._shared = np.arange(number)  # places of those who are not alone
        self._crowd = np.zeros(number, dtype=np.int64)  # of each of these
        self._numbers = 1  # of crowds

    @staticmethod
    def to(value: int, releases: Sequence[_Seen], people: int) -> _EverLinked:
        is_linked = np.zeros(people, dtype=np.bool_)
        for each in releases:
            is_linked[each.linked(value)] = True
        return _EverLinked(np.flatnonzero(is_linked), people)

    def publish(self, holders: NDArray[np.int64]) -> None:
        self._is_holder[holders] = True

    def see(self, release: _Seen, value: int) -> None:
        """Split the crowds by what a release reveals."""
        entries = release.entries(value)
        counts = np.zeros(len(release.members) + 1, dtype=np.int64)
        counts[release.shown.shown_group[entries]] = release.shown.shown_count[entries]
        linked = release.linked(value)
        linked = linked[counts[release.group[linked]] > 0]
        place, group = self._place[linked], release.group[linked]
        self._is_linked[place] = True
        self._most[place] += counts[group]
        if release.shown.are_exact:
            others = counts[group] - release.members[group]
            self._least[place] = np.maximum(self._least[place], others)
        numbers = np.arange(len(counts), dtype=np.int32) + _GROUPS
        reveals = np.where(counts > 0, numbers, release.otherwise)
        seen = reveals[release.group[self._person[self._shared]]]
        # Those who are away stay what is left of their crowd: most people of a long series.
        here = np.flatnonzero(seen != _AWAY)
        keys = self._crowd[here] * (len(release.members) + _GROUPS + 1) + seen[here]
        crowd = self._crowd.copy()
        crowd[here] = self._numbers + np.unique(keys, return_inverse=True)[1]
        self._numbers = int(crowd.max(initial=-1)) + 1
        size = np.bincount(crowd, minlength=self._numbers)
        is_shared = size[crowd] > 1
        # Numbered without gaps, so that crowd and group always fit one word.
        number = np.cumsum(size > 1) - 1
        self._shared, self._crowd = self._shared[is_shared], number[crowd[is_shared]]
        self._numbers = int(number[-1]) + 1 if len(number) else 0

    def crowds(self) -> _Crowds:
        """The crowds that were linked so far; what holds for one member holds for all."""
        linked = self._is_linked[self._shared]
        shared, crowd = self._shared[linked], self._crowd[linked]
        is_alone = self._is_linked.copy()
        is_alone[self._shared] = False
        alone = np.flatnonzero(is_alone)
        number = self._numbers
        size = np.bincount(crowd, minlength=number)
        holders = np.bincount(crowd[self._is_holder[self._person[shared]]], minlength=number)
        member = np.zeros(number, dtype=np.int64)
        member[crowd] = shared  # any of them
        kept = size > 0
        size = np.concatenate([size[kept], np.ones(len(alone), dtype=np.int64)])
        member = np.concatenate([member[kept], alone])
        return _Crowds(
            size=size,
            holders=np.concatenate([holders[kept], self._is_holder[self._person[alone]]]),
            least=np.maximum(size + self._least[member], 0),
            most=np.minimum(size, self._most[member]),
        )


def _exceeds(
    part: NDArray[np.int64], whole: NDArray[np.int64], threshold: Fraction
) -> NDArray[np.bool_]:
    """Whether part/whole is above the threshold, in integers."""
    numerator, denominator = threshold.numerator, threshold.denominator
    # Counts of people stay below 2^31; a threshold may have any denominator.
    if denominator < 2**31:
        return part * denominator > whole * numerator
    return np.array(
        [
            a * denominator > b * numerator
            for a, b in zip(part.tolist(), whole.tolist(), strict=True)
        ],
        dtype=np.bool_,
    )


def _largest(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Fraction:
    """The largest part/whole: floats say where to look, fractions decide."""
    if not len(part):
        return Fraction(0)
    share = part / whole
    near = share >= share.max() - _NEAR
    return max(Fraction(int(a), int(b)) for a, b in {*zip(part[near], whole[near], strict=True)})


def _together(figures: Sequence[CrowdFigures]) -> CrowdFigures:
    """The figures of several values as one: pairs are counted instead of people."""
    held = [each.held for each in figures if each.held is not None]
    return CrowdFigures(
        people=sum(each.people for each in figures),
        crowds=sum(each.crowds for each in figures),
        alone=sum(each.alone for each in figures),
        surely_above=sum(each.surely_above for each in figures),
        possibly_above=sum(each.possibly_above for each in figures),
        held=HolderFigures(
            holders=sum(each.holders for each in held),
            largest=max(each.largest for each in held),
            above=sum(each.above for each in held),
            above_if_known=sum(each.above_if_known for each in held),
            certain=sum(each.certain for each in held),
            by_share=tuple(sum(each) for each in zip(*(h.by_share for h in held), strict=True)),
        )
        if held
        else None,
    )
