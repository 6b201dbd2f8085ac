"""Whoever of a group had held the value, the same groups would have come out.

An adversary that knows the method runs it in every world that agrees with the counts of a release,
and keeps those in which the very same groups come out. If some of them are fewer than the counts
promise, the shape of a group has told who holds a value. Here every world is run, so that nothing
is left to chance: no member may be more probable than n_s/n.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb, prod

import numpy as np
import pytest
from numpy.typing import NDArray

from grouping.cases import Case, case, history_of, number_line
from grouping.naive import PastGroup, Person
from marks import thorough
from serigraph.grouping import Method, forming
from serigraph.grouping.districts import districts
from serigraph.grouping.problem import grouping_input
from serigraph.model import link_gaps
from serigraph.privacy import Adaptive, ConstantRatio, Geometric, largest_share

Places = list[tuple[int, ...]]
Shapes = Callable[[Case], NDArray[np.int64]]
ShapeOf = Callable[[tuple[int, ...]], NDArray[np.int64]]
WorldOf = Callable[[int, int, tuple[int, ...], bool, Method], Case]


def instance(seed: int, number: int) -> tuple[Places, int, int]:
    """Where so many people are, for how many releases, and the smallest group size."""
    draw = np.random.default_rng(seed)
    columns, distinct = int(draw.integers(1, 4)), number if seed % 2 else number // 2
    places = [
        draw.permutation(number) if seed % 2 else draw.integers(0, distinct, number)
        for _ in range(columns)
    ]
    return list(zip(*np.array(places).tolist(), strict=True)), seed % 5 + 2, (1, 1, 3)[seed % 3]


def world(
    places: Places, holders: tuple[int, ...], releases: int, method: Method, minimum_size: int
) -> Case:
    people = [Person(at, frozenset({0} if i in holders else ())) for i, at in enumerate(places)]
    line = number_line(max(max(at) for at in places) + 1)
    return case(
        people,
        [line] * len(places[0]),
        [ConstantRatio(releases)],
        [Fraction(1, 2)],
        method=method,
        minimum_size=minimum_size,
    )


def regions(problem: Case) -> NDArray[np.int64]:
    return problem.groups().group


def cells(problem: Case) -> NDArray[np.int64]:
    """The cells that people are dealt in: dealing itself sees no quasi-identifiers."""
    population = problem.population
    demand = replace(problem.demand, interleave=True)
    f = grouping_input(population, problem.history, demand, problem.weight, problem.key)
    whole = forming.whole_cell(population.size, forming.whole_box(population.domains))
    has_sets = bool((np.diff(f.held_start) > 1).any())
    simple = problem.history.releases == 0 and not has_sets
    drawn = districts(f, whole, simple)
    formed = forming._interleaved(drawn, simple, lambda _done, _total: None)
    cell = np.empty(population.size, dtype=np.int64)
    for number, (begin, end) in enumerate(formed.cells[:, :2].tolist()):
        cell[drawn.people[formed.order[begin:end]]] = number
    return cell


def worst_lift(seed: int, number: int, holders: int, method: Method, shapes: Shapes) -> Fraction:
    """How much more probable a member can become than the counts of its group or cell say."""
    return lift_over_worlds(*instance(seed, number), holders, method, shapes)


def lift_over_worlds(
    places: Places, releases: int, minimum_size: int, holders: int, method: Method, shapes: Shapes
) -> Fraction:
    """The same, of a table where people have no past."""

    def shape_of(holding: tuple[int, ...]) -> NDArray[np.int64]:
        return shapes(world(places, holding, releases, method, minimum_size))

    return largest_lift(len(places), holders, shape_of)


def largest_lift(number: int, holders: int, shape_of: ShapeOf) -> Fraction:
    """The attack: run the method in every world with so many holders among so many people; by
    somebody who knows nobody's value, and by each holder, who knows itself."""
    same: defaultdict[object, list[tuple[int, ...]]] = defaultdict(list)
    for holding in combinations(range(number), holders):
        first: dict[int, int] = {}
        shape = tuple(first.setdefault(group, len(first)) for group in shape_of(holding).tolist())
        counts = Counter(shape[person] for person in holding)
        same[shape, tuple(sorted(counts.items()))].append(holding)
    return max(lift_of(shape, dict(counts), worlds) for (shape, counts), worlds in same.items())  # type: ignore[misc]


