"""With blind cuts, where groups end tells nothing of who holds a value, however many people do.

The attack is that of `test_minimality`: run the method in every world that agrees with the counts
of a release, and strike off those in which other groups come out. It succeeds where cells with many
holders are cut by the counts of their sides, and gains nothing where cuts are blind.

Where there are too many worlds to run them all, records change places at random within groups. That
they may do so in any release is the same claim: all worlds that agree with its counts are such
exchanges.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import comb, prod

import numpy as np
import pytest
from numpy.typing import NDArray

from grouping.cases import Case, case, number_line
from grouping.naive import PastGroup, Person
from grouping.test_minimality import PASTS, Shapes, cells, largest_lift, regions
from serigraph.grouping import Method, districts
from serigraph.privacy import ConstantRatio, Geometric

HALF = Fraction(1, 2)
THREE_QUARTERS = Fraction(3, 4)
CUTS = [False, True]
ShapeOfCounts = Callable[[tuple[int, ...]], tuple[int, ...]]


def holding(problem: Case, records: Sequence[frozenset[int]]) -> Case:
    """The same people with other records."""
    start = np.cumsum([0, *map(len, records)]).astype(np.int64)
    held = np.array([value for record in records for value in sorted(record)], dtype=np.int32)
    population = replace(problem.population, held_start=start, held=held)
    return replace(problem, population=population)


def numbered(shape: NDArray[np.int64]) -> tuple[int, ...]:
    """Which people are together, whatever their groups are called."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(group, len(first)) for group in shape.tolist())


def small_table(seed: int, people: int, interleave: bool, has_past: bool, blind: bool) -> Case:
    """Nobody holds anything yet; a third of the people have a past."""
    draw = np.random.default_rng(seed)
    columns = int(draw.integers(1, 4))
    places = draw.integers(0, people, (people, columns)).tolist()
    pasts = [
        (PastGroup(40, {0: 1}),),
        (PastGroup(60, {0: 1}),),
        (PastGroup(30, {0: 1}),),
        (),
        (),
        (),
    ]
    return case(
        [
            Person(tuple(at), frozenset(), pasts[draw.integers(len(pasts))] if has_past else ())
            for at in places
        ],
        [number_line(people)] * columns,
        [Geometric(Fraction(101, 100)) if has_past else ConstantRatio(1)],
        [THREE_QUARTERS],
        interleave=interleave,
        minimum_size=4 if interleave else 1,
        blind=blind,
    )


@pytest.mark.parametrize("blind", CUTS)
@pytest.mark.parametrize(("interleave", "has_past"), [(False, False), (False, True), (True, False)])
def test_of_five_holders_nobody_is_struck_off(
    interleave: bool, has_past: bool, blind: bool
) -> None:
    """In every world. Interleaved groups are dealt in cells, which are compared; dealing itself
    sees no quasi-identifiers."""
    people = 16 if interleave else 14
    for seed in range(2 if blind and not interleave else 1):
        problem = small_table(seed, people, interleave, has_past, blind)

        def shape_of(holders: tuple[int, ...], problem: Case = problem) -> NDArray[np.int64]:
            records = [frozenset({0} if i in holders else ()) for i in range(people)]
            return (cells if interleave else regions)(holding(problem, records))

        assert len(set(shape_of((0, 1, 2, 3, 4)).tolist())) > 1
        assert (largest_lift(people, 5, shape_of) == 1) == blind


