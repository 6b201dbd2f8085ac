"""Whoever of a group had held the value, the same group would have come out.

Otherwise an adversary that knows the method can run it with every member as the holder, and strike
off all for whom the published group would not have come out: what is left may be fewer than the
size of the group promises.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from grouping.cases import case, number_line
from grouping.naive import Person
from serigraph.grouping import Method
from serigraph.privacy import ConstantRatio

PEOPLE = 60


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("minimum_size", [1, 3])
@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
def test_every_member_could_have_been_the_holder(
    method: Method, minimum_size: int, columns: int
) -> None:
    draw = np.random.default_rng(1)
    places = np.stack([draw.permutation(PEOPLE) for _ in range(columns)], axis=1).tolist()
    shared = []  # for everybody as the holder, who shares its group
    for holder in range(PEOPLE):
        people = [
            Person(tuple(at), frozenset({0} if person == holder else ()))
            for person, at in enumerate(places)
        ]
        problem = case(
            people,
            [number_line(PEOPLE)] * columns,
            [ConstantRatio(5)],
            [Fraction(1, 2)],
            method=method,
            minimum_size=minimum_size,
        )
        group = problem.groups().group
        shared.append(frozenset(np.flatnonzero(group == group[holder]).tolist()))
    for members in set(shared):
        possible = [holder for holder in range(PEOPLE) if shared[holder] == members]
        assert len(possible) == len(members) >= 8
