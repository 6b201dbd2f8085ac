"""The crowds of a series, in plain Python from the exported ledger. Imports nothing under test."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

Held = dict[str, set[str]]  # the values and classes that each person of a table holds


class Membership(Protocol):
    """One release, as anybody can read it from an export."""

    @property
    def present(self) -> Mapping[str, bool]: ...
    @property
    def group(self) -> Mapping[str, int]: ...
    @property
    def size(self) -> Mapping[int, int]: ...
    @property
    def present_size(self) -> Mapping[int, int]: ...
    @property
    def held(self) -> Mapping[int, Mapping[str, int]]: ...


@dataclass(frozen=True)
class Crowd:
    """People whom the releases treat alike, and those of them that were published as holders."""

    people: frozenset[str]
    holders: frozenset[str]
    counts: tuple[tuple[int, int], ...]  # size and count of each group that linked them

    @property
    def share(self) -> Fraction:
        return Fraction(len(self.holders), len(self.people))

    @property
    def possible_shares(self) -> tuple[Fraction, Fraction]:
        size = len(self.people)
        least = max(0, *(count - (n - size) for n, count in self.counts))
        most = min(size, sum(count for _, count in self.counts))
        return Fraction(least, size), Fraction(most, size)


def told(release: Membership, person: str, value: str, presence_known: bool) -> object:
    """What one release tells of a person about a value."""
    if person not in release.group or (presence_known and not release.present[person]):
        return "away"
    group = release.group[person]
    if value in release.held.get(group, {}):
        return group
    records = release.present_size[group]
    if presence_known or records == release.size[group]:
        return "clear"
    return group if records else "away"


def crowds(
    releases: Sequence[Membership], tables: Sequence[Held], value: str, presence_known: bool
) -> list[Crowd]:
    """The crowds of everybody who was ever linked to the value."""
    alike: dict[tuple[object, ...], set[str]] = defaultdict(set)
    everybody = {person for release in releases for person in release.group}
    for person in everybody:
        alike[tuple(told(each, person, value, presence_known) for each in releases)].add(person)
    found = []
    for seen, people in alike.items():
        counts = [
            (release.present_size[group] if presence_known else release.size[group], held[value])
            for release, group in zip(releases, seen, strict=True)
            if isinstance(group, int) and value in (held := release.held.get(group, {}))
        ]
        if counts:
            holders = {
                person
                for person in people
                for release, table in zip(releases, tables, strict=True)
                if release.present.get(person, False)
                and value in table.get(person, set())
                and value in release.held.get(release.group[person], {})
            }
            found.append(Crowd(frozenset(people), frozenset(holders), tuple(counts)))
    return found


@dataclass(frozen=True)
class Expected:
    """The figures that an audit has to give."""

    people: int
    crowds: int
    alone: int
    surely_above: int
    possibly_above: int
    holders: int
    largest: Fraction
    above: int
    above_if_known: int
    certain: int
    by_share: Counter[int]


def figures(found: Sequence[Crowd], threshold: Fraction, known: int) -> Expected:
    holding = [each for each in found if each.holders]
    left = {each: max(len(each.people) - known, len(each.holders)) for each in holding}
    return Expected(
        people=sum(len(each.people) for each in found),
        crowds=len(found),
        alone=sum(len(each.people) == 1 for each in found),
        surely_above=sum(len(c.people) for c in found if c.possible_shares[0] > threshold),
        possibly_above=sum(len(c.people) for c in found if c.possible_shares[1] > threshold),
        holders=sum(len(each.holders) for each in holding),
        largest=max((each.share for each in holding), default=Fraction(0)),
        above=sum(len(each.holders) for each in holding if each.share > threshold),
        above_if_known=sum(
            len(each.holders)
            for each in holding
            if Fraction(len(each.holders), left[each]) > threshold
        ),
        certain=sum(len(each.holders) for each in holding if each.share == 1),
        by_share=Counter(min(int(each.share * 20), 19) for each in holding for _ in each.holders),
    )
