"""What a past asks of groups, against a reading of it person by person, in fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise
from math import inf

import numba
import numpy as np
import pytest
from hypothesis import given

from grouping.cases import Case, case, cases, number_line
from grouping.naive import PastGroup, Person, links_and_survival
from marks import thorough
from model.settings import unhurried
from serigraph.grouping.counts import clear, tally
from serigraph.grouping.layout import Cell, GroupingInput
from serigraph.grouping.problem import grouping_input, narrowed, scratch
from serigraph.grouping.strata import sort_by_needs
from serigraph.privacy import ConstantRatio, Geometric


@numba.njit
def sorted_by_needs(f, s, people):  # type: ignore[no-untyped-def]
    everybody = Cell(0, len(people))
    _, touched = tally(f, s, people, everybody)
    clear(s, touched)
    return touched, sort_by_needs(f, s, people, everybody, touched)


def facts_of(problem: Case) -> GroupingInput:
    return narrowed(
        grouping_input(
            problem.population, problem.history, problem.demand, problem.weight, problem.key
        )
    )


@unhurried
@given(cases())
def test_people_are_sorted_by_what_the_strategy_asks_for_them(problem: Case) -> None:
    f = facts_of(problem)
    s = scratch(f)
    if problem.history.releases == 0:
        return
    people = np.arange(len(problem.people), dtype=np.uint32)
    touched, targets = sorted_by_needs(f, s, people)
    values = [int(value) for value in s.touched[:touched]]
    asked = [
        max(
            (
                problem.strategies[value].ratio(
                    problem.thresholds[value], *links_and_survival(person, value)
                )
                for value in values
            ),
            default=0.0,
        )
        for person in problem.people
    ]
    assert sorted(people.tolist()) == list(range(len(asked)))
    # Targets that hardly differ may be in any order: each is at most what is said of its place.
    found = [asked[person] for person in people.tolist()]
    assert targets.tolist() == pytest.approx(list(accumulate(found, max)))
    assert all(a <= b + 1 / 32 for a, b in pairwise(found) if b != inf)


@pytest.mark.parametrize(
    ("interleave", "holders"), [(True, 1), (False, 5), thorough(True, 5), thorough(False, 1)]
)
def test_who_has_spent_most_is_not_the_holder_more_often_than_others(
    interleave: bool, holders: int
) -> None:
    """The size of a group must not depend on what its holders, of all members, still bear."""
    draw = np.random.default_rng(5)
    seen, expected, spread = 0, 0.0, 0.0
    for _ in range(2500 // holders):
        past = [PastGroup(int(size), {0: 1}) for size in (3, 4, 6, 12)]
        people = [
            Person(
                (int(draw.integers(0, 40)), int(draw.integers(0, 40))),
                frozenset(),
                (past[int(draw.integers(0, 4))],) if draw.random() < 0.3 else (),
            )
            for _ in range(48)
        ]
        holding = set(draw.choice(len(people), holders, replace=False).tolist())
        for holder in holding:
            people[holder] = replace(people[holder], held=frozenset({0}))
        problem = case(
            people,
            [number_line(40)] * 2,
            [Geometric(Fraction(2))],
            [Fraction(1, 2)],
            interleave=interleave,
            seed=int(draw.integers(0, 1 << 30)),
        )
        if problem.unbearable():
            continue  # nothing is published
        group = problem.groups().group
        for each in {group[holder] for holder in holding}:
            members = np.flatnonzero(group == each).tolist()
            spent = {i: links_and_survival(people[i], 0)[1] for i in members}
            least = {i for i in members if spent[i] == min(spent.values())}
            chance = len(holding & set(members)) / len(members)
            if len(least) < len(members):
                seen, expected = seen + len(holding & least), expected + chance * len(least)
                spread += chance * (1 - chance) * len(least)
    assert expected > 200
    assert abs(seen - expected) < 4 * spread**0.5


@unhurried
@given(cases())
def test_what_all_are_said_to_bear_leaves_everybody_enough(problem: Case) -> None:
    if not problem.demand.history_within_budget(problem.population, problem.history):
        return
    for base, value in zip(
        problem.demand.base_targets(problem.population), range(len(problem.thresholds)), strict=True
    ):
        for person in problem.people:
            _, survival = links_and_survival(person, value)
            assert survival * (1 - 1 / Fraction(base)) >= 1 - problem.thresholds[value]


@pytest.mark.parametrize(("size", "is_within"), [(4, True), (3, False)])
def test_the_worst_exposure_decides(size: int, is_within: bool) -> None:
    past = (PastGroup(size, {0: 1}),)  # a ratio of 3.41 is asked for two releases at 1/2
    problem = case(
        [Person((0,), frozenset({0}), past), Person((1,), frozenset())],
        [number_line(2)],
        [ConstantRatio(2, replan=False)],
        [Fraction(1, 2)],
    )
    assert problem.demand.history_within_budget(problem.population, problem.history) == is_within
