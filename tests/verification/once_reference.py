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
    covers: Mapping[str, frozenset[str]]  # the values that count as each protected one

    def held(self, values: Iterable[str]) -> set[str]:
        return {name for name, covered in self.covers.items() if covered & set(values)}

    def only_protected(self, values: Iterable[str]) -> frozenset[str]:
        return frozenset(values) & frozenset().union(*self.covers.values())

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
        *_faults_of_the_past(book),
        *_faults_of_records(book, release, terms),
        *_faults_of_cells(book, release, terms),
        *_faults_of_changes(book, release, terms),
        *_faults_of_classes(book, release, terms),
    }


def groups_that_show(release: Release, terms: Terms) -> set[int]:
    """The groups in which a protected value is published."""
    return {
        release.group[who]
        for who, person in release.shown.items()
        if person.is_present and terms.held(person.values)
    }


def _faults_of_the_past(book: Book) -> Iterable[str]:
    if set(book.cohort) != set(book.retired):
        yield "live cohort"
    holders = {who for who, _ in book.pairs}
    if not holders <= set(book.cohort):
        yield "holder in no cohort"
    if {book.cohort[who] for who in holders & set(book.cohort)} != set(book.cohort.values()):
        yield "cohort without a holder"


def _faults_of_records(book: Book, release: Release, terms: Terms) -> Iterable[str]:
    showing = groups_that_show(release, terms)
    for who, person in release.shown.items():
        if who in book.cohort:
            yield "retired"
        if who not in release.table:
            yield "stranger"
            continue
        right = release.table[who]
        if release.group[who] in showing:
            values = terms.only_protected(right.values)
            right = Person(right.codes, bool(values), values)
        if person.codes != right.codes:
            yield "quasi-identifiers"
        if (person.is_present, person.values) != (right.is_present, right.values):
            yield "record"


def _faults_of_cells(book: Book, release: Release, terms: Terms) -> Iterable[str]:
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
    showing = groups_that_show(release, terms)
    numbers = defaultdict(set)
    for who in release.shown:
        number = release.cohort[who]
        if release.group[who] in showing:
            numbers[release.group[who]].add(number)
        elif number != -1:
            yield "joined without a value"
    used = [number for several in numbers.values() for number in several]
    if any(number < book.formed for number in used):
        yield "number of before"
    if len(used) != len(numbers) or len(set(used)) != len(used):
        yield "numbers"
    if {who for who in release.shown if release.group[who] in showing} != release.retired:
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
