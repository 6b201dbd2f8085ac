"""The verifier of values that are shown once agrees with a slow reference, and refuses every
mutation."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.settings import about
from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.model import ProtectedValue
from serigraph.verification.attendance import patterns
from serigraph.verification.counted_cuts import Held, cut_by_counts
from verification.cohort_reference import Person, Release
from verification.once_mutations import DOUBTFUL, WRONG, Mutation, forget_attendance
from verification.once_reference import Book, Terms, cut, faults
from verification.once_series import (
    StatedTerms,
    population_of,
    proposal_of,
    recorded_of,
    series,
    submit,
    terms_of,
)


def is_accepted(book: Book, release: Release, terms: Terms, form: str = "bucketised") -> bool:
    try:
        submit(release, terms, recorded_of(book), form=form)
    except (ImpossibleState, GuaranteeExceeded):
        return False
    return True


some_terms = st.builds(
    terms_of,
    size=st.integers(2, 8),
    known=st.integers(0, 2),
    minimum=st.integers(1, 3),
    has_class=st.booleans(),
)


@about(50)
@given(st.integers(0, 2**32), some_terms, st.sampled_from(["bucketised", "generalised"]))
def test_right_releases_are_accepted(seed: int, terms: Terms, form: str) -> None:
    for book, release in series(seed, terms):
        assert not faults(book, release, terms)
        proof = submit(release, terms, recorded_of(book), form=form)
        assert proof.cohorts is not None
        joined = {who for who in release.shown if who not in book.cohort} & {
            who for who, number in release.cohort.items() if number >= 0
        }
        assert set(proof.cohorts.joined) == joined
        assert proof.cohorts.cohort.tolist() == [release.cohort[k] for k in sorted(joined)]
        assert set(proof.cohorts.retired) == release.retired
        assert set(proof.ids) == set(release.shown)


@about(30)
@given(st.integers(0, 2**32), some_terms)
def test_mutations_are_judged_as_by_the_reference(seed: int, terms: Terms) -> None:
    rng = random.Random(seed)
    for book, release in series(seed, terms, releases=4):
        for mutate in rng.sample(WRONG + DOUBTFUL, 6):
            wrong = mutate(book, release, terms, rng)
            if wrong is None or not wrong.shown:
                continue
            found = faults(book, wrong, terms)
            form = rng.choice(["bucketised", "generalised"])
            assert is_accepted(book, wrong, terms, form) == (not found), (mutate.__name__, found)
            assert found or mutate in DOUBTFUL, mutate.__name__


def verdicts(mutate: Mutation) -> list[bool]:
    """Whether a mutation was accepted, wherever it applied."""
    terms = terms_of(size=5)
    found = []
    for seed in range(12):
        rng = random.Random(seed)
        for book, release in series(seed, terms, people=60):
            wrong = mutate(book, release, terms, rng)
            if wrong is not None and wrong.shown:
                found.append(is_accepted(book, wrong, terms))
    return found


@pytest.mark.parametrize("mutate", WRONG, ids=lambda each: each.__name__)
def test_a_mutation_is_refused_wherever_it_applies(mutate: Mutation) -> None:
    found = verdicts(mutate)
    assert len(found) >= 3
    assert not any(found)


def test_forgotten_attendance_is_mostly_found() -> None:
    assert verdicts(forget_attendance).count(False) >= 20


def some_release(terms: Terms, number: int = 4) -> tuple[Book, Release]:
    return next(islice(series(7, terms, people=60), number, None))


def test_people_without_a_record_in_the_table_are_refused() -> None:
    terms = terms_of()
    book, release = some_release(terms)
    absent = Person((0, 0), False, frozenset())
    wrong = replace(release, table={**release.table, 9999: absent})
    with pytest.raises(ImpossibleState, match="absent"):
        submit(wrong, terms, recorded_of(book))


def test_a_transient_value_is_refused_even_of_people_who_wait() -> None:
    terms = terms_of(size=5)
    book, release = some_release(terms)
    waiting = Person((0, 0), True, frozenset(["u"]))
    wider = replace(terms, covers={**terms.covers, "u": frozenset("u")})
    wider = replace(wider, threshold={**terms.threshold, "u": Fraction(1, 2)})
    wrong = replace(release, table={**release.table, 9999: waiting})
    assert 9999 not in wrong.shown
    names = ["r", "s", "t", "u"]

    def people(of: dict[int, Person]) -> object:
        found = population_of(of, names, wider)
        transient = replace(found.protected[3], persistence="transient")
        return replace(found, protected=(*found.protected[:3], transient))

    stated = StatedTerms(wider, transient=frozenset("u"))
    for table in (release.table, wrong.table):
        population = people(dict(release.shown))
        arguments = {
            "table": people(dict(table)),
            "population": population,
            "proposal": proposal_of(release, population, "bucketised"),
            "cohort_terms": stated,
        }
        if table is release.table:
            submit(release, wider, recorded_of(book), **arguments)
        else:
            with pytest.raises(GuaranteeExceeded, match="transient"):
                submit(release, wider, recorded_of(book), **arguments)


def test_a_registry_and_presence_unknown_ask_for_standing_cohorts() -> None:
    terms = terms_of()
    book, release = some_release(terms)
    with_registry = StatedTerms(terms, has_registry=True)
    submit(release, terms, recorded_of(book), presence_known=False)
    submit(release, terms, recorded_of(book), cohort_terms=with_registry)
    with pytest.raises(ImpossibleState):
        submit(release, terms, recorded_of(book), cohort_terms=with_registry, presence_known=False)


def test_nothing_may_be_suppressed() -> None:
    terms = terms_of()
    book, release = some_release(terms)
    names = sorted({name for p in release.table.values() for name in terms.held(p.values)})
    with pytest.raises(ImpossibleState, match="suppressed"):
        submit(release, terms, recorded_of(book), whole=population_of(release.shown, names, terms))


def test_a_region_wider_than_its_people_is_refused() -> None:
    terms = terms_of()
    book, release = some_release(terms)
    names = sorted({name for p in release.table.values() for name in terms.held(p.values)})
    right = proposal_of(release, population_of(release.shown, names, terms), "generalised")
    submit(release, terms, recorded_of(book), proposal=right)
    low = right.low.copy()
    low[np.flatnonzero(low[:, 0] > 0)[0], 0] -= 1
    with pytest.raises(ImpossibleState, match="region"):
        submit(release, terms, recorded_of(book), proposal=replace(right, low=low))


@pytest.mark.parametrize("which", ["all", "one cohort", "one person"])
def test_a_cohort_that_did_not_retire_is_refused(which: str) -> None:
    terms = terms_of()
    book, release = some_release(terms)
    first = min(book.retired)
    stays = {
        "all": set(book.retired),
        "one cohort": {k for k in book.retired if book.cohort[k] == book.cohort[first]},
        "one person": {first},
    }[which]
    live = replace(book, retired={k: n for k, n in book.retired.items() if k not in stays})
    assert "live cohort" in faults(live, release, terms)
    with pytest.raises(GuaranteeExceeded, match="more than once"):
        submit(release, terms, recorded_of(live))


def test_cohorts_that_were_formed_in_another_way_are_refused() -> None:
    terms = terms_of()
    book, release = some_release(terms)
    without_holder = replace(book, pairs=set())
    holder, _ = next(iter(book.pairs))
    in_none = recorded_of(book)
    standing = in_none.standing
    assert standing is not None
    cohort = np.where(standing.ids.to_numpy() == holder, -1, standing.cohort)
    retired = np.where(cohort < 0, 0, standing.retired)
    in_none = replace(in_none, standing=replace(standing, cohort=cohort, retired=retired))
    for past in (recorded_of(without_holder), in_none):
        with pytest.raises(GuaranteeExceeded, match="more than once"):
            submit(release, terms, past)


def test_no_message_names_anybody() -> None:
    terms = terms_of()
    for mutate in WRONG + DOUBTFUL:
        rng = random.Random(1)
        for book, release in series(1, terms):
            far = {who: who + 770_000 for who in range(200)}
            wrong = mutate(book, release, terms, rng)
            if wrong is None or not wrong.shown:
                continue
            book, wrong = _renamed(book, wrong, far)
            if not faults(book, wrong, terms):
                continue
            with pytest.raises((ImpossibleState, GuaranteeExceeded)) as refusal:
                submit(wrong, terms, recorded_of(book))
            assert "77" not in str(refusal.value)


def _renamed(book: Book, release: Release, to: dict[int, int]) -> tuple[Book, Release]:
    def keys(of: dict[int, object]) -> dict[int, object]:
        return {to[who]: each for who, each in of.items()}

    return (
        Book(
            keys(book.cohort),  # type: ignore[arg-type]
            keys(book.retired),  # type: ignore[arg-type]
            {(to[who], name) for who, name in book.pairs},
            [frozenset(to[who] for who in members) for members in book.members],
        ),
        Release(
            keys(release.table),  # type: ignore[arg-type]
            keys(release.shown),  # type: ignore[arg-type]
            keys(release.cohort),  # type: ignore[arg-type]
            keys(release.group),  # type: ignore[arg-type]
            frozenset(to[who] for who in release.retired),
        ),
    )


@about(60)
@given(st.integers(0, 2**32), st.integers(1, 70), some_terms)
def test_cells_equal_those_of_the_reference(seed: int, people: int, terms: Terms) -> None:
    rng = random.Random(seed)
    table = {
        who: Person(
            (rng.randrange(9), rng.randrange(9)),
            True,
            frozenset(name for name in "rst" if rng.random() < 0.04),
        )
        for who in range(people)
    }
    past = [rng.randrange(3) for _ in range(people)]
    names = sorted(terms.covers)
    population = population_of(table, names, terms)
    held = Held(
        np.repeat(np.arange(people), np.diff(population.held_start)),
        population.held.astype(np.int64),
        [ProtectedValue(name, terms.threshold[name]) for name in names],
        terms.known,
        terms.minimum,
    )
    positions = [domain.positions() for domain in population.domains]
    found = cut_by_counts(population.codes, positions, np.array(past), held)
    cells: dict[int, set[int]] = {}
    for who, number in enumerate(found.tolist()):
        cells.setdefault(number, set()).add(who)
    right = [
        cell
        for each in set(past)
        for cell in cut(table, [who for who in range(people) if past[who] == each], terms)
    ]
    assert {frozenset(cell) for cell in cells.values()} == {frozenset(cell) for cell in right}


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), max_size=70))
def test_patterns_are_the_same_for_the_same_releases_only(memberships: list[list[bool]]) -> None:
    found = patterns(5, (np.array(each) for each in memberships)).tolist()
    columns = [tuple(each[who] for each in memberships) for who in range(5)]
    for one in range(5):
        assert (found[one] == 0) == (not any(columns[one]))
        for other in range(5):
            assert (found[one] == found[other]) == (columns[one] == columns[other])