def lift_of(
    shape: Sequence[int], counts: Mapping[int, int], worlds: Sequence[tuple[int, ...]]
) -> Fraction:
    """How much more probable a member is in these worlds than its group's counts say."""
    sizes = Counter(shape)
    if len(worlds) == prod(comb(sizes[group], count) for group, count in counts.items()):
        return Fraction(1)  # nothing is ruled out, whomever the adversary knows
    knowing: list[int | None] = [None]
    if sum(counts.values()) > 1:
        knowing += sorted({holder for world in worlds for holder in world})
    worst = Fraction(0)
    for known in knowing:
        left = [world for world in worlds if known is None or known in world]
        times = Counter(person for world in left for person in world if person != known)
        for group, count in counts.items():
            own = known is not None and shape[known] == group
            if count > own:
                most = max(times[person] for person in times if shape[person] == group)
                chance = Fraction(count - own, sizes[group] - own)
                worst = max(worst, Fraction(most, len(left)) / chance)
    return worst


def test_what_only_a_holder_learns_counts() -> None:
    """A group of four, and of its six pairs two: everybody holds the value with 2/4, but to a
    holder the other one is certain, and not one of three."""
    assert lift_of([0] * 4, {0: 2}, [(0, 1), (2, 3)]) == 3
    assert lift_of([0] * 4, {0: 2}, list(combinations(range(4), 2))) == 1


@pytest.mark.parametrize(
    ("method", "seeds"),
    [
        ("top-down", range(30)),
        ("bottom-up", range(15)),
        thorough("top-down", range(30, 120)),
        thorough("bottom-up", range(15, 60)),
    ],
)
def test_of_one_holder_nobody_is_struck_off(method: Method, seeds: range) -> None:
    assert {worst_lift(seed, 60, 1, method, regions) for seed in seeds} == {1}


@pytest.mark.parametrize(
    ("method", "seeds"),
    [
        ("top-down", range(6)),
        ("bottom-up", range(3)),
        thorough("top-down", range(6, 24)),
        thorough("bottom-up", range(3, 12)),
    ],
)
def test_of_two_holders_nobody_is_struck_off(method: Method, seeds: range) -> None:
    assert {worst_lift(seed, 30, 2, method, regions) for seed in seeds} == {1}


def test_neighbourhoods_of_many_groups_tell_nothing_of_two_holders() -> None:
    """Bottom-up, cells are cut blind first; people far away must not be merged by who holds."""
    draw = np.random.default_rng(0)
    places = [(int(at),) for at in draw.integers(0, 200, 129)] + [(900,), (950,), (999,)]
    lift = lift_over_worlds(places, 2, 1, 2, "bottom-up", regions)
    assert lift == 1


@pytest.mark.parametrize("seeds", [range(4), thorough(range(4, 12))])
@pytest.mark.parametrize("holders", [1, 2, 3])
def test_cells_that_are_dealt_tell_nothing_of_a_few_holders(holders: int, seeds: range) -> None:
    number = {1: 60, 2: 30, 3: 18}[holders]
    assert {worst_lift(seed, number, holders, "top-down", cells) for seed in seeds} == {1}


