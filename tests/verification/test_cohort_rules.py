"""What the verifier says about single rules of cohorts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.verification import Proposal, ProposedCohorts, RememberedReleases
from serigraph.verification import cutting as cutting_module
from serigraph.verification.cutting import cut_blindly
from verification.cohort_reference import Book, Person, Release, cut
from verification.cohort_series import (
    StatedTerms,
    population_of,
    recorded_of,
    submit,
    terms_of,
    without,
)

HALF = terms_of(size=4)


def person(*values: str, at: int = 0) -> Person:
    return Person((at, 0), True, frozenset(values or ["none"]))


def release_of(people: list[Person], cohort: int = 0, **changed: object) -> Release:
    """Everybody in one cohort and one group."""
    table = dict(enumerate(people))
    shown = {who: table[who] for who in table}
    return replace(
        Release(table, shown, dict.fromkeys(table, cohort), dict.fromkeys(table, 0), frozenset()),
        **changed,
    )


def recorded(people: int, *pairs: tuple[int, str]) -> Book:
    return Book(cohort=dict.fromkeys(range(people), 0), pairs=set(pairs))


def test_the_proof_says_who_joined_and_what_the_worst_class_is() -> None:
    release = release_of([person("r"), person("r", "u"), person("s"), *[person()] * 4])
    proof = submit(release, HALF, RememberedReleases())
    assert proof.cohorts is not None
    assert proof.cohorts.joined.to_list() == list(range(7))
    assert proof.cohorts.cohort.tolist() == [0] * 7
    assert proof.cohorts.retired.to_list() == []
    # r: 2 of 7 at 1/2; s: 1 of 7 at 1/3; u, which is transient: 1 of 7 at 1.
    assert proof.largest == Fraction(2, 7)
    assert proof.worst is not None
    assert (proof.worst.value, proof.worst.share) == ("r", Fraction(4, 7))
    assert (proof.pairs, proof.value_name.to_list()) == (21, ["r", "s", "u"])
    assert proof.value_count.tolist() == [2, 1, 1]
    assert sorted(zip(proof.holder.tolist(), proof.held.tolist(), strict=True)) == [
        (0, 0),
        (1, 0),
        (1, 2),
        (2, 1),
    ]


def test_a_new_cohort_is_not_forgotten() -> None:
    absent = Person((8, 8), False, frozenset())
    release = release_of([person("r"), person(), person(), person(), *[absent] * 4])
    apart = {who: int(who >= 4) for who in release.table}
    proof = submit(replace(release, cohort=apart, group=apart), HALF, RememberedReleases())
    assert proof.cohorts is not None
    assert proof.cohorts.joined.to_list() == proof.ids.to_list() == list(range(8))
    assert (proof.size.tolist(), proof.present_size.tolist()) == ([4, 4], [4, 0])


def test_a_value_that_persists_is_not_charged_to_its_past() -> None:
    # One of four at 1/3, for the fifth time: p would be 1 - (3/4)^5.
    release = release_of([person("s"), person(), person(), person()])
    for _ in range(5):
        assert submit(release, HALF, recorded_of(recorded(4, (0, "s")))).largest == Fraction(1, 4)
    with pytest.raises(GuaranteeExceeded, match="2 of 4 people who are alike"):
        submit(release, HALF, recorded_of(recorded(4, (1, "s"))))


def test_known_members_count_for_nothing() -> None:
    release = release_of([person("r"), person("r"), person(), person()])
    assert submit(release, HALF, RememberedReleases()).largest == Fraction(1, 2)
    one_known = replace(HALF, known=1)
    with pytest.raises(GuaranteeExceeded, match="threshold is 1/2 with 1 of them known"):
        submit(release, one_known, RememberedReleases())
    one = release_of([person("r"), person(), person(), person()])
    assert submit(one, one_known, RememberedReleases()).largest == Fraction(1, 3)


def test_a_class_is_full_with_known_members_sooner() -> None:
    people = [person("r"), person("r"), person(), person()]
    release = release_of(people)
    release = replace(release, shown={**release.shown, 1: without(people[1], frozenset("r"))})
    assert submit(release, replace(HALF, known=1), RememberedReleases()).present.tolist() == [
        True,
        False,
        True,
        True,
    ]
    with pytest.raises(ImpossibleState, match="left out of a release without need"):
        submit(release, HALF, RememberedReleases())


def gone(book: Book, people: int, *left: int, retired: set[int] | None = None) -> Release:
    """A release of a cohort after some have left."""
    who_retires = frozenset(left) | (retired or set())
    table = {who: person() for who in range(people) if who not in left}
    shown = {who: each for who, each in table.items() if who not in who_retires}
    return Release(table, shown, dict.fromkeys(shown, 0), dict.fromkeys(shown, 0), who_retires)


def test_a_value_that_nobody_holds_now_still_asks_for_companions() -> None:
    book = recorded(9, (3, "s"))
    terms = terms_of(size=9)
    with pytest.raises(GuaranteeExceeded, match="too few people retire"):
        submit(gone(book, 9, 0), terms, recorded_of(book))
    with pytest.raises(GuaranteeExceeded, match="too few people retire"):
        submit(gone(book, 9, 0, retired={1}), terms, recorded_of(book))
    proof = submit(gone(book, 9, 0, retired={1, 2}), terms, recorded_of(book))
    assert proof.cohorts is not None
    assert proof.cohorts.retired.to_list() == [0, 1, 2]
    with pytest.raises(ImpossibleState, match="more people retire"):
        submit(gone(book, 9, 0, retired={1, 2, 4}), terms, recorded_of(book))
    clean = recorded(9)
    assert submit(gone(clean, 9, 0), terms, recorded_of(clean)).cohorts is not None


def test_departures_may_be_ruled_out() -> None:
    book = recorded(9)
    with pytest.raises(GuaranteeExceeded, match="keep them in the registry"):
        submit(gone(book, 9, 0), terms_of(size=9, may_depart=False), recorded_of(book))


def test_pairs_that_were_forgotten_change_the_verdict() -> None:
    """The part that arranges may be told less than was published; the verifier is not."""
    release = release_of([person("r"), person("r"), person(), person()])
    assert submit(release, HALF, recorded_of(recorded(4))).largest == Fraction(1, 2)
    with pytest.raises(GuaranteeExceeded, match="3 of 4"):
        submit(release, HALF, recorded_of(recorded(4, (2, "r"))))


def test_transient_values_go_only_through_suppression() -> None:
    terms = terms_of(size=8)
    people = [person("u"), person("u"), person("r"), *[person()] * 5]
    release = release_of(people)
    suppressed = replace(release, shown={**release.shown, 0: without(people[0], frozenset("u"))})
    with pytest.raises(ImpossibleState, match="left out of a release without need"):
        submit(suppressed, terms, RememberedReleases())
    dear = replace(terms, threshold={**terms.threshold, "u": Fraction(99, 100)})
    with pytest.raises(GuaranteeExceeded, match="revealed by their absence"):
        submit(suppressed, dear, RememberedReleases(), whole=release.shown)
    proof = submit(suppressed, terms, RememberedReleases(), whole=release.shown)
    assert [(gap.value, gap.missing) for gap in proof.gaps] == [("u", 1)]
    lost = {**release.shown, 2: without(people[2], frozenset("r"))}
    with pytest.raises(ImpossibleState, match="left out of a release without need"):
        submit(replace(release, shown=lost), terms, RememberedReleases(), whole=release.shown)


def test_suppression_takes_nobody_out() -> None:
    release = release_of([person("r"), *[person()] * 4])
    waiting = replace(release, table={**release.table, 5: person()})
    book = recorded(5)
    submit(waiting, HALF, recorded_of(book))
    with pytest.raises(ImpossibleState, match="suppression took people out"):
        submit(waiting, HALF, recorded_of(book), whole=waiting.table)


def boxes(*corners: tuple[int, int]) -> np.ndarray:
    return np.array(corners, dtype=np.int32)


def test_boxes_of_cohorts_may_overlap_but_hold_their_people() -> None:
    people = [person(at=at) for at in (0, 1, 1, 2, 2, 3, 3, 4)]
    cohort = [0, 0, 0, 0, 1, 1, 1, 1]
    release = release_of(people, cohort=0)
    release = replace(release, cohort=dict(enumerate(cohort)), group=dict(enumerate(cohort)))
    cohorts = ProposedCohorts(np.array(cohort), pl.Series(dtype=pl.Int64))

    def propose(high: int) -> Proposal:
        low = boxes((0, 0), (2, 0))
        return Proposal("generalised", np.array(cohort), low, boxes((high, 0), (4, 0)), cohorts)

    assert len(submit(release, HALF, RememberedReleases(), proposal=propose(2)).size) == 2
    with pytest.raises(ImpossibleState, match="outside the box"):
        submit(release, HALF, RememberedReleases(), proposal=propose(1))
    transient = replace(HALF, persisting=frozenset())
    with pytest.raises(ImpossibleState, match="overlap"):
        submit(
            release,
            transient,
            RememberedReleases(),
            proposal=replace(propose(2), cohorts=None),
            cohort_terms=None,
            table=None,
        )


def no_cohorts(release: Release) -> Proposal:
    nothing = np.empty((4, 0), dtype=np.int32)
    return Proposal("bucketised", np.zeros(len(release.shown), dtype=np.int64), nothing, nothing)


PLAIN = release_of([person("r"), person(), person(), person()])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"presence_known": True}, "shows more"),  # in another way where somebody may know it
        ({"cohort_terms": StatedTerms(HALF, has_registry=False)}, "shows more"),
        ({"proposal": no_cohorts(PLAIN)}, "no cohorts are proposed"),
        ({"table": None}, "no cohorts are proposed"),
        ({"cohort_terms": None}, "nothing says how cohorts are kept"),
        (
            {"cohort_terms": StatedTerms(replace(HALF, persisting=frozenset("s")))},
            "not protected as the policy says",
        ),
        (
            {"cohort_terms": StatedTerms(replace(HALF, threshold={"r": Fraction(1, 9)}))},
            "not protected as the policy says",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(changed: dict[str, object], said: str) -> None:
    assert submit(PLAIN, HALF, RememberedReleases()).largest == Fraction(1, 4)
    with pytest.raises((ImpossibleState, GuaranteeExceeded), match=said):
        submit(PLAIN, HALF, RememberedReleases(), **changed)


def test_people_outside_the_registry_are_refused() -> None:
    table = replace(population_of(PLAIN.table, ["r"], HALF), outside_registry=1)
    with pytest.raises(GuaranteeExceeded, match="not in the registry"):
        submit(PLAIN, HALF, RememberedReleases(), table=table)


def test_what_people_hold_is_what_is_published() -> None:
    table = population_of(PLAIN.table, ["r"], HALF)
    hidden = replace(table, held_start=np.zeros(5, dtype=np.int64), held=table.held[:0])
    with pytest.raises(ImpossibleState, match="something else than is published"):
        submit(PLAIN, HALF, RememberedReleases(), population=hidden)


def test_no_message_names_a_person() -> None:
    people = [person("r") for _ in range(8)]
    with pytest.raises(GuaranteeExceeded) as refused:
        submit(release_of(people), terms_of(size=8), RememberedReleases())
    assert str(refused.value) == (
        "8 of 8 people who are alike would have been shown as holders of value 'r', and the "
        "threshold is 1/2 - release r - take the value out of the records of new holders; if they "
        "were shown before the value was said to persist, begin a new series"
    )


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=60),
    st.integers(1, 7),
    st.booleans(),
)
def test_the_cut_is_that_of_the_reference(
    codes: list[tuple[int, int]], size: int, is_narrow: bool
) -> None:
    table = {who: Person(each, True, frozenset()) for who, each in enumerate(codes)}
    right = {frozenset(each) for each in cut(table, sorted(table), size)}
    with pytest.MonkeyPatch.context() as patched:
        if is_narrow:
            patched.setattr(cutting_module, "_WORD", 1)  # as with too many people for one word
        found = cut_blindly(
            np.array(codes, dtype=np.int32).T.copy(), [np.arange(7.0)] * 2, size
        ).tolist()
    cells = [{who for who in table if found[who] == number} for number in set(found)]
    assert right == set(map(frozenset, cells))


def test_a_missing_value_lies_apart() -> None:
    # Positions -1, 0, 1 and 0, 1: the first column is the widest where a value is missing.
    codes = np.array([[0, 1, 2, 1], [0, 1, 0, 1]], dtype=np.int32)
    found = cut_blindly(codes, [np.array([-1.0, 0.0, 1.0]), np.array([0.0, 1.0])], 2)
    assert found.tolist() == [0, 0, 1, 1]


def test_a_release_in_which_nobody_holds_such_a_value_has_cohorts_too() -> None:
    release = release_of([person() for _ in range(4)])
    proof = submit(release, HALF, RememberedReleases())
    assert proof.cohorts is not None
    assert (len(proof.cohorts.joined), proof.pairs, proof.worst) == (4, 0, None)
