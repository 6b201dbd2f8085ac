"""A small mechanism that shows values once, in plain Python, and its releases as the verifier gets
them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from serigraph.model import Cohorts, Domain, Population, Proof, ProtectedValue
from serigraph.verification import (
    EarlierReleases,
    Proposal,
    ProposedCohorts,
    RememberedRelease,
    RememberedReleases,
    verify,
)
from verification.cohort_reference import Person, Release
from verification.once_reference import Book, Terms, cut

WIDTH, COLUMNS = 9, 2
PERMANENT = ("r", "t")


def terms_of(*, size: int = 5, known: int = 0, minimum: int = 1, has_class: bool = False) -> Terms:
    """Values r and t are permanent, s is not; maybe there is a class of r and t."""
    covers = {name: frozenset([name]) for name in "rst"}
    return Terms(
        size=max(size, minimum),
        known=known,
        minimum=minimum,
        threshold={
            "r": Fraction(1, 2),
            "s": Fraction(1, 3),
            "t": Fraction(2, 5),
            "class": Fraction(1, 2),
        },
        covers=covers | ({"class": frozenset("rt")} if has_class else {}),
    )


def tables(rng: random.Random, people: int, releases: int) -> Iterator[dict[int, Person]]:
    """People come and stay away, newcomers among them; permanent values are for life."""
    for_life = {}
    codes = {}
    for number in range(releases):
        everybody = range(people + 4 * number)
        for who in everybody:
            if who not in for_life:
                for_life[who] = {name for name in PERMANENT if rng.random() < 0.05}
            if who not in codes or rng.random() < 0.1:
                codes[who] = tuple(rng.randrange(WIDTH) for _ in range(COLUMNS))
        yield {
            who: Person(
                codes[who],
                True,
                frozenset(
                    for_life[who]
                    | ({"s"} if rng.random() < 0.03 else set())
                    | ({rng.choice(["flu", "gout"])} if rng.random() < 0.8 else set())
                ),
            )
            for who in everybody
            if rng.random() < 0.85
        }


def bearable(book: Book, table: dict[int, Person], terms: Terms) -> dict[int, Person]:
    """The table without holders of what cannot be hidden, as a publisher would leave them out."""
    while True:
        beyond = [
            next(who for who in people if name in terms.held(table[who].values))
            for people in book.classes(table)
            for name, count in Counter(
                name for who in people for name in terms.held(table[who].values)
            ).items()
            if len(people) >= terms.size and not terms.bears(len(people), name, count)
        ]
        if not beyond:
            return table
        table = {who: person for who, person in table.items() if who not in beyond}


def arrange(book: Book, table: Mapping[int, Person], terms: Terms, rng: random.Random) -> Release:
    """The cells of free people, as they are to be published."""
    cells = [
        cell
        for people in book.classes(table)
        if len(people) >= terms.size
        for cell in cut(table, people, terms)
    ]
    return publish(book, table, cells, terms, rng)


def publish(
    book: Book,
    table: Mapping[int, Person],
    cells: Sequence[Sequence[int]],
    terms: Terms,
    rng: random.Random,
) -> Release:
    """Some cells, right or wrong, each whole or with its protected values alone."""
    shown, cohort, group, retired = {}, {}, {}, set()
    formed = book.formed
    order = rng.sample(range(len(cells)), len(cells))
    for number, cell in zip(order, cells, strict=True):
        group |= dict.fromkeys(cell, number)
        shows = any(terms.held(table[who].values) for who in cell)
        cohort |= dict.fromkeys(cell, formed if shows else -1)
        retired |= set(cell) if shows else set()
        formed += shows
        shown |= {who: reduced(table[who], terms) if shows else table[who] for who in cell}
    return Release(table, dict(sorted(shown.items())), cohort, group, frozenset(retired))


def reduced(person: Person, terms: Terms) -> Person:
    """What is published of somebody with whom a value is shown."""
    values = terms.only_protected(person.values)
    return Person(person.codes, bool(values), values)


def note(book: Book, release: Release, number: int, terms: Terms) -> None:
    """What the ledger would record of a release."""
    book.members.append(frozenset(release.shown))
    book.cohort |= {who: each for who, each in release.cohort.items() if each >= 0}
    book.retired |= dict.fromkeys(release.retired, number)
    book.pairs |= {
        (who, name) for who, each in release.shown.items() for name in terms.held(each.values)
    }


def series(
    seed: int, terms: Terms, *, people: int = 40, releases: int = 5
) -> Iterator[tuple[Book, Release]]:
    """Right releases, each with what was recorded before it."""
    rng = random.Random(seed)
    book = Book()
    for number, table in enumerate(tables(rng, people, releases), 1):
        release = arrange(book, bearable(book, table, terms), terms, rng)
        if release.shown:
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
                "permanent" if name in PERMANENT else "any",
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
    pairs = sorted(book.pairs)
    nothing = np.empty(0, dtype=np.int64)
    return RememberedReleases(
        tuple(
            RememberedRelease(
                ids=pl.Series(sorted(members), dtype=pl.Int64),
                group=np.zeros(len(members), dtype=np.int64),
                size=np.array([len(members)]),
                value_group=nothing,
                value_name=pl.Series(dtype=pl.String),
                value_count=nothing,
            )
            for members in book.members
        ),
        standing=Cohorts(
            ids=pl.Series(ids, dtype=pl.Int64),
            cohort=np.array([book.cohort[who] for who in ids], dtype=np.int64),
            retired=np.array([book.retired.get(who, 0) for who in ids], dtype=np.int64),
            holder=np.array([ids.index(who) for who, _ in pairs], dtype=np.int64),
            value=pl.Series([name for _, name in pairs], dtype=pl.String),
            formed=book.formed,
        ),
    )


@dataclass(frozen=True)
class StatedTerms:
    """The terms as the verifier gets them."""

    terms: Terms
    transient: frozenset[str] = frozenset()
    has_registry: bool = False
    may_depart: bool = True
    has_one_value: bool = False

    @property
    def least(self) -> int:
        return self.terms.minimum

    @property
    def size(self) -> int:
        return self.terms.size

    def persists(self, name: str) -> bool:
        return name not in self.transient

    def threshold_of(self, name: str) -> Fraction:
        return self.terms.threshold[name]


def proposal_of(release: Release, population: Population, form: str) -> Proposal:
    """The groups of a release; in the generalised form with the smallest regions."""
    ids = population.ids.to_list()
    group = np.array([release.group[who] for who in ids], dtype=np.int64)
    groups = int(group.max(initial=-1)) + 1
    low = np.full((groups, COLUMNS), WIDTH, dtype=np.int32)
    high = np.full((groups, COLUMNS), -1, dtype=np.int32)
    for codes, lowest, highest in zip(population.codes, low.T, high.T, strict=True):
        np.minimum.at(lowest, group, codes)
        np.maximum.at(highest, group, codes)
    columns = 0 if form == "bucketised" else COLUMNS
    return Proposal(
        form,  # type: ignore[arg-type]
        group,
        low[:, :columns],
        high[:, :columns],
        ProposedCohorts(
            np.array([release.cohort[who] for who in ids], dtype=np.int64),
            pl.Series(sorted(release.retired), dtype=pl.Int64),
        ),
    )


def submit(
    release: Release,
    terms: Terms,
    earlier: EarlierReleases,
    *,
    form: str = "bucketised",
    **changed: object,
) -> Proof:
    """Ask the verifier; some of its arguments may be changed."""
    everything = [*release.table.values(), *release.shown.values()]
    names = sorted({name for each in everything for name in terms.held(each.values)})
    population = population_of(release.shown, names, terms)
    arguments = {
        "population": population,
        "earlier": earlier,
        "proposal": proposal_of(release, population, form),
        "table": population_of(release.table, names, terms),
        "cohort_terms": StatedTerms(terms),
        "known_members": terms.known,
        "presence_known": True,
        "minimum_size": terms.minimum,
        "where": "release r",
    }
    return verify(**(arguments | changed))