@pytest.mark.parametrize(
    ("holders", "seeds"),
    [(3, range(3)), (4, range(2)), thorough(3, range(3, 6)), thorough(4, range(2, 6))],
)
def test_of_a_few_holders_nobody_is_struck_off(holders: int, seeds: range) -> None:
    assert {worst_lift(seed, 20 - holders, holders, "top-down", regions) for seed in seeds} == {1}


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
def test_large_cells_are_cut_alike_wherever_the_holder_is(method: Method) -> None:
    """Cells of more than a few hundred people are cut by a sample of them."""
    number = 3000
    places, _, _ = instance(1, number)
    draw = np.random.default_rng(2)
    for holder in draw.choice(number, 3, replace=False).tolist():
        group = regions(world(places, (holder,), 5, method, 1))
        members = np.flatnonzero(group == group[holder])
        assert len(members) >= 8
        for other in members.tolist():
            again = regions(world(places, (other,), 5, method, 1))
            assert np.flatnonzero(again == again[other]).tolist() == members.tolist()


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
@pytest.mark.parametrize("interleave", [True, False])
def test_somebody_who_needs_a_large_group_does_not_tell_where_the_holder_is(
    interleave: bool, method: Method
) -> None:
    """One person in a corner has spent nearly everything. Groups must not grow around that person
    only because the holder is near."""
    draw = np.random.default_rng(4)
    places = [(int(x), int(y)) for x, y in draw.integers(0, 30, (120, 2))]
    past = (PastGroup(3, {0: 1}), PastGroup(5, {0: 1}), PastGroup(24, {0: 1}))
    needy = min(range(len(places)), key=lambda person: sum(places[person]))
    shared = []
    for holder in range(len(places)):
        people = [
            Person(at, frozenset({0} if i == holder else ()), past if i == needy else ())
            for i, at in enumerate(places)
        ]
        problem = case(
            people,
            [number_line(30)] * 2,
            [Geometric(Fraction(3, 2))],
            [Fraction(1, 2)],
            method=method,
            interleave=interleave,
            seed=holder,
        )
        group = problem.groups().group
        shared.append(frozenset(np.flatnonzero(group == group[holder]).tolist()))
    met = [members for members in shared if needy in members]
    assert met
    # Where the needy person sits with the holder, as many worlds do so as the group has members.
    if interleave:
        assert len(met) >= min(len(members) for members in met)
    else:
        assert {shared.count(members) for members in met} == {len(met[0])}


PASTS = [
    (PastGroup(size, {0: count}),)
    for size, count in [(4, 1), (5, 1), (6, 1), (8, 1), (16, 1), (7, 3), (2, 1)]
]


def world_with_pasts(
    seed: int, number: int, holding: tuple[int, ...], interleave: bool, method: Method
) -> Case:
    """Some of the people were in groups with the value before; a few have next to nothing left."""
    draw = np.random.default_rng(seed)
    places, _, minimum_size = instance(seed, number)
    spent = draw.choice([0.05, 0.3, 1.0])
    pasts = draw.integers(0, len(PASTS) if seed % 3 else len(PASTS) - 2, number)
    people = [
        Person(
            at,
            frozenset({0} if i in holding else ()),
            PASTS[pasts[i]] if has_past else (),
        )
        for i, (at, has_past) in enumerate(zip(places, draw.random(number) < spent, strict=True))
    ]
    strategies = [Geometric(Fraction(2)), Geometric(Fraction(3, 2)), ConstantRatio(2)]
    return case(
        people,
        [number_line(number)] * len(places[0]),
        [strategies[seed % 3]],
        [Fraction(1, 2)],
        method=method,
        minimum_size=minimum_size,
        interleave=interleave,
    )


def world_of_adaptive(
    seed: int, number: int, holding: tuple[int, ...], interleave: bool, method: Method
) -> Case:
    """The same after two or three releases, from which the default strategy learns."""
    places, _, minimum_size = instance(seed, number)
    pasts, strategy = learned(seed, number, len(holding))
    return case(
        [
            Person(at, frozenset({0} if i in holding else ()), pasts[i])
            for i, at in enumerate(places)
        ],
        [number_line(number)] * len(places[0]),
        [strategy],
        [Fraction(1, 2)],
        method=method,
        minimum_size=minimum_size,
        interleave=interleave,
    )


