"""What a past asks of groups, against a reading of it person by person, in fractions."""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouping.cases import Case, case, cases, number_line
from grouping.naive import PastGroup, Person, is_bearable, links_and_survival
from population.settings import unhurried
from serigraph.grouping import kernels
from serigraph.grouping.kernels import Facts
from serigraph.grouping.problem import facts, narrowed, scratch
from serigraph.privacy import ConstantRatio


@numba.njit
def shares_of(f, s, people, size):  # type: ignore[no-untyped-def]
    _, touched = kernels.tally(f, s, people, 0, len(people))
    kernels.clear(s, touched)
    room = np.empty(0)
    return touched, kernels.find_shares(f, s, people, 0, len(people), touched, size, room)


def facts_of(problem: Case) -> Facts:
    return narrowed(
        facts(problem.population, problem.history, problem.demand, problem.weight, problem.key)
    )


@unhurried
@given(cases())
def test_nobody_fits_a_group_below_its_own_target(problem: Case) -> None:
    f, s = facts_of(problem), scratch(len(problem.thresholds))
    if problem.history.releases == 0:
        assert len(f.own) == 0
        return
    shares_of(f, s, np.arange(len(problem.people)), np.inf)
    for target, person in zip(f.own.tolist(), problem.people, strict=True):
        ratios = [
            problem.strategies[value].ratio(
                problem.thresholds[value], *links_and_survival(person, value)
            )
            for value in person.held
        ]
        assert target == pytest.approx(max(ratios, default=0.0))


@unhurried
@given(cases(), st.integers(1, 60))
def test_nobody_is_asked_behind_somebody_that_does_not_fit(problem: Case, size: int) -> None:
    f, s = facts_of(problem), scratch(len(problem.thresholds))
    if problem.history.releases == 0:
        return
    shares_of(f, s, np.arange(len(problem.people)), np.inf)
    all_of_them = f.own.copy()
    f.own[:] = -1.0
    shares_of(f, s, np.arange(len(problem.people)), size)
    too_large = np.flatnonzero(all_of_them > size * (1 + kernels.SLACK))
    asked = too_large[0] + 1 if len(too_large) else len(f.own)
    assert f.own[:asked].tolist() == all_of_them[:asked].tolist()
    assert (f.own[asked:] == -1.0).all()


@unhurried
@given(cases(), st.integers(1, 60))
def test_a_share_is_what_the_strategy_lets_everybody_bear(problem: Case, size: int) -> None:
    f, s = facts_of(problem), scratch(len(problem.thresholds))
    if problem.history.releases == 0:
        return
    touched, shares = shares_of(f, s, np.arange(len(problem.people)), np.inf)
    rows = shares.reshape(len(problem.people), touched)
    for row, person in zip(rows, problem.people, strict=True):
        for t, share in enumerate(row.tolist()):
            value = int(s.touched[t])
            for count in range(1, int(size / f.base[value]) + 1):
                is_borne = is_bearable(
                    problem.strategies[value],
                    problem.thresholds[value],
                    *links_and_survival(person, value),
                    size,
                    count,
                )
                assert (size * (1 + kernels.SLACK) * share >= count) == is_borne


@unhurried
@given(cases())
def test_what_all_are_said_to_bear_leaves_everybody_enough(problem: Case) -> None:
    if not problem.demand.is_borne_by_all(problem.population, problem.history):
        return
    for base, value in zip(
        problem.demand.base_targets(problem.population), range(len(problem.thresholds)), strict=True
    ):
        for person in problem.people:
            _, survival = links_and_survival(person, value)
            assert survival * (1 - 1 / Fraction(base)) >= 1 - problem.thresholds[value]


@pytest.mark.parametrize(("size", "is_borne"), [(4, True), (3, False)])
def test_the_worst_exposure_decides(size: int, is_borne: bool) -> None:
    past = (PastGroup(size, {0: 1}),)  # a ratio of 3.41 is asked for two releases at 1/2
    problem = case(
        [Person((0,), frozenset({0}), past), Person((1,), frozenset())],
        [number_line(2)],
        [ConstantRatio(2, replan=False)],
        [Fraction(1, 2)],
    )
    assert problem.demand.is_borne_by_all(problem.population, problem.history) == is_borne
