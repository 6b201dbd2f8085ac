"""Whether a release that shows values once keeps its promise, in plain dictionaries and fractions:
slow, and without a line of the package."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from verification.cohort_reference import Person, Release


@dataclass(frozen=True)
class Terms:
    size: int  # people with the same past, at least
    known: int  # members that the adversary knows
    minimum: int  # size of a group
    threshold: Mapping[str, Fraction]  # of every protected value
    comes_and_goes: frozenset[str]  # the others are permanent
    covers: Mapping[str, frozenset[str]]  # the values that count as each protected one

    def held(self, values: Iterable[str]) -> set[str]:
        return {name for name, covered in self.covers.items() if covered & set(values)}

    def bears(self, people: int, name: str, holders: int) -> bool:
        return people - self.known >= holders / self.threshold[name]


@dataclass
class Book:
    """What earlier releases left."""

    cohort: dict[int, int] = field(default_factory=dict)
    retired: dict[int, int] = field(default_factory=dict)
    pairs: set[tuple[int, str]] = field(default_factory=set)
    members: list[frozenset[int]] = field(default_factory=list)  # of each release

    @property
    def formed(self) -> int:
        return max(self.cohort.values(), default=-1) + 1

    def past(self, who: int) -> tuple[bool, ...]:
        return tuple(who in members for members in self.members)

    def slots(self, number: int) -> int:
        """How many members of a cohort were ever published as holders."""
        return len({who for who, _ in self.pairs if self.cohort[who] == number})

    def standing(self, table: Iterable[int]) -> dict[int, list[int]]:
        """The people of a table who are in a live cohort, by cohort."""
        found = defaultdict(list)
        for who in sorted(table):
            if who in self.cohort and who not in self.retired:
                found[self.cohort[who]].append(who)
        return dict(found)

    def shown(self, table: Iterable[int], terms: Terms) -> dict[int, list[int]]:
        """Those cohorts that have records enough to be in a release."""
        return {
            number: people
            for number, people in self.standing(table).items()
            if len(people) - self.slots(number) >= max(terms.minimum, 1)
        }

    def classes(self, table: Iterable[int]) -> list[list[int]]:
        """Free people with the same past."""
        found = defaultdict(list)
        for who in sorted(table):
            if who not in self.cohort:
                found[self.past(who)].append(who)
        return list(found.values())


def cut(table: Mapping[int, Person], people: list[int], terms: Terms) -> list[list[int]]:
    """The cells of people with the same past, given in the order of their ids."""
    holders = Counter(name for who in people for name in terms.held(table[who].values))
    half = len(people) // 2
    if half < max(terms.minimum, 1) or not all(
        terms.bears(half, name, count) for name, count in holders.items()
    ):
        return [people]
    codes = [[table[who].codes[d] for who in people] for d in range(len(table[people[0]].codes))]
    widths = [max(column) - min(column) for column in codes]
    widest = widths.index(max(widths))
    order = sorted(people, key=lambda who: (table[who].codes[widest], who))
    return cut(table, sorted(order[:half]), terms) + cut(table, sorted(order[half:]), terms)


def faults(book: Book, release: Release, terms: Terms) -> set[str]:
    """Everything that is wrong with a release; nothing if it may be published."""
    return {
        *_faults_of_records(book, release),
        *_faults_of_standing(book, release, terms),
        *_faults_of_free(book, release, terms),
        *_faults_of_changes(book, release, terms),
        *_faults_of_classes(book, release, terms),
    }


def _faults_of_records(book: Book, release: Release) -> Iterable[str]:
    for who, person in release.shown.items():
        if who not in release.table:
            yield "stranger"
        elif person.codes != release.table[who].codes:
            yield "quasi-identifiers"
        elif person.is_present and person.values != release.table[who].values:
            yield "record"
        if not person.is_present and person.values:
            yield "values without a record"
        if not person.is_present and who not in book.cohort:
            yield "withheld"
        if who in book.retired:
            yield "retired"


def _faults_of_standing(book: Book, release: Release, terms: Terms) -> Iterable[str]:
    shown = book.shown(release.table, terms)
    everybody = {who for people in shown.values() for who in people}
    if everybody != set(release.shown) & set(book.cohort) - set(book.retired):
        yield "member missing"
        return
    for number, people in shown.items():
        groups = {release.group[who] for who in people}
        if {who for who in release.shown if release.group[who] in groups} != set(people):
            yield "with others"
        if len(groups) > 1:
            yield "split"
        without = sum(not release.shown[who].is_present for who in people)
        if without != min(book.slots(number), len(people)):
            yield "slots"
        if any(terms.held(release.shown[who].values) for who in people):
            yield "shown again"


def _faults_of_free(book: Book, release: Release, terms: Terms) -> Iterable[str]:
    right = set()
    for people in book.classes(release.table):
        if len(people) >= terms.size:
            right |= {frozenset(cell) for cell in cut(release.table, people, terms)}
        elif set(people) & set(release.shown):
            yield "too few"
    found = defaultdict(set)
    for who in release.shown:
        if who not in book.cohort:
            found[release.group[who]].add(who)
    if right != {frozenset(each) for each in found.values()}:
        yield "cells"


def _faults_of_changes(book: Book, release: Release, terms: Terms) -> Iterable[str]:
    of_group = defaultdict(set)
    held = defaultdict(set)
    retiring = set()
    for who, person in release.shown.items():
        held[release.group[who]] |= terms.held(person.values)
    for who in release.shown:
        number = release.cohort[who]
        if who in book.cohort:
            if number != book.cohort[who]:
                yield "moved"
            continue
        shows = held[release.group[who]]
        if bool(shows) != (number >= book.formed) or (not shows and number != -1):
            yield "joined"
        if shows:
            of_group[release.group[who]].add(number)
        if shows & terms.comes_and_goes:
            retiring.add(who)
    numbers = [number for several in of_group.values() for number in several]
    if len(numbers) != len(of_group) or len(set(numbers)) != len(numbers):
        yield "numbers"
    if retiring != release.retired:
        yield "retiring"


def _faults_of_classes(book: Book, release: Release, terms: Terms) -> Iterable[str]:
    pairs = book.pairs | {
        (who, name) for who, person in release.shown.items() for name in terms.held(person.values)
    }
    alike = defaultdict(set)
    for who, number in {**release.cohort, **book.cohort}.items():
        when = "now" if who in release.retired else book.retired.get(who, 0)
        if number >= 0:
            alike[number, when].add(who)
    for people in alike.values():
        for name in terms.covers:
            holders = sum((who, name) in pairs for who in people)
            if holders and not terms.bears(len(people), name, holders):
                yield "too many holders"