@cache
def learned(seed: int, number: int, holders: int) -> tuple[list[tuple[PastGroup, ...]], Adaptive]:
    """Pasts that differ in links and in what is left, and the strategy by the gaps that their
    ledger has and by the number of holders now: that is all it asks for."""
    draw = np.random.default_rng(seed)
    rate = draw.choice([0.1, 0.4, 0.9])
    elsewhere = PastGroup(4, {})
    groups = [PastGroup(size, {0: 1}) for size in (4, 5, 6, 12, 30)]
    pasts = [
        tuple(
            groups[draw.integers(release, len(groups))] if draw.random() < rate else elsewhere
            for release in range(2 + seed % 2)
        )
        for _ in range(number)
    ]
    gaps = link_gaps(history_of([Person((), frozenset(), past) for past in pasts]), 1)
    return pasts, Adaptive((4, 10, None)[seed % 3], gaps, {"": largest_share(holders, number)})


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
@pytest.mark.parametrize("interleave", [True, False])
@pytest.mark.parametrize(
    ("world_of", "holders", "number", "instances"),
    [
        (world_with_pasts, 1, 40, 10),
        (world_with_pasts, 2, 18, 3),
        (world_of_adaptive, 1, 40, 4),
        (world_of_adaptive, 2, 18, 2),
        thorough(world_with_pasts, 1, 40, 30),
        thorough(world_with_pasts, 2, 18, 9),
        thorough(world_of_adaptive, 1, 40, 12),
        thorough(world_of_adaptive, 2, 18, 6),
    ],
)
def test_pasts_tell_nothing_of_a_few_holders(
    world_of: WorldOf,
    holders: int,
    number: int,
    instances: int,
    interleave: bool,
    method: Method,
) -> None:
    """Also where budgets are nearly used up; where they are, nothing is published in any world."""
    lifts: Counter[Fraction | str] = Counter()
    for seed in range(instances):

        def shape_of(holding: tuple[int, ...], seed: int = seed) -> NDArray[np.int64]:
            problem = world_of(seed, number, holding, interleave, method)
            return cells(problem) if interleave else regions(problem)

        refused = {
            bool(world_of(seed, number, holding, interleave, method).unbearable())
            for holding in combinations(range(number), holders)
        }
        assert len(refused) == 1
        if True in refused:
            lifts["refused"] += 1
            continue
        lifts[largest_lift(number, holders, shape_of)] += 1
    assert lifts[Fraction(1)] >= instances / 3
    assert set(lifts) == {Fraction(1), "refused"}


@pytest.mark.parametrize("interleave", [True, False])
def test_borders_of_districts_do_not_depend_on_where_the_holder_is(interleave: bool) -> None:
    """Many people are cut into districts first; somebody who needs more people than a district has
    must not be merged with others only because the holder is near."""
    draw = np.random.default_rng(3)
    places = [(int(x), int(y)) for x, y in draw.integers(0, 1000, (20_000, 2))]
    needy = min(range(len(places)), key=lambda person: sum(places[person]))
    past = (PastGroup(20_001, {0: 9_999}), PastGroup(14_000, {0: 1}))  # leaves 1 in 14,001
    near = sorted(range(len(places)), key=lambda person: sum(places[person]))[:3]
    shapes = []
    for holder in [*near, *draw.choice(len(places), 3, replace=False).tolist()]:
        people = [
            Person(at, frozenset({0} if i == holder else ()), past if i == needy else ())
            for i, at in enumerate(places)
        ]
        problem = case(
            people,
            [number_line(1000)] * 2,
            [ConstantRatio(1)],
            [Fraction(1, 2)],
            interleave=interleave,
        )
        assert problem.unbearable() == set()
        shape = (cells if interleave else regions)(problem)
        shapes.append(len(np.unique(shape)) if interleave else np.bincount(shape).max())
    assert len(set(shapes)) == 1


