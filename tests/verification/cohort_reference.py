"""Whether a release with cohorts keeps its promise, in plain dictionaries and fractions: slow, and
without a line of the package."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil


@dataclass(frozen=True)
class Person:
    """Somebody of the table and the registry; without a record there are no values."""

    codes: tuple[int, ...]
    is_present: bool
    values: frozenset[str]


@dataclass(frozen=True)
class Terms:
    size: int  # of new cohorts
    known: int  # members that the adversary knows
    minimum: int  # size of a group
    may_depart: bool
    threshold: Mapping[str, Fraction]  # of every protected value
    persisting: frozenset[str]
    covers: Mapping[str, frozenset[str]]  # the values that count as each protected one
    width: int  # codes of a column are 0, ..., width - 1

    def held(self, values: Iterable[str]) -> set[str]:
        return {name for name, covered in self.covers.items() if covered & set(values)}

    def is_tangled(self, name: str) -> bool:
        """Whether taking it out may take out another value that persists, or a part of it."""
        others = self.persisting - {name}
        return any(self.covers[name] & self.covers[other] for other in others)

    def persisting_held(self, values: Iterable[str]) -> set[str]:
        return self.held(values) & self.persisting


@dataclass
class Book:
    """What earlier releases left."""

    cohort: dict[int, int] = field(default_factory=dict)
    retired: dict[int, int] = field(default_factory=dict)
    pairs: set[tuple[int, str]] = field(default_factory=set)

    @property
    def formed(self) -> int:
        return max(self.cohort.values(), default=-1) + 1

    def live(self) -> set[int]:
        return set(self.cohort) - set(self.retired)


@dataclass(frozen=True)
class Release:
    """The table with everybody in it, and what is proposed."""

    table: Mapping[int, Person]
    shown: Mapping[int, Person]
    cohort: Mapping[int, int]
    group: Mapping[int, int]
    retired: frozenset[int]


def cut(table: Mapping[int, Person], people: list[int], size: int) -> list[list[int]]:
    """The cohorts of people given in the order of their ids."""
    if len(people) < 2 * size:
        return [people]
    codes = [[table[who].codes[d] for who in people] for d in range(len(table[people[0]].codes))]
    widths = [max(column) - min(column) for column in codes]
    widest = widths.index(max(widths))
    order = sorted(people, key=lambda who: (table[who].codes[widest], who))
    half = len(people) // 2 // size * size
    return cut(table, sorted(order[:half]), size) + cut(table, sorted(order[half:]), size)


def right_retirements(book: Book, table: Mapping[int, Person], terms: Terms) -> dict[int, int]:
    """How many people of each cohort retire, those who left among them."""
    found = {}
    for number in set(book.cohort.values()):
        live = {who for who in book.live() if book.cohort[who] == number}
        left = live - set(table)
        if not left:
            continue
        shown = [name for who, name in book.pairs if who in live and name in terms.persisting]
        enough = max(
            (ceil(shown.count(name) / terms.threshold[name]) + terms.known for name in shown),
            default=0,
        )
        retiring = max(enough, len(left))
        if len(live) - retiring < max(enough, terms.minimum):
            retiring = len(live)
        found[number] = retiring
    return found


def faults(book: Book, release: Release, terms: Terms) -> set[str]:
    """Everything that is wrong with a release; nothing if it may be published."""
    return {
        *_faults_of_membership(book, release, terms),
        *_faults_of_newcomers(book, release, terms),
        *_faults_of_values(book, release, terms),
    }


def _faults_of_membership(book: Book, release: Release, terms: Terms) -> Iterable[str]:
    live, shown, retired = book.live(), set(release.shown), release.retired
    if not shown <= set(release.table):
        yield "stranger"
    if not retired <= live or retired & shown or set(book.retired) & shown:
        yield "retired"
    if any(release.cohort[who] != book.cohort[who] for who in shown & set(book.cohort)):
        yield "moved"
    if any(release.cohort[who] < book.formed for who in shown - set(book.cohort)):
        yield "slipped in"
    if (live & set(release.table)) - retired - shown:
        yield "member missing"
    left = live - set(release.table)
    if left - retired or (left and not terms.may_depart):
        yield "leaver"
    right = right_retirements(book, release.table, terms)
    for number in set(book.cohort.values()):
        if sum(book.cohort.get(who) == number for who in retired) != right.get(number, 0):
            yield "companions"
    groups = defaultdict(set)
    for who in shown:
        groups[release.cohort[who]].add(release.group[who])
    if any(len(several) > 1 for several in groups.values()):
        yield "split"


def _faults_of_newcomers(book: Book, release: Release, terms: Terms) -> Iterable[str]:
    new = sorted(set(release.table) - set(book.cohort))
    shown = [who for who in new if who in release.shown]
    if len(new) < terms.size:
        if shown:
            yield "too few newcomers"
        return
    if shown != new:
        yield "newcomer missing"
        return
    right = {frozenset(each) for each in cut(release.table, new, terms.size)}
    found = defaultdict(set)
    for who in new:
        found[release.cohort[who]].add(who)
    if right != {frozenset(each) for each in found.values()}:
        yield "cut"


def _faults_of_values(book: Book, release: Release, terms: Terms) -> Iterable[str]:
    pairs = {(who, name) for who, name in book.pairs if name in terms.persisting}
    now = {
        (who, name)
        for who, person in release.shown.items()
        for name in terms.persisting_held(person.values)
    }
    wanted = {
        (who, name)
        for who, person in release.table.items()
        for name in terms.persisting_held(person.values)
    }
    crowds = defaultdict(set)
    for who, number in {**book.cohort, **release.cohort}.items():
        when = "now" if who in release.retired else book.retired.get(who, 0)
        crowds[number, when].add(who)
    full = set()
    for people in crowds.values():
        for name in terms.persisting:
            holders = sum((who, name) in pairs | now for who in people)
            most = terms.threshold[name] * max(len(people) - terms.known, 0)
            if holders > most:
                yield "too many holders"
            would_be = sum((who, name) in pairs | wanted for who in people)
            is_full = holders + 1 > most or (terms.is_tangled(name) and would_be > most)
            if is_full and most >= 1:
                full |= {(who, name) for who in people}
    for who, person in release.shown.items():
        before = release.table.get(who)
        if before is None or person.codes != before.codes or not person.values <= before.values:
            yield "not in the table"
            continue
        is_emptied = bool(before.values) and not person.values
        if person.is_present != (before.is_present and not is_emptied):
            yield "record"
        lost = terms.held(before.values) - terms.held(person.values)
        for value in before.values - person.values:
            reasons = {name for name in lost & terms.persisting if value in terms.covers[name]}
            if not any((who, name) in full - pairs for name in reasons):
                yield "left out"


def excluded(book: Book, release: Release, terms: Terms, *, has_one_value: bool) -> list[int]:
    """How many of each group are no cover of a transient value where everybody has one value, or,
    without ``has_one_value``, where people may have several."""
    pairs = {(who, name) for who, name in book.pairs if name in terms.persisting}
    for who, each in release.shown.items():
        pairs |= {(who, name) for name in terms.persisting_held(each.values)}
    shown = {who for who, _ in pairs}
    cohort = {**book.cohort, **release.cohort}
    found = dict.fromkeys(sorted(release.group.values()), 0)
    for number in set(release.cohort.values()):
        live = [who for who in release.shown if cohort[who] == number]
        ever = sum(cohort[who] == number for who in shown) if has_one_value else 0
        is_full = any(
            sum((who, name) in pairs for who in live) + 1
            > terms.threshold[name] * max(len(live) - terms.known, 0)
            for name in {name for who, name in pairs if who in live}
        )
        found[release.group[live[0]]] += len(live) if is_full else min(ever, len(live))
    return list(found.values())
