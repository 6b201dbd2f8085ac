"""Whoever of a group had held the value, the same groups would have come out.

An adversary that knows the method runs it in every world that agrees with the counts of a release,
and keeps those in which the very same groups come out. If some of them are fewer than the counts
promise, the shape of a group has told who holds a value. Here every world is run, so that nothing
is left to chance: no member may be more probable than n_s/n.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from grouping.cases import Case, case, number_line
from grouping.naive import PastGroup, Person
from serigraph.grouping import Method, forming
from serigraph.grouping.districts import districts
from serigraph.grouping.problem import facts
from serigraph.privacy import ConstantRatio, Geometric

Places = list[tuple[int, ...]]
Shapes = Callable[[Case], NDArray[np.int64]]
ShapeOf = Callable[[tuple[int, ...]], NDArray[np.int64]]


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
    demand = forming.Demand(problem.demand.rules, problem.demand.minimum_size, interleave=True)
    f = facts(population, problem.history, demand, problem.weight, problem.key)
    whole = forming.whole_cell(population.size, forming.whole_box(population.domains))
    simple = problem.history.releases == 0
    formed = forming._interleaved(districts(f, whole, simple), simple, lambda _done, _total: None)
    cell = np.empty(population.size, dtype=np.int64)
    for number, (begin, end) in enumerate(formed.cells[:, :2].tolist()):
        cell[formed.order[begin:end]] = number
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
    """The attack: run the method in every world with so many holders among so many people."""
    same: defaultdict[object, list[tuple[int, ...]]] = defaultdict(list)
    for holding in combinations(range(number), holders):
        first: dict[int, int] = {}
        shape = tuple(first.setdefault(group, len(first)) for group in shape_of(holding).tolist())
        counts = Counter(shape[person] for person in holding)
        same[shape, tuple(sorted(counts.items()))].append(holding)
    worst = Fraction(0)
    for (shape, counts), worlds in same.items():  # type: ignore[misc]
        sizes = Counter(shape)
        times = Counter(person for holding in worlds for person in holding)
        for group, count in counts:
            most = max(times[person] for person in range(number) if shape[person] == group)
            worst = max(worst, Fraction(most, len(worlds)) / Fraction(count, sizes[group]))
    return worst


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
def test_of_one_holder_nobody_is_struck_off(method: Method) -> None:
    instances = 120 if method == "top-down" else 60
    assert {worst_lift(seed, 60, 1, method, regions) for seed in range(instances)} == {1}


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
def test_of_two_holders_nobody_is_struck_off(method: Method) -> None:
    instances = 24 if method == "top-down" else 12
    assert {worst_lift(seed, 30, 2, method, regions) for seed in range(instances)} == {1}


def test_neighbourhoods_of_many_groups_tell_nothing_of_two_holders() -> None:
    """Bottom-up, cells are cut blind first; people far away must not be merged by who holds."""
    draw = np.random.default_rng(0)
    places = [(int(at),) for at in draw.integers(0, 200, 129)] + [(900,), (950,), (999,)]
    lift = lift_over_worlds(places, 2, 1, 2, "bottom-up", regions)
    assert lift == 1


@pytest.mark.parametrize("holders", [1, 2, 3])
def test_cells_that_are_dealt_tell_nothing_of_a_few_holders(holders: int) -> None:
    number = {1: 60, 2: 30, 3: 18}[holders]
    found = {worst_lift(seed, number, holders, "top-down", cells) for seed in range(12)}
    assert found == {Fraction(1)}


@pytest.mark.parametrize("holders", [3, 4])
def test_of_a_few_holders_nobody_is_struck_off(holders: int) -> None:
    found = {worst_lift(seed, 20 - holders, holders, "top-down", regions) for seed in range(6)}
    assert found == {Fraction(1)}


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


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
@pytest.mark.parametrize("interleave", [True, False])
@pytest.mark.parametrize(("holders", "number", "instances"), [(1, 40, 30), (2, 18, 9)])
def test_pasts_tell_nothing_of_a_few_holders(
    holders: int, number: int, instances: int, interleave: bool, method: Method
) -> None:
    """Also where budgets are nearly used up; where they are, nothing is published in any world."""
    lifts: Counter[Fraction | str] = Counter()
    for seed in range(instances):

        def shape_of(holding: tuple[int, ...], seed: int = seed) -> NDArray[np.int64]:
            problem = world_with_pasts(seed, number, holding, interleave, method)
            return cells(problem) if interleave else regions(problem)

        refused = {
            bool(world_with_pasts(seed, number, holding, interleave, method).unbearable())
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