@pytest.mark.parametrize("interleave", [True, False])
def test_a_target_above_a_district_does_not_tell_in_which_one_the_holder_is(
    interleave: bool,
) -> None:
    draw = np.random.default_rng(3)
    places = [(int(x), int(y)) for x, y in draw.integers(0, 1000, (20_000, 2))]
    sizes = []
    for holder in draw.choice(len(places), 6, replace=False).tolist():
        people = [Person(at, frozenset({0} if i == holder else ())) for i, at in enumerate(places)]
        problem = case(
            people,
            [number_line(1000)] * 2,
            [ConstantRatio(50)],  # asks for 4,975 people
            [Fraction(1, 100)],
            interleave=interleave,
        )
        shape = (cells if interleave else regions)(problem)
        members = np.flatnonzero(shape == shape[holder])
        other = int(draw.choice(members))
        people[holder], people[other] = (
            Person(places[holder], frozenset()),
            Person(places[other], frozenset({0})),
        )
        again = (cells if interleave else regions)(
            case(
                people,
                [number_line(1000)] * 2,
                [ConstantRatio(50)],
                [Fraction(1, 100)],
                interleave=interleave,
            )
        )
        assert np.flatnonzero(again == again[other]).tolist() == members.tolist()
        sizes.append(len(members))
    assert min(sizes) >= 4975


@pytest.mark.parametrize("seed", range(4))
def test_bottom_up_tells_nothing_where_targets_differ_much(seed: int) -> None:
    """The holder's value has a target of 200, and others one of 4."""
    draw = np.random.default_rng(seed)
    places = [tuple(map(int, row)) for row in draw.integers(0, 600, (600, 1 + seed % 2)).tolist()]

    def shape_of(holding: tuple[int, ...]) -> NDArray[np.int64]:
        people = [Person(at, frozenset({1} if i in holding else ())) for i, at in enumerate(places)]
        return regions(
            case(
                people,
                [number_line(600)] * len(places[0]),
                [Geometric(Fraction(2))] * 2,
                [Fraction(1, 2), Fraction(1, 100)],
                method="bottom-up",
            )
        )

    assert largest_lift(600, 1, shape_of) == 1


def test_sets_that_exclude_each_other_do_not_tell_where_they_are() -> None:
    """Three people with two values each, of three values, need a group each: a cell that has only
    two must not be merged because all three are in it. Had others of their cells held these sets,
    the same cells would have come out."""
    draw = np.random.default_rng(1)
    near, far = draw.integers(0, 8, 8), draw.integers(90, 100, 60)
    places = [(int(at),) for at in np.concatenate([near, far])]
    sets = [frozenset({0, 1}), frozenset({1, 2}), frozenset({0, 2})]

    def shape_of(holders: list[int]) -> NDArray[np.int64]:
        held = dict(zip(holders, sets, strict=True))
        problem = case(
            [Person(at, held.get(i, frozenset())) for i, at in enumerate(places)],
            [number_line(100)],
            [Geometric(Fraction(2))] * 3,
            [Fraction(1, 2)] * 3,
            interleave=True,
        )
        return cells(problem)

    for among_near in range(4):
        near_holders = draw.permutation(8)[:among_near].tolist()
        far_holders = (8 + draw.permutation(60)[: 3 - among_near]).tolist()
        holders = draw.permutation([*near_holders, *far_holders]).tolist()
        shape = shape_of(holders)
        for _ in range(12):
            moved: list[int] = []
            for holder in holders:
                members = np.setdiff1d(np.flatnonzero(shape == shape[holder]), moved)
                moved.append(int(draw.choice(members)))
            again = shape_of(moved)
            assert len({*zip(shape.tolist(), again.tolist(), strict=True)}) == shape.max() + 1
            assert again.max() == shape.max()


