"""The verifier agrees with brute force, to the last digit, and refuses what it must not let out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from model.models import (
    PastGroup,
    Person,
    crowds,
    id_of,
    pasts,
    population_of,
    protected_names,
)
from model.settings import unhurried
from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.model import Proof
from serigraph.verification import Proposal, RememberedRelease, RememberedReleases, verify
from verification.brute_force import is_kept, probabilities, smallest_group
from verification.releases import earlier_of


def examine(
    people: list[Person],
    group: list[int],
    *,
    releases: list[list[PastGroup]] | None = None,
    thresholds: dict[str, Fraction] | None = None,
    boxes: list[tuple[tuple[int, int], tuple[int, int]]] | None = None,
    presence_known: bool = False,
    minimum_size: int = 1,
    known_members: int = 0,
) -> Proof:
    """Verify groups without regions, or with boxes given as (low, high) corners."""
    names = protected_names(people)
    corners = np.array(boxes, dtype=np.int32) if boxes else np.empty((4, 2, 0), dtype=np.int32)
    return verify(
        population_of(people, names, thresholds),
        earlier_of(releases or []),
        Proposal(
            "generalised" if boxes else "bucketised",
            np.array(group, dtype=np.int64),
            corners[:, 0],
            corners[:, 1],
        ),
        presence_known=presence_known,
        minimum_size=minimum_size,
        known_members=known_members,
        where="release r1",
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Person], list[int], list[list[PastGroup]], bool]:
    people = draw(crowds())
    group = draw(st.lists(st.integers(0, 2), min_size=len(people), max_size=len(people)))
    return people, group, draw(pasts(len(people))), draw(st.booleans())


@unhurried
@given(cases(), st.data())
def test_the_worst_pair_is_the_one_closest_to_its_own_threshold(
    case: tuple[list[Person], list[int], list[list[PastGroup]], bool], data: st.DataObject
) -> None:
    people, group, releases, presence_known = case
    found = probabilities(people, group, releases, presence_known)
    thresholds = {
        name: data.draw(st.sampled_from([Fraction(9, 10), Fraction(99, 100), Fraction(999, 1000)]))
        for name in protected_names(people)
    }
    if not is_kept(found, thresholds):
        return
    options = {"releases": releases, "thresholds": thresholds, "presence_known": presence_known}
    proof = examine(people, group, **options)
    assert (proof.pairs, proof.largest) == (len(found), max(found.values(), default=0))
    shares = {pair: p / thresholds[pair[1]] for pair, p in found.items()}
    if proof.worst is None:
        assert not found
        return
    assert proof.worst.share == max(shares.values())
    assert proof.worst.threshold == thresholds[proof.worst.value]
    assert proof.worst.probability in {
        p for (_, value), p in found.items() if value == proof.worst.value
    }


@unhurried
@given(
    cases(),
    st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50)),
    st.integers(0, 3),
)
def test_it_agrees_with_brute_force(
    case: tuple[list[Person], list[int], list[list[PastGroup]], bool],
    threshold: Fraction,
    known: int,
) -> None:
    people, group, releases, presence_known = case
    names = protected_names(people)
    thresholds = dict.fromkeys(names, threshold)
    found = probabilities(people, group, releases, presence_known, known)
    options = {
        "releases": releases,
        "thresholds": thresholds,
        "presence_known": presence_known,
        "known_members": known,
    }
    if is_kept(found, thresholds):
        proof = examine(people, group, **options)
        assert proof.pairs == len(found)
        assert proof.largest == max(found.values(), default=0)
        close = threshold - Fraction(1, 10**9)
        assert proof.exact_pairs == sum(probability > close for probability in found.values())
    else:
        with pytest.raises(GuaranteeExceeded, match="breach probability would be"):
            examine(people, group, **options)


@unhurried
@given(cases(), st.data())
def test_it_decides_exactly_at_the_threshold(
    case: tuple[list[Person], list[int], list[list[PastGroup]], bool], data: st.DataObject
) -> None:
    people, group, releases, presence_known = case
    found = probabilities(people, group, releases, presence_known)
    reached = {probability for probability in found.values() if probability < 1}
    assume(reached)
    # Every value has a threshold above all it reaches, but one: that has just what it reaches.
    largest: dict[str, Fraction] = {}
    for (_, name), probability in found.items():
        largest[name] = max(probability, largest.get(name, Fraction(0)))
    assume(max(largest.values()) < 1)
    tight = data.draw(st.sampled_from(sorted(largest)))
    thresholds = {name: (1 + each) / 2 for name, each in largest.items()}
    thresholds[tight] = largest[tight]
    options = {"releases": releases, "presence_known": presence_known}
    proof = examine(people, group, thresholds=thresholds, **options)
    assert proof.exact_pairs >= 1
    thresholds[tight] -= Fraction(1, 10**40)  # far below what floats can tell
    with pytest.raises(GuaranteeExceeded):
        examine(people, group, thresholds=thresholds, **options)


@unhurried
@given(cases(), st.integers(1, 6))
def test_it_counts_the_smallest_group(
    case: tuple[list[Person], list[int], list[list[PastGroup]], bool], minimum: int
) -> None:
    people, group, _, presence_known = case
    generous = dict.fromkeys(protected_names(people), Fraction(1))
    options = {"thresholds": generous, "presence_known": presence_known, "minimum_size": minimum}
    if smallest_group(people, group, presence_known) >= minimum:
        assert int(examine(people, group, **options).size.min()) >= 1
    else:
        with pytest.raises(GuaranteeExceeded, match=f"minimum_group_size \\({minimum}\\)"):
            examine(people, group, **options)


@unhurried
@given(cases())
def test_the_proof_lists_who_and_what_is_published(
    case: tuple[list[Person], list[int], list[list[PastGroup]], bool],
) -> None:
    people, group, _, _ = case
    proof = examine(people, group, thresholds=dict.fromkeys(protected_names(people), Fraction(1)))
    shown = {g for g, person in zip(group, people, strict=True) if person.present}
    members = [number for number, g in enumerate(group) if g in shown]
    assert proof.ids.to_list() == [id_of(number) for number in members]
    assert proof.present.tolist() == [people[number].present for number in members]
    assert int(proof.size.sum()) == len(members)
    assert int(proof.present_size.sum()) == int(proof.present.sum())
    together: dict[int, set[int]] = {}
    for number, new in zip(members, proof.group.tolist(), strict=True):
        together.setdefault(new, set()).add(group[number])
    assert sorted(together) == list(range(len(shown)))
    assert all(len(old) == 1 for old in together.values())


def many_values(seed: int) -> tuple[list[Person], list[int], list[list[PastGroup]]]:
    """A crowd with hundreds of values and a long past."""
    rng = np.random.default_rng(seed)
    names = [f"value {number:03}" for number in range(600)]
    people = [Person((0, 0), True, frozenset(rng.choice(names, 6).tolist())) for _ in range(120)]
    releases = []
    for _ in range(12):
        order = rng.permutation(len(people)).tolist()
        releases.append(
            [
                PastGroup(
                    frozenset(order[begin : begin + 20]),
                    int(rng.integers(20, 60)),
                    {str(name): int(rng.integers(1, 3)) for name in rng.choice(names, 200)},
                )
                for begin in range(0, len(people), 30)
            ]
        )
    return people, rng.integers(0, 4, len(people)).tolist(), releases


@pytest.mark.parametrize("seed", range(4))
def test_hundreds_of_values_are_followed_through_a_long_past(seed: int) -> None:
    people, group, releases = many_values(seed)
    found = probabilities(people, group, releases, False)
    thresholds = dict.fromkeys(protected_names(people), max(found.values()))
    proof = examine(people, group, releases=releases, thresholds=thresholds)
    assert proof.largest == max(found.values())
    assert proof.pairs == len(found)
    assert proof.exact_pairs >= 1
    held = Counter(
        (g, name) for g, person in zip(group, people, strict=True) for name in person.values
    )
    counted = zip(proof.value_group.tolist(), proof.value_name, proof.value_count, strict=True)
    assert [((g, name), count) for g, name, count in counted] == sorted(held.items())
    exceeded = dict.fromkeys(thresholds, proof.largest - Fraction(1, 10**12))
    with pytest.raises(GuaranteeExceeded):
        examine(people, group, releases=releases, thresholds=exceeded)


@pytest.mark.parametrize("releases_of_the_worst", range(5))
def test_whoever_was_seldom_there_may_have_the_worst_pair(releases_of_the_worst: int) -> None:
    # Others were in more releases, each of which said little about them.
    people = [Person((0, 0), True, frozenset("c" if i % 10 else "d")) for i in range(40)]
    group = [i // 20 for i in range(len(people))]
    worst, everybody = 25, frozenset(range(len(people)))
    releases = [
        [
            PastGroup(
                frozenset({worst}) if j < releases_of_the_worst else frozenset(), 3, {"c": 2}
            ),
            PastGroup(everybody - {worst}, 1000, {"c": 1, "d": 1}),
        ]
        for j in range(4)
    ]
    found = probabilities(people, group, releases, False)
    proof = examine(
        people,
        group,
        releases=releases,
        thresholds=dict.fromkeys(protected_names(people), max(found.values())),
    )
    assert proof.largest == max(found.values())
    assert (len(found), proof.exact_pairs >= 1) == (proof.pairs, True)


def test_a_violation_by_history_is_named_with_what_would_do() -> None:
    # 1/4 now on top of 1/4 before is 7/16, above 1/3: 9/10 x 3/4 would be enough, with n = 10.
    people = [Person((0, 0), True, frozenset("c")), *[Person((0, 0), True, frozenset("d"))] * 3]
    before = [[PastGroup(frozenset({0}), 4, {"c": 1})]]
    thresholds = {"c": Fraction(1, 3), "m": Fraction(1)}
    with pytest.raises(GuaranteeExceeded) as refused:
        examine(people, [0] * 4, releases=before, thresholds=thresholds)
    assert str(refused.value) == (
        "breach probability would be 7/16 (0.438), above 1/3 - release r1, group 0 - "
        "give this group at least 9 members (now 4), or suppress"
    )


def test_a_crowd_at_its_threshold_is_decided_to_the_last_member() -> None:
    # Groups of two with one holder each, twice: 3/4, for everybody, in more pairs than are decided
    # at once. One of them met the value once more.
    people = [Person((0, 0), True, frozenset("c" if i % 2 else "d")) for i in range(40_000)]
    group = [i // 2 for i in range(len(people))]
    before = [PastGroup(frozenset({i, i + 1}), 2, {"c": 1}) for i in range(0, len(people), 2)]
    thresholds = {"c": Fraction(3, 4), "m": Fraction(1)}
    proof = examine(people, group, releases=[before], thresholds=thresholds)
    assert (proof.largest, proof.exact_pairs) == (Fraction(3, 4), len(people))
    thresholds["c"] -= Fraction(1, 10**30)
    with pytest.raises(GuaranteeExceeded, match="3/4"):
        examine(people, group, releases=[before], thresholds=thresholds)
    thresholds["c"] = Fraction(3, 4)
    once_more = [PastGroup(frozenset({31_007}), 10**9, {"c": 1})]
    with pytest.raises(GuaranteeExceeded, match="group 15503"):
        examine(people, group, releases=[once_more, before], thresholds=thresholds)


def test_a_used_up_budget_is_named() -> None:
    people = [Person((0, 0), True, frozenset("c")), *[Person((0, 0), True, frozenset("d"))] * 30]
    before = [[PastGroup(frozenset({3}), 2, {"c": 1})]]
    thresholds = {"c": Fraction(1, 2), "m": Fraction(1)}
    with pytest.raises(GuaranteeExceeded, match="the budget of one of its members is used up"):
        examine(people, [0] * 31, releases=before, thresholds=thresholds)


def test_nothing_is_said_about_a_group_without_a_record() -> None:
    # Absent people in groups of their own, before, between and behind two groups of two.
    holder, other = Person((0, 0), True, frozenset("c")), Person((0, 0), True, frozenset("d"))
    absent = Person((0, 0), False, frozenset())
    people = [absent, holder, other, absent, absent, holder, other]
    thresholds = {"c": Fraction(1, 2), "m": Fraction(1)}
    for hidden in ((0, 2), (1, 2), (0, 3)):
        first, second = (number for number in range(4) if number not in hidden)
        group = [hidden[0], first, first, hidden[1], hidden[0], second, second]
        proof = examine(people, group, thresholds=thresholds)
        assert proof.ids.to_list() == [id_of(number) for number in (1, 2, 5, 6)]
        assert (proof.pairs, proof.largest, proof.size.tolist()) == (8, Fraction(1, 2), [2, 2])
        assert proof.value_group.tolist() == [0, 0, 1, 1]


def test_an_absent_member_is_charged() -> None:
    people = [Person((0, 0), True, frozenset("c")), *[Person((0, 0), False, frozenset())] * 3]
    before = [[PastGroup(frozenset({2}), 4, {"c": 1})]]  # of an absent one only
    thresholds = {"c": Fraction(2, 5), "m": Fraction(1)}
    with pytest.raises(GuaranteeExceeded):
        examine(people, [0] * 4, releases=before, thresholds=thresholds)


ROOM = {"a": Fraction(1), "b": Fraction(1), "c": Fraction(1), "k": Fraction(1), "m": Fraction(1)}
FOUR = [Person(cells, True, frozenset("a")) for cells in ((0, 0), (1, 1), (3, 0), (4, 2))]


def test_regions_that_fit_are_accepted() -> None:
    boxes = [((0, 0), (2, 2)), ((3, 0), (4, 2))]
    assert len(examine(FOUR, [0, 0, 1, 1], boxes=boxes, thresholds=ROOM).size) == 2


@pytest.mark.parametrize(
    "boxes",
    [
        [((0, 0), (3, 2)), ((3, 0), (4, 2))],  # share a side
        [((0, 0), (4, 2)), ((3, 0), (4, 2))],  # one inside of the other
        [((0, 0), (4, 2)), ((0, 0), (4, 2))],  # the same twice
    ],
)
def test_overlapping_regions_are_refused(
    boxes: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    with pytest.raises(ImpossibleState, match="overlap"):
        examine(FOUR, [0, 0, 1, 1], boxes=boxes, thresholds=ROOM)


def test_a_person_outside_of_its_region_is_refused() -> None:
    boxes = [((0, 0), (0, 2)), ((3, 0), (4, 2))]
    with pytest.raises(ImpossibleState, match="outside the box"):
        examine(FOUR, [0, 0, 1, 1], boxes=boxes, thresholds=ROOM)


@pytest.mark.parametrize("group", [[0, 0, 1], [0, 0, 1, -1]])
def test_an_uncovered_person_is_refused(group: list[int]) -> None:
    with pytest.raises(ImpossibleState, match="do not cover everybody"):
        examine(FOUR, group, thresholds=ROOM)


@unhurried
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3), st.integers(0, 3)),
        min_size=1,
        max_size=8,
    ),
    st.integers(1, 8),
)
def test_overlaps_are_found_as_by_trying_all_pairs(
    boxes: list[tuple[int, int, int, int]], few: int
) -> None:
    from serigraph.verification.regions import overlapping

    low = np.array([[x, y] for x, y, _, _ in boxes], dtype=np.int32)
    high = np.array([[x + w, y + h] for x, y, w, h in boxes], dtype=np.int32)

    def overlap(i: int, k: int) -> bool:
        return bool((low[i] <= high[k]).all() and (low[k] <= high[i]).all())

    pairs = {(i, k) for i in range(len(boxes)) for k in range(i) if overlap(i, k)}
    first, second = (int(each) for each in overlapping(low, high, few))
    if pairs:
        assert (max(first, second), min(first, second)) in pairs
    else:
        assert (first, second) == (-1, -1)


def test_one_overlap_among_many_regions_is_found() -> None:
    from serigraph.verification.regions import overlapping

    corner = np.stack(np.meshgrid(*[3 * np.arange(12)] * 3), axis=-1).reshape(-1, 3)
    low = np.random.default_rng(1).permutation(corner).astype(np.int32)
    high = low + 2
    assert overlapping(low, high) == (-1, -1)
    high[700, 1] += 1
    first, second = overlapping(low, high)
    assert 700 in (first, second)
    assert (low[first] <= high[second]).all()
    assert (low[second] <= high[first]).all()


def propose(
    form: str,
    group: list[int],
    low: object,
    high: object,
    people: object = None,
    groups: str = "interleaved",
) -> Proof:
    return verify(
        people or population_of(FOUR, protected_names(FOUR), ROOM),
        RememberedReleases(),
        Proposal(
            form, np.array(group, dtype=np.int64), np.array(low), np.array(high), groups=groups
        ),
        presence_known=False,
        minimum_size=1,
        where="release r1",
    )


TWO_BOXES = [[0, 0], [3, 0]], [[2, 2], [4, 2]]
NO_BOXES = np.empty((2, 0), dtype=np.int32), np.empty((2, 0), dtype=np.int32)


@pytest.mark.parametrize(
    ("form", "group", "boxes", "said"),
    [
        ("bucketised", [0, 0, 1, 1], TWO_BOXES, "groups that interleave have no boxes"),
        ("generalised", [0, 0, 1, 1], NO_BOXES, "a box over all quasi-identifiers"),
        ("generalised", [0, 0, 1, 1], ([[0], [3]], [[2], [4]]), "a box over all quasi"),
        ("generalised", [0, 0, 1, 2], TWO_BOXES, "in a group that has no box"),
        (
            "generalised",
            [0, 0, 1, 1],
            (TWO_BOXES[0], TWO_BOXES[1][:1]),
            "do not have the same shape",
        ),
    ],
)
def test_what_cannot_be_a_release_in_its_form_is_refused(
    form: str, group: list[int], boxes: tuple[object, object], said: str
) -> None:
    assert propose("generalised", [0, 0, 1, 1], *TWO_BOXES).pairs
    assert propose("bucketised", [0, 0, 1, 1], *NO_BOXES).pairs
    with pytest.raises(ImpossibleState, match=said):
        propose(form, group, *boxes)


@pytest.mark.parametrize(
    ("group", "boxes", "said"),
    [
        ([0, 0, 1, 1], NO_BOXES, "a box over all quasi-identifiers"),
        ([0, 1, 0, 1], TWO_BOXES, "lies outside the box of its group"),
        ([0, 0, 1, 1], ([[0, 0], [2, 0]], [[2, 2], [4, 2]]), "boxes of groups 0 and 1 overlap"),
    ],
)
def test_bucketised_groups_that_are_said_to_be_regions_are_regions(
    group: list[int], boxes: tuple[object, object], said: str
) -> None:
    assert propose("bucketised", [0, 0, 1, 1], *TWO_BOXES, groups="regions").pairs
    with pytest.raises(ImpossibleState, match=said):
        propose("bucketised", group, *boxes, groups="regions")


def test_people_that_are_not_in_order_are_refused() -> None:
    people = population_of(FOUR, protected_names(FOUR), ROOM)
    with pytest.raises(ImpossibleState, match="do not ascend"):
        propose("bucketised", [0, 0, 1, 1], *NO_BOXES, replace(people, ids=people.ids.reverse()))


def remember(**changed: object) -> RememberedReleases:
    """One earlier release of two people in one group, with something changed."""
    release = {
        "ids": pl.Series([id_of(0), id_of(1)]),
        "group": np.array([0, 0]),
        "size": np.array([2]),
        "value_group": np.array([0]),
        "value_name": pl.Series(["a"]),
        "value_count": np.array([1]),
    }
    return RememberedReleases((RememberedRelease(**(release | changed)),))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ids": pl.Series([1, 2])}, "another type"),
        ({"ids": pl.Series([id_of(0), id_of(0)])}, "in two groups"),
        ({"group": np.array([0])}, "do not fit"),
        ({"group": np.array([0, 1])}, "do not fit"),
        ({"group": np.array([0, -2])}, "do not fit"),
        ({"value_group": np.array([1])}, "do not fit"),
        ({"value_count": np.array([3])}, "do not fit"),
        ({"value_count": np.array([0])}, "do not fit"),
        (
            {
                "value_group": np.array([0, 0]),
                "value_name": pl.Series(["a", "a"]),
                "value_count": np.array([1, 1]),
            },
            "do not fit",
        ),
    ],
)
def test_an_earlier_release_that_cannot_be_is_refused(
    changed: dict[str, object], said: str
) -> None:
    people = pl.Series([id_of(number) for number in range(3)])
    (found,) = remember().groups_of(people, ["a"], lambda _done, _total: None)
    assert (found.group.tolist(), found.count.tolist()) == ([0, 0, -1], [1])
    with pytest.raises(ImpossibleState, match=said):
        remember(**changed).groups_of(people, ["a"], lambda _done, _total: None)
