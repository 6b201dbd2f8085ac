"""Standing cohorts over many releases: people enter, leave, come back and move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from cohorts.people import population
from serigraph.cohorts import Arrangement, Rules, arrange
from serigraph.model import Cohorts, Population
from serigraph.privacy.alikeness import most_holders
from serigraph.runtime.randomness import SeededRandomness


@dataclass
class Book:
    """What a ledger would keep, in plain dictionaries."""

    cohort: dict[int, int] = field(default_factory=dict)
    retired: dict[int, int] = field(default_factory=dict)
    pairs: set[tuple[int, str]] = field(default_factory=set)

    def recorded(self) -> Cohorts:
        ids = sorted(self.cohort)
        place = {person: i for i, person in enumerate(ids)}
        pairs = sorted(self.pairs)
        return Cohorts(
            ids=pl.Series(ids, dtype=pl.Int64),
            cohort=np.array([self.cohort[i] for i in ids], dtype=np.int64),
            retired=np.array([self.retired.get(i, 0) for i in ids], dtype=np.int64),
            holder=np.array([place[i] for i, _ in pairs], dtype=np.int64),
            value=pl.Series([value for _, value in pairs], dtype=pl.String),
            formed=max(self.cohort.values(), default=-1) + 1,
        )

    def note(self, release: int, made: Arrangement) -> None:
        people = made.population.ids.to_list()
        self.cohort.update(zip(people, made.cohort.tolist(), strict=True))
        self.retired.update((person, release) for person in made.retired)
        self.pairs |= set(shown(made.population))

    def classes(self) -> dict[tuple[int, int], set[int]]:
        found = defaultdict(set)
        for person, cohort in self.cohort.items():
            found[cohort, self.retired.get(person, 0)].add(person)
        return found


def shown(people: Population) -> Iterator[tuple[int, str]]:
    holder = np.repeat(np.arange(people.size), np.diff(people.held_start))
    for i, v in zip(holder.tolist(), people.held.tolist(), strict=True):
        yield people.ids[i], people.protected[v].name


def series(
    seed: int, *, known: int, threshold: Fraction, releases: int = 8
) -> Iterator[tuple[int, Population, Arrangement, Book]]:
    """Releases of a registry with churn; half of the people are present, a fifth hold a value that
    comes and goes."""
    rng = np.random.default_rng(seed)
    book, registry, newest = Book(), set(range(90)), 90
    rules = Rules(size=6, known=known, least=2, thresholds=dict.fromkeys("rs", threshold))
    held = {}
    for release in range(1, releases + 1):
        gone = {person for person in registry if rng.random() < 0.06}
        back = {person for person in range(newest) if rng.random() < 0.02}
        more = int(rng.integers(0, 9))
        registry = (registry - gone) | back | set(range(newest, newest + more))
        newest += more
        held = {
            person: held[person] if person in held and rng.random() < 0.7 else [value]
            for person in registry
            if (value := rng.choice(["r", "s", "none", "none", "none"])) != "none"
            or (person in held and rng.random() < 0.7)
        }
        away = [person for person in registry if rng.random() < 0.5]
        table = population(
            sorted(registry), held, away=away, persisting="rs", threshold=threshold, seed=seed
        )
        made = arrange(table, book.recorded(), rules, SeededRandomness(seed * 100 + release))
        yield release, table, made, book
        book.note(release, made)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("known", "threshold"), [(0, Fraction(1, 2)), (1, Fraction(1, 3))])
def test_no_class_ever_shows_more_holders_than_it_may(
    seed: int, known: int, threshold: Fraction
) -> None:
    for _release, _table, _made, book in series(seed, known=known, threshold=threshold):
        for people in book.classes().values():
            for value in "rs":
                holders = sum((person, value) in book.pairs for person in people)
                assert holders <= most_holders(len(people), threshold, known)


@pytest.mark.parametrize("seed", range(6))
def test_cohorts_stay_together_and_nobody_returns(seed: int) -> None:
    for release, table, made, book in series(seed, known=0, threshold=Fraction(1, 2)):
        here, now = set(table.ids), dict(zip(made.population.ids, made.cohort, strict=True))
        for person, cohort in book.cohort.items():
            if person in now:
                assert now[person] == cohort
                assert person not in book.retired
            else:
                assert person in book.retired or person in set(made.retired)
        for person in book.cohort.keys() - here - book.retired.keys():
            assert person in set(made.retired)
        new = [person for person in here if person not in book.cohort]
        waits = [person for person in new if person not in now]
        assert len(waits) == made.waiting == (len(new) if len(new) < 6 else 0), release


def test_who_retires_does_not_depend_on_who_holds() -> None:
    """The same counts of holders with other holders: the same people retire."""
    rules = Rules(size=6, known=0, least=2, thresholds={"s": Fraction(1, 2)})
    retired = []
    for holder in range(6):
        book = Book(dict.fromkeys(range(8), 0), {}, {(holder, "s")})
        table = population(range(7), {holder: ["s"]})
        made = arrange(table, book.recorded(), rules, SeededRandomness(3))
        retired.append(made.retired.to_list())
    assert len(retired[0]) == 2
    assert all(each == retired[0] for each in retired)


def test_a_holder_beyond_the_limit_is_not_shown_as_one() -> None:
    rules = Rules(size=4, known=0, least=1, thresholds={"s": Fraction(1, 2)})
    table = population(range(4), {0: ["s"], 1: ["s"], 2: ["s"]})
    drawn = set()
    for seed in range(30):
        made = arrange(table, Cohorts.none(table.ids), rules, SeededRandomness(seed))
        holders = {person for person, _ in shown(made.population)}
        assert len(holders) == 2
        assert made.population.present.sum() == 3
        drawn.add(frozenset(holders))
    assert len(drawn) == 3
    # Who was published as a holder before may be again, and nobody else.
    book = Book(dict.fromkeys(range(4), 0), {}, {(0, "s"), (3, "s")})
    made = arrange(table, book.recorded(), rules, SeededRandomness(1))
    assert [person for person, _ in shown(made.population)] == [0]


def test_a_class_of_values_has_a_limit_of_its_own() -> None:
    rules = Rules(4, 0, 1, dict.fromkeys(["both", "r", "s"], Fraction(1, 2)))
    table = population(
        range(4),
        {0: ["r"], 1: ["s"], 2: ["s"]},
        persisting="rs",
        classes={"both": ["r", "s"]},
    )
    made = arrange(table, Cohorts.none(table.ids), rules, SeededRandomness(1))
    names = [name for _, name in shown(made.population)]
    assert names.count("both") == 2
    assert names.count("r") + names.count("s") == 2