def test_large_cells_look_at_no_counts_of_a_few_holders() -> None:
    """Of two values with targets of 100 and 60, one and three people hold one. Had others of their
    cells held them, the same cells would have come out."""
    draw = np.random.default_rng(0)
    near, far = draw.integers(0, 10, 205), draw.integers(900, 1000, 1600)
    places = [(int(at),) for at in np.concatenate([near, far])]
    past = (PastGroup(10**6, {0: 1}),)

    def shape_of(first: int, others: list[int]) -> NDArray[np.int64]:
        held = {first: frozenset({0}), **dict.fromkeys(others, frozenset({1}))}
        people = [
            Person(at, held.get(i, frozenset()), past if i == len(places) - 1 else ())
            for i, at in enumerate(places)
        ]
        problem = case(
            people,
            [number_line(1000)],
            [Geometric(Fraction(2))] * 2,
            [Fraction(1, 50), Fraction(1, 30)],
            interleave=True,
        )
        return cells(problem)

    for among_near in range(5):
        near_holders = draw.permutation(205)[:among_near].tolist()
        far_holders = (205 + draw.permutation(1599)[: 4 - among_near]).tolist()
        first, *others = draw.permutation([*near_holders, *far_holders]).tolist()
        shape = shape_of(first, others)
        for _ in range(6):
            moved: list[int] = []
            for holder in (first, *others):
                members = np.setdiff1d(np.flatnonzero(shape == shape[holder]), moved)
                moved.append(int(draw.choice(members)))
            again = shape_of(moved[0], moved[1:])
            assert len({*zip(shape.tolist(), again.tolist(), strict=True)}) == shape.max() + 1


def test_which_of_two_values_is_in_the_larger_group_does_not_tell_who_holds_it() -> None:
    """Nine people who are alike are dealt into groups of five and four, one holder in each."""
    in_larger: Counter[int] = Counter()
    draw = np.random.default_rng(1)
    for a, b in combinations(range(9), 2):
        for first, second in ((a, b), (b, a)):
            for _ in range(8):
                held = {first: frozenset({0}), second: frozenset({1})}
                problem = case(
                    [Person((0,), held.get(i, frozenset())) for i in range(9)],
                    [number_line(1)],
                    [Geometric(Fraction(2))] * 2,
                    [Fraction(1, 2)] * 2,
                    interleave=True,
                    seed=int(draw.integers(1 << 40)),
                )
                group = problem.groups().group
                if group[first] != group[second] and np.bincount(group)[group[first]] == 5:
                    in_larger[first] += 1
    mean = sum(in_larger.values()) / 9
    assert mean > 20
    assert all(abs(in_larger[person] - mean) < 5 * mean**0.5 for person in range(9))


def test_strata_have_room_for_a_few_holders_wherever_they_are() -> None:
    """Of a hundred people ten need groups of twenty, and all holders may be among them."""
    past = (PastGroup(3, {0: 1}), PastGroup(6, {0: 1}))
    sizes = set()
    for needy_holders in range(4):
        holders = {*range(needy_holders), *range(50, 53 - needy_holders)}
        people = [
            Person((0,), frozenset({0} if i in holders else ()), past if i < 10 else ())
            for i in range(400)
        ]
        problem = case(
            people,
            [number_line(1)],
            [Geometric(Fraction(2))],
            [Fraction(1, 2)],
            interleave=True,
        )
        sizes.add(tuple(sorted(np.bincount(problem.groups().group).tolist())))
    assert len(sizes) == 1


def test_a_choice_between_two_results_would_be_found_out() -> None:
    """The attack succeeds on what was published before: the narrower of two ways of cutting."""

    def narrower(problem: Case) -> NDArray[np.int64]:
        """Along the first column or the last, whichever makes the holder's group narrower."""
        codes = problem.population.codes
        holder = int(np.flatnonzero(np.diff(problem.population.held_start))[0])
        found = []
        for column in (0, -1):
            order = np.argsort(codes[column], kind="stable")
            group = np.empty(len(order), dtype=np.int64)
            group[order] = np.arange(len(order)) // 10
            mine = codes[:, group == group[holder]]
            found.append((int((mine.max(axis=1) - mine.min(axis=1)).sum()), column, group))
        return min(found)[2]

    assert max(worst_lift(seed, 60, 1, "top-down", narrower) for seed in (1, 3, 5)) > 2
