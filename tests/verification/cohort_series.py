"""A small mechanism for cohorts in plain Python, and its releases as the verifier gets them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import Cohorts, Domain, Population, Proof, ProtectedValue
from serigraph.verification import (
    EarlierReleases,
    Proposal,
    ProposedCohorts,
    RememberedReleases,
    verify,
)
from verification.cohort_reference import Book, Person, Release, Terms, cut, right_retirements

WIDTH, COLUMNS = 9, 2
VALUES = ("r", "s", "t", "u", "none")
COVERS = {name: frozenset([name]) for name in "rstu"} | {"class": frozenset("rt")}


def terms_of(
    *,
    size: int = 4,
    known: int = 0,
    minimum: int = 1,
    may_depart: bool = True,
    transient: str = "u",
    has_class: bool = False,
) -> Terms:
    """Values r, s and t persist, and maybe a class of r and t. As in a policy, every cohort has
    room for a holder of each."""
    minimum = max(minimum, 3 + known)
    covers = COVERS if has_class else {name: COVERS[name] for name in "rstu"}
    threshold = {"r": Fraction(1, 2), "s": Fraction(1, 3), "t": Fraction(2, 3)}
    return Terms(
        size=max(size, minimum),
        known=known,
        minimum=minimum,
        may_depart=may_depart,
        threshold={**threshold, "u": Fraction(1), "class": Fraction(3, 4)},
        persisting=frozenset(covers) - frozenset(transient),
        covers=covers,
        width=WIDTH,
    )


def arrange(book: Book, table: Mapping[int, Person], terms: Terms, rng: random.Random) -> Release:
    """Cohorts, retirements and groups; values beyond the limit are taken out."""
    retired = set()
    for number, many in right_retirements(book, table, terms).items():
        live = sorted(who for who in book.live() if book.cohort[who] == number)
        left = [who for who in live if who not in table]
        others = [who for who in live if who in table]
        retired |= {*left, *rng.sample(others, many - len(left))}
    cohort = {who: book.cohort[who] for who in book.live() - retired}
    new = sorted(set(table) - set(book.cohort))
    cells = cut(table, new, terms.size) if len(new) >= terms.size else []
    numbers = rng.sample(range(len(cells)), len(cells))
    for number, cell in zip(numbers, cells, strict=True):
        cohort |= dict.fromkeys(cell, book.formed + number)
    shown = {who: table[who] for who in sorted(cohort)}
    for number in sorted(set(cohort.values())):
        _take_out(shown, [who for who in shown if cohort[who] == number], book, terms, rng)
    group_of = {number: rng.randrange(4) for number in cohort.values()}
    group = {who: group_of[cohort[who]] for who in cohort}
    return Release(table, shown, cohort, group, frozenset(retired))


def _take_out(
    shown: dict[int, Person], members: list[int], book: Book, terms: Terms, rng: random.Random
) -> None:
    for name in sorted(terms.persisting, key=lambda each: each != "class"):
        most = int(terms.threshold[name] * max(len(members) - terms.known, 0))
        known = {who for who in members if (who, name) in book.pairs}
        holders = [who for who in members if name in terms.held(shown[who].values)]
        fresh = [who for who in holders if who not in known]
        for who in rng.sample(fresh, max(len(known) + len(fresh) - most, 0)):
            shown[who] = without(shown[who], terms.covers[name])


def without(person: Person, values: frozenset[str]) -> Person:
    left = person.values - values
    return Person(person.codes, bool(left) or not person.values, left)


def note(book: Book, release: Release, number: int, terms: Terms) -> None:
    """What the ledger would record of a release."""
    book.cohort |= {who: release.cohort[who] for who in release.shown}
    book.retired |= dict.fromkeys(release.retired, number)
    book.pairs |= {
        (who, name) for who, each in release.shown.items() for name in terms.held(each.values)
    }


def tables(rng: random.Random, people: int, releases: int) -> Iterator[dict[int, Person]]:
    """A registry that people enter, leave and come back to; values mostly stay."""
    codes = {}
    held: dict[int, frozenset[str]] = {}
    registry = set(range(people))
    newest = people
    for _ in range(releases):
        table = {}
        for who in sorted(registry):
            if who not in codes or rng.random() < 0.1:
                codes[who] = tuple(rng.randrange(WIDTH) for _ in range(COLUMNS))
            if who not in held or rng.random() < 0.3:
                held[who] = frozenset(rng.sample(VALUES, rng.choice([0, 1, 1, 1, 2, 3])))
            is_present = rng.random() < 0.7
            values = held[who] if is_present else frozenset()
            table[who] = Person(codes[who], is_present, values)
        yield table
        gone = {who for who in registry if rng.random() < 0.06}
        back = {who for who in range(newest) if rng.random() < 0.03}
        more = rng.choice([0, 1, 3, 6])
        registry = (registry - gone) | back | set(range(newest, newest + more))
        newest += more


def series(
    seed: int, terms: Terms, *, people: int = 24, releases: int = 5
) -> Iterator[tuple[Book, Release]]:
    """Right releases, each with what was recorded before it."""
    rng = random.Random(seed)
    book = Book()
    for number, table in enumerate(tables(rng, people, releases), 1):
        release = arrange(book, table, terms, rng)
        yield book, release
        note(book, release, number, terms)


def population_of(people: Mapping[int, Person], names: list[str], terms: Terms) -> Population:
    ids = sorted(people)
    several = [people[who] for who in ids]
    held = [[names.index(name) for name in sorted(terms.held(p.values))] for p in several]
    codes = np.array([p.codes for p in several], dtype=np.int32).reshape(-1, COLUMNS)
    return Population(
        ids=pl.Series(ids, dtype=pl.Int64),
        present=np.array([p.is_present for p in several], dtype=np.bool_),
        domains=tuple(Domain(f"q{d}", "numeric", pl.Series(range(WIDTH))) for d in range(COLUMNS)),
        codes=np.ascontiguousarray(codes.T),
        protected=tuple(
            ProtectedValue(
                name,
                terms.threshold[name],
                tuple(sorted(terms.covers[name])) if len(terms.covers[name]) > 1 else (),
                "any" if name in terms.persisting else "transient",
            )
            for name in names
        ),
        held_start=np.cumsum([0, *map(len, held)]).astype(np.int64),
        held=np.array([v for each in held for v in each], dtype=np.int32),
        values=pl.Series(
            [sorted(p.values) for p in several if p.is_present], dtype=pl.List(pl.String)
        ),
        digest="",
    )


def recorded_of(book: Book) -> RememberedReleases:
    ids = sorted(book.cohort)
    pairs = sorted(pair for pair in book.pairs if pair[0] in book.cohort)
    return RememberedReleases(
        standing=Cohorts(
            ids=pl.Series(ids, dtype=pl.Int64),
            cohort=np.array([book.cohort[who] for who in ids], dtype=np.int64),
            retired=np.array([book.retired.get(who, 0) for who in ids], dtype=np.int64),
            holder=np.array([ids.index(who) for who, _ in pairs], dtype=np.int64),
            value=pl.Series([name for _, name in pairs], dtype=pl.String),
            formed=book.formed,
        )
    )


@dataclass(frozen=True)
class StatedTerms:
    """The terms as the verifier gets them."""

    terms: Terms
    has_registry: bool = True
    has_one_value: bool = False

    @property
    def least(self) -> int:
        return self.terms.minimum

    @property
    def size(self) -> int:
        return self.terms.size

    @property
    def may_depart(self) -> bool:
        return self.terms.may_depart

    def persists(self, name: str) -> bool:
        return name in self.terms.persisting

    def threshold_of(self, name: str) -> Fraction:
        return self.terms.threshold[name]


def submit(
    release: Release,
    terms: Terms,
    earlier: EarlierReleases,
    *,
    whole: Mapping[int, Person] | None = None,
    **changed: object,
) -> Proof:
    """Ask the verifier; some of its arguments may be changed."""
    names = sorted({name for each in release.table.values() for name in terms.held(each.values)})
    people = partial(population_of, names=names, terms=terms)
    population = people(release.shown)
    ids = population.ids.to_list()
    no_boxes: NDArray[np.int32] = np.empty((4, 0), dtype=np.int32)
    proposal = Proposal(
        "bucketised",
        np.array([release.group[who] for who in ids], dtype=np.int64),
        no_boxes,
        no_boxes,
        ProposedCohorts(
            np.array([release.cohort[who] for who in ids], dtype=np.int64),
            pl.Series(sorted(release.retired), dtype=pl.Int64),
        ),
    )
    arguments = {
        "population": population,
        "earlier": earlier,
        "proposal": proposal,
        "whole": None if whole is None else people(whole),
        "table": people(release.table),
        "cohort_terms": StatedTerms(terms),
        "known_members": terms.known,
        "presence_known": False,
        "minimum_size": terms.minimum,
        "where": "release r",
    }
    return verify(**(arguments | changed))


def changed(release: Release, **parts: object) -> Release:
    return replace(release, **parts)