def shared_places(seed: int, has_past: bool, method: Method, blind: bool) -> Case:
    """Five places with ten people each, who are alike; nobody holds anything yet."""
    draw = np.random.default_rng(seed)
    columns = int(draw.integers(1, 3))
    at = draw.permutation(5), draw.permutation(5)
    pasts = [(*PASTS[:5], ())[draw.integers(6)] if has_past else () for _ in range(5)]
    return case(
        [
            Person(
                tuple(int(column[i // 10]) for column in at[:columns]), frozenset(), pasts[i // 10]
            )
            for i in range(50)
        ],
        [number_line(5)] * columns,
        [Geometric(Fraction(11, 10)) if has_past else ConstantRatio(1)],
        [THREE_QUARTERS if has_past else Fraction(3, 5)],
        method=method,
        blind=blind,
    )


def groups_at_places(problem: Case, split: tuple[int, ...]) -> tuple[int, ...]:
    """The group of each of the five places if so many of its people hold the value."""
    records = [frozenset({0} if i % 10 < split[i // 10] else ()) for i in range(50)]
    return numbered(regions(holding(problem, records))[::10])


def splits(number: int, places: int) -> Iterator[tuple[int, ...]]:
    """All ways to have so many holders at so many places, of up to ten people each."""
    if places == 1:
        if number <= 10:
            yield (number,)
        return
    for here in range(min(number, 10) + 1):
        for others in splits(number - here, places - 1):
            yield (here, *others)


def lift_over_splits(number: int, group_of: ShapeOfCounts) -> Fraction:
    """The attack in every world: people at one place are alike, so that worlds with the same number
    of holders at each place have the same groups, and count as many times as there are."""
    same: defaultdict[object, list[tuple[int, ...]]] = defaultdict(list)
    for split in splits(number, 5):
        groups = group_of(split)
        counts = Counter(dict.fromkeys(groups, 0))
        for group, here in zip(groups, split, strict=True):
            counts[group] += here
        same[groups, tuple(sorted(counts.items()))].append(split)
    worst = Fraction(1)
    for (groups, counts), worlds in same.items():  # type: ignore[misc]
        times = [prod(comb(10, here) for here in split) for split in worlds]
        sizes = {group: 10 * groups.count(group) for group in groups}
        if sum(times) == prod(comb(sizes[group], count) for group, count in counts):
            continue  # nothing is ruled out, whomever the adversary knows
        for place, group in enumerate(groups):
            of_group = dict(counts)[group]
            met = sum(time * split[place] for time, split in zip(times, worlds, strict=True))
            if of_group:
                chance = Fraction(of_group, sizes[group])
                worst = max(worst, Fraction(met, 10 * sum(times)) / chance)
        worst = max(worst, Fraction(1) + Fraction(1, 10**9))  # to somebody who knows a holder
    return worst


@pytest.mark.parametrize("blind", CUTS)
@pytest.mark.parametrize("has_past", [False, True])
@pytest.mark.parametrize(
    ("number", "method"), [(7, "top-down"), (7, "bottom-up"), (12, "top-down")]
)
def test_of_up_to_twelve_holders_nobody_is_struck_off(
    number: int, method: Method, has_past: bool, blind: bool
) -> None:
    """In every world of a table in which many people are alike."""
    for seed in range(2 if blind else 1):
        problem = shared_places(seed, has_past, method, blind)
        assert len(set(groups_at_places(problem, next(splits(number, 5))))) > 1
        lift = lift_over_splits(number, partial(groups_at_places, problem))
        assert (lift == 1) == blind


def random_table(
    seed: int, interleave: bool, has_past: bool, method: Method, blind: bool
) -> tuple[Case, list[frozenset[int]]]:
    """People who hold one of up to three values, or sets of them, and what each holds."""
    draw = np.random.default_rng(seed)
    people, columns = int(draw.integers(40, 150)), int(draw.integers(1, 4))
    values, share = int(draw.integers(1, 4)), draw.uniform(0.06, 0.2)
    chance, has_sets = draw.random((people, values)), seed % 2 == 0
    is_held = chance < share / values
    if not has_sets:
        is_held &= np.cumsum(is_held, axis=1) == 1
    pasts = [
        (PastGroup(size, {int(draw.integers(values)): count}),)
        for size, count in [(5, 1), (8, 1), (16, 1), (40, 1), (30, 2)]
    ]
    spent = draw.choice([0.05, 0.3, 1.0]) if has_past else 0.0
    problem = case(
        [
            Person(
                tuple(at),
                frozenset(),
                pasts[draw.integers(len(pasts))] if draw.random() < spent else (),
            )
            for at in draw.integers(0, people, (people, columns)).tolist()
        ],
        [number_line(people)] * columns,
        [(ConstantRatio(2), Geometric(Fraction(3, 2)))[seed % 2]] * values,
        [HALF] * values,
        method=method,
        interleave=interleave,
        minimum_size=(1, 1, 3, 7)[seed % 4],
        known_members=(0, 0, 1)[seed % 3],
        blind=blind,
    )
    return problem, [frozenset(np.flatnonzero(row).tolist()) for row in is_held]


def dealt_together(problem: Case) -> NDArray[np.int64]:
    """The people whom lots alone keep apart: cells, or strata of them. They share a group under one
    draw or another."""
    pool = np.arange(problem.population.size)
    for seed in range(10):
        keys = np.random.default_rng(seed).integers(0, 2**64, len(pool), dtype=np.uint64)
        group = replace(problem, key=keys).groups().group
        for members in (np.flatnonzero(group == each) for each in np.unique(group)):
            pool[np.isin(pool, pool[members])] = pool[members].min()
    return pool


def changes_with_an_exchange(
    problem: Case, records: list[frozenset[int]], shapes: Shapes | None = None
) -> bool | None:
    """Whether other groups come out after records have changed places within groups; None if there
    are no groups, or only one. Interleaved, within the people who are dealt together."""
    if holding(problem, records).unbearable():
        return None
    draw = np.random.default_rng(1)
    shapes = shapes or (dealt_together if problem.demand.interleave else regions)
    before = shapes(holding(problem, records))
    if len(set(before.tolist())) == 1:
        return None
    for _ in range(2):
        exchanged = list(records)
        for members in (np.flatnonzero(before == each) for each in np.unique(before)):
            for one, other in zip(members, draw.permutation(members), strict=True):
                exchanged[one] = records[other]
        if numbered(shapes(holding(problem, exchanged))) != numbered(before):
            return True
    return False


@pytest.mark.parametrize("district", [4096, 12])
@pytest.mark.parametrize("has_past", [False, True])
@pytest.mark.parametrize(
    ("interleave", "method"), [(False, "top-down"), (False, "bottom-up"), (True, "top-down")]
)
def test_records_may_change_places_within_any_group(
    monkeypatch: pytest.MonkeyPatch,
    interleave: bool,
    method: Method,
    has_past: bool,
    district: int,
) -> None:
    """Of one value and of several, of sets, with known members and a minimum size, and where
    people are cut into districts first."""
    monkeypatch.setattr(districts, "DISTRICT", district)
    monkeypatch.setattr(districts, "SAMPLED", min(district // 3, 64))
    found = {
        blind: Counter(
            changes_with_an_exchange(*random_table(seed, interleave, has_past, method, blind))
            for seed in range(24)
        )
        for blind in CUTS
    }
    assert found[False][True]
    assert found[True][False]
    assert not found[True][True]


@pytest.mark.parametrize("interleave", [True, False])
def test_records_may_change_places_in_cells_that_are_cut_by_a_sample(interleave: bool) -> None:
    """Cells of more than a few hundred people, with many holders."""
    found = {}
    for blind in CUTS:
        changes = []
        for seed in range(3):
            draw = np.random.default_rng(seed)
            people = [
                Person(tuple(at), frozenset()) for at in draw.integers(0, 900, (4000, 2)).tolist()
            ]
            problem = case(
                people,
                [number_line(900)] * 2,
                [ConstantRatio(5)] * 3,
                [HALF] * 3,
                interleave=interleave,
                blind=blind,
            )
            held = np.where(draw.random(4000) < 0.15, draw.integers(0, 3, 4000), -1)
            records = [frozenset({each} if each >= 0 else ()) for each in held.tolist()]
            shapes = cells if interleave else regions
            changes.append(changes_with_an_exchange(problem, records, shapes))
        found[blind] = changes
    assert found == {False: [True] * 3, True: [False] * 3}


def test_holders_among_the_needy_do_not_change_how_people_are_dealt() -> None:
    """Twelve of 1,000 people at one place hold the value, and twenty need large groups. Chance
    hardly ever makes twelve of these twenty the holders. Where it does, the needy are dealt in a
    part of their own as always, and nobody else's group is larger for it."""
    past = (PastGroup(20, {0: 9}),)
    sizes: dict[bool, set[tuple[int, ...]]] = {blind: set() for blind in CUTS}
    for blind in CUTS:
        problem = case(
            [Person((0,), frozenset(), past if i % 50 == 0 else ()) for i in range(1000)],
            [number_line(1)],
            [Geometric(Fraction(3, 2))],
            [HALF],
            interleave=True,
            blind=blind,
        )
        for holders in (range(0, 600, 50), range(1, 601, 50), range(25, 925, 75)):
            records = [frozenset({0} if i in holders else ()) for i in range(1000)]
            dealt = holding(problem, records).groups().group
            sizes[blind].add(tuple(sorted(np.bincount(dealt).tolist())))
    assert len(sizes[True]) == 1 < len(sizes[False])


PAIRS = [frozenset({0, 1}), frozenset({1, 2}), frozenset({0, 2})] * 2  # no two fit into a group


@pytest.mark.parametrize("has_past", [False, True])
def test_sets_that_exclude_each_other_do_not_change_who_is_dealt_together(has_past: bool) -> None:
    """All of them are in one corner, or with people who need large groups, and do not fit into the
    groups there would be room for. These then become fewer, and stay with the same people."""
    people = 200 if has_past else 32
    past = (PastGroup(20, {0: 9}),)
    problem = case(
        [
            Person((0 if has_past else i,), frozenset(), past if has_past and i < 20 else ())
            for i in range(people)
        ],
        [number_line(people)],
        [Geometric(Fraction(3, 2)) if has_past else ConstantRatio(1)] * 3,
        [HALF] * 3,
        interleave=True,
        blind=True,
    )
    records = [*PAIRS, *[frozenset[int]()] * (people - len(PAIRS))]
    assert changes_with_an_exchange(problem, records) is False


def test_neighbourhoods_that_are_cut_blind_have_room_for_all_holders() -> None:
    """Bottom-up, most holders are in one neighbourhood, which must not grow because of that."""
    found = {}
    for blind in CUTS:
        problem = case(
            [Person((i,), frozenset()) for i in range(600)],
            [number_line(600)],
            [ConstantRatio(1)],
            [HALF],
            method="bottom-up",
            blind=blind,
        )
        records = [frozenset({0} if i < 120 and i % 4 else ()) for i in range(600)]
        found[blind] = changes_with_an_exchange(problem, records)
    assert found == {False: True, True: False}


def test_districts_have_room_for_all_holders_in_groups_of_the_smallest_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight groups of five hide sixteen of the twenty holders who are all in the first district."""
    monkeypatch.setattr(districts, "DISTRICT", 40)
    monkeypatch.setattr(districts, "SAMPLED", 40)
    problem = case(
        [Person((i,), frozenset()) for i in range(160)],
        [number_line(160)],
        [ConstantRatio(1)],
        [HALF],
        interleave=True,
        minimum_size=5,
        blind=True,
    )
    records = [frozenset({0} if i < 40 and i % 2 else ()) for i in range(160)]
    assert changes_with_an_exchange(problem, records) is False
