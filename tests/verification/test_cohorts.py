"""The verifier of cohorts agrees with a slow reference, and refuses every mutation."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.settings import about
from serigraph.errors import GuaranteeExceeded, ImpossibleState
from verification.cohort_mutations import (
    DOUBTFUL,
    WRONG,
    Mutation,
    add_value,
    drop_persisting,
    show_too_much,
    swap_companion,
)
from verification.cohort_reference import Book, Release, Terms, excluded, faults
from verification.cohort_series import StatedTerms, recorded_of, series, submit, terms_of


def is_accepted(book: Book, release: Release, terms: Terms) -> bool:
    try:
        submit(release, terms, recorded_of(book))
    except (ImpossibleState, GuaranteeExceeded):
        return False
    return True


some_terms = st.builds(
    terms_of,
    size=st.integers(2, 6),
    known=st.integers(0, 2),
    minimum=st.integers(1, 2),
    has_class=st.booleans(),
)


@about(50)
@given(st.integers(0, 2**32), some_terms)
def test_right_releases_are_accepted(seed: int, terms: Terms) -> None:
    for book, release in series(seed, terms):
        assert not faults(book, release, terms)
        submit(release, terms, recorded_of(book))


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
            assert is_accepted(book, wrong, terms) == (not found), (mutate.__name__, found)
            assert found or mutate in DOUBTFUL, mutate.__name__


def verdicts(mutate: Mutation) -> list[bool]:
    """Whether a mutation was accepted, wherever it applied."""
    terms = terms_of(size=7, known=1)
    found = []
    for seed in range(12):
        rng = random.Random(seed)
        for book, release in series(seed, terms, people=45):
            wrong = mutate(book, release, terms, rng)
            if wrong is not None and wrong.shown:
                found.append(is_accepted(book, wrong, terms))
    return found


@pytest.mark.parametrize("mutate", WRONG, ids=lambda each: each.__name__)
def test_a_mutation_is_refused_wherever_it_applies(mutate: Mutation) -> None:
    found = verdicts(mutate)
    assert len(found) >= 3
    assert not any(found)


def test_a_value_shown_again_is_mostly_one_too_many() -> None:
    assert verdicts(show_too_much).count(False) >= 10


def test_a_value_is_left_out_only_where_the_class_is_full() -> None:
    found = verdicts(drop_persisting)  # which it no longer is then, or the person was shown before
    assert len(found) >= 10
    assert not any(found)


def test_a_value_that_is_not_in_the_table_is_refused() -> None:
    assert not any(verdicts(add_value))


def test_any_member_may_be_a_companion() -> None:
    assert any(verdicts(swap_companion))


@pytest.mark.parametrize("seed", range(8))
def test_who_cannot_hold_a_transient_value_is_counted_as_by_the_reference(seed: int) -> None:
    terms = terms_of(size=5, has_class=seed % 2 == 0)
    for book, release in series(seed, terms, people=40):
        for has_one_value in (True, False):
            stated = StatedTerms(terms, has_one_value=has_one_value)
            proof = submit(release, terms, recorded_of(book), cohort_terms=stated)
            assert proof.excluded is not None
            expected = excluded(book, release, terms, has_one_value=has_one_value)
            assert proof.excluded.tolist() == expected
