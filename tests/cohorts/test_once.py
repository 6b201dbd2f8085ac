"""Values that are shown once, over many releases: people come, stay away and come back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cohorts.people import population
from serigraph.cohorts import Arrangement, Rules, TooManyHolders, arrange_once
from serigraph.model import Cohorts, Population
from serigraph.runtime.randomness import SeededRandomness

Held = dict[int, list[str]]
PROTECTED = frozenset("rs")
HALF = Fraction(1, 2)


def rules_of(*, size: int = 6, known: int = 0, least: int = 2) -> Rules:
    return Rules(size=size, known=known, least=least, thresholds={})


@dataclass
class Book:
    """What a ledger would keep, in plain dictionaries."""

    cohort: dict[int, int] = field(default_factory=dict)
    pairs: set[tuple[int, str]] = field(default_factory=set)
    members: list[set[int]] = field(default_factory=list)  # of each release

    def past(self, person: int) -> tuple[bool, ...]:
        return tuple(person in members for members in self.members)

    def past_of(self, people: Sequence[int]) -> np.ndarray:
        known = {past: number for number, past in enumerate(sorted(set(map(self.past, people))))}
        return np.array([known[self.past(person)] for person in people], dtype=np.int64)

    def recorded(self) -> Cohorts:
        ids, pairs = sorted(self.cohort), sorted(self.pairs)
        return Cohorts(
            ids=pl.Series(ids, dtype=pl.Int64),
            cohort=np.array([self.cohort[i] for i in ids], dtype=np.int64),
            retired=np.ones(len(ids), dtype=np.int64),
            holder=np.array([ids.index(i) for i, _ in pairs], dtype=np.int64),
            value=pl.Series([value for _, value in pairs], dtype=pl.String),
            formed=max(self.cohort.values(), default=-1) + 1,
        )

    def arranged(self, held: Held, rules: Rules, threshold: Fraction, seed: int) -> Arrangement:
        people = sorted(held)
        table = population(people, held, persisting=("r", "s"), threshold=threshold)
        return arrange_once(
            table, self.recorded(), self.past_of(people), rules, SeededRandomness(seed)
        )

    def note(self, made: Arrangement) -> None:
        people = made.population.ids.to_list()
        self.members.append(set(people))
        self.cohort |= {
            person: number
            for person, number in zip(people, made.cohort.tolist(), strict=True)
            if number >= 0
        }
        self.pairs |= {
            (person, value)
            for person, values in published(made.population).items()
            for value in PROTECTED & set(values)
        }


def published(people: Population) -> dict[int, list[str]]:
    """The values of everybody who has a record."""
    return dict(
        zip(people.ids.filter(pl.Series(people.present)), people.values.to_list(), strict=True)
    )


def cells_of(made: Arrangement) -> list[list[int]]:
    assert made.group is not None
    found = defaultdict(list)
    for person, group in zip(made.population.ids, made.group.tolist(), strict=True):
        found[group].append(person)
    return [found[group] for group in sorted(found)]


@dataclass(frozen=True)
class Step:
    held: Held
    made: Arrangement
    before: Book  # what was recorded before
    rules: Rules
    threshold: Fraction
    seed: int


def series(seed: int, *, known: int = 0, threshold: Fraction = HALF) -> Iterator[Step]:
    """Four of five people come each time; some hold r for life, and others s now and then. A table
    in which somebody cannot be hidden comes again without holders."""
    rng = np.random.default_rng(seed)
    book, rules = Book(), rules_of(known=known)
    for_life = {person for person in range(140) if rng.random() < 0.03}
    for release in range(6):
        held = {
            person: [
                *(["r"] if person in for_life else []),
                *(["s"] if rng.random() < 0.02 else []),
                *(["flu"] if rng.random() < 0.8 else ["gout"]),
            ]
            for person in range(100 + 8 * release)
            if rng.random() < 0.8
        }
        try:
            made = book.arranged(held, rules, threshold, seed)
        except TooManyHolders:
            held = {person: [values[-1]] for person, values in held.items()}
            made = book.arranged(held, rules, threshold, seed)
        before = Book(dict(book.cohort), set(book.pairs), list(book.members))
        yield Step(held, made, before, rules, threshold, seed)
        book.note(made)


SERIES = [
    (seed, known, threshold)
    for seed in range(12)
    for known, threshold in [(0, HALF), (1, HALF), (2, Fraction(1, 3))]
]
over_series = pytest.mark.parametrize(("seed", "known", "threshold"), SERIES)


@over_series
def test_no_cohort_has_more_holders_than_it_may(seed: int, known: int, threshold: Fraction) -> None:
    *_, last = series(seed, known=known, threshold=threshold)
    book = last.before
    book.note(last.made)
    size, holders = defaultdict(int), defaultdict(int)
    for number in book.cohort.values():
        size[number] += 1
    for person, value in book.pairs:
        holders[book.cohort[person], value] += 1
    assert holders
    assert {number for number, _ in holders} == set(size)
    for (number, _), many in holders.items():
        assert many <= threshold * (size[number] - known)


@over_series
def test_nobody_of_a_cohort_is_ever_published_again(
    seed: int, known: int, threshold: Fraction
) -> None:
    came_back = 0
    for step in series(seed, known=known, threshold=threshold):
        made, people = step.made, step.made.population.ids.to_list()
        gone = set(step.held) & set(step.before.cohort)
        assert gone.isdisjoint(people)
        assert made.gone == len(gone)
        joins = {k for k, n in zip(people, made.cohort.tolist(), strict=True) if n >= 0}
        assert made.retired.to_list() == sorted(joins)
        came_back += len(gone)
    assert came_back


@over_series
def test_a_cell_with_a_value_shows_nothing_else_and_another_everything(
    seed: int, known: int, threshold: Fraction
) -> None:
    kinds = set()
    for step in series(seed, known=known, threshold=threshold):
        shown = published(step.made.population)
        number = dict(zip(step.made.population.ids, step.made.cohort.tolist(), strict=True))
        first = max(step.before.cohort.values(), default=-1) + 1
        used = []
        for cell in cells_of(step.made):
            table = {person: step.held[person] for person in cell}
            only = {person: [v for v in table[person] if v in PROTECTED] for person in cell}
            shows = any(only.values())
            right = {k: values for k, values in only.items() if values} if shows else table
            assert {person: shown[person] for person in cell if person in shown} == right
            (cohort,) = {number[person] for person in cell}
            used += [cohort] if shows else []
            assert shows == (cohort >= 0)
            kinds.add(shows)
        assert sorted(used) == list(range(first, first + len(used)))
    assert kinds == {True, False}


@over_series
def test_cells_have_one_past_and_too_few_people_wait(
    seed: int, known: int, threshold: Fraction
) -> None:
    for step in series(seed, known=known, threshold=threshold):
        classes = defaultdict(set)
        for person in step.held.keys() - step.before.cohort.keys():
            classes[step.before.past(person)].add(person)
        released = {k for people in classes.values() if len(people) >= 6 for k in people}
        assert set(step.made.population.ids) == released
        waiting = sum(len(people) for people in classes.values() if len(people) < 6)
        assert step.made.waiting == waiting
        assert step.made.kept.tolist() == [k in released for k in sorted(step.held)]
        for cell in cells_of(step.made):
            assert len({step.before.past(person) for person in cell}) == 1
            assert len(cell) >= step.rules.least


@over_series
def test_other_holders_in_a_cell_leave_everything_as_it_is(
    seed: int, known: int, threshold: Fraction
) -> None:
    """What people of a cell hold is exchanged among them: the same cells, cohorts, retirements, and
    the same values in each cell."""
    rng = np.random.default_rng(seed)
    moved = 0
    for step in series(seed, known=known, threshold=threshold):
        held = dict(step.held)
        for cell in cells_of(step.made):
            others = rng.permutation(cell).tolist()
            held |= {a: step.held[b] for a, b in zip(cell, others, strict=True)}
        moved += sum(PROTECTED & set(held[k]) != PROTECTED & set(step.held[k]) for k in held)
        again = step.before.arranged(held, step.rules, step.threshold, step.seed)
        assert cells_of(again) == cells_of(step.made)
        assert again.cohort.tolist() == step.made.cohort.tolist()
        assert again.retired.equals(step.made.retired)
        assert again.kept.tolist() == step.made.kept.tolist()
        one, other = published(again.population), published(step.made.population)
        for cell in cells_of(again):
            assert sorted(one[k] for k in cell if k in one) == sorted(
                other[k] for k in cell if k in other
            )
    assert moved


@settings(deadline=None, max_examples=100)
@given(st.integers(6, 40), st.integers(0, 3), st.integers(1, 20), st.integers(2, 5))
def test_common_values_are_refused(people: int, known: int, holders: int, per_holder: int) -> None:
    held = {person: ["s" if person < holders else "flu"] for person in range(people)}
    threshold = Fraction(1, per_holder)
    fits = min(holders, people) <= threshold * (people - known)

    def arranged() -> Arrangement:
        return Book().arranged(held, rules_of(known=known), threshold, 1)

    if fits:
        assert len(published(arranged().population)) >= holders
    else:
        with pytest.raises(TooManyHolders) as refused:
            arranged()
        assert refused.value.values == ["s"]


def test_only_values_that_do_not_fit_are_named() -> None:
    held = {person: ["flu"] for person in range(12)}
    held |= {person: ["r"] for person in range(7)} | {8: ["s"]}
    with pytest.raises(TooManyHolders) as refused:
        Book().arranged(held, rules_of(), HALF, 1)
    assert refused.value.values == ["r"]


def test_holders_who_wait_are_not_too_many() -> None:
    held = {person: ["r"] for person in range(5)}
    made = Book().arranged(held, rules_of(), HALF, 1)
    assert (made.population.size, made.waiting, len(made.retired)) == (0, 5, 0)


def test_values_of_a_class_are_protected_as_well() -> None:
    held: Mapping[int, list[str]] = {0: ["x", "flu"], 1: ["flu"]}
    table = population(range(6), held, persisting=("s",), classes={"c": ["s", "x"]}, threshold=HALF)
    nobody = Cohorts.none(table.ids)
    made = arrange_once(
        table, nobody, np.zeros(6, dtype=np.int64), rules_of(least=6), SeededRandomness(1)
    )
    assert published(made.population) == {0: ["x"]}
    assert made.population.size == 6
    assert [made.population.protected[v].name for v in made.population.held] == ["c"]


def test_nobody() -> None:
    made = Book().arranged({}, rules_of(), HALF, 1)
    assert (made.population.size, made.waiting, made.gone) == (0, 0, 0)
