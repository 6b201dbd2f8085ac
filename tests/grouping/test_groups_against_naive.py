"""Everything that is proposed, against a check that shares nothing with the kernels."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import event, given

from grouping.cases import Case, cases
from grouping.naive import (
    Person,
    is_bearable,
    is_inside,
    is_run_of_siblings,
    links_and_survival,
    overlapping_boxes,
    unbearable_values,
)
from model.settings import about
from serigraph.grouping import Grouping

unhurried = about(100)


@unhurried
@given(cases())
def test_what_everybody_could_not_bear_as_one_group_is_found(case: Case) -> None:
    """Only of people who met a value before: what the others ask follows from counts alone."""
    size = int(case.weight.sum()) - case.demand.known_members
    holders = Counter(value for person in case.people for value in person.held)
    naive = set()
    for value, count in holders.items():
        for person in case.people:
            links, survival = links_and_survival(person, value)
            asked = case.strategies[value], case.thresholds[value], links, survival, size, count
            if links and not is_bearable(*asked):
                naive.add(value)
    event("unbearable" if naive else "bearable")
    assert case.unbearable() == naive


@unhurried
@given(cases())
def test_groups_bear_what_everybody_could_bear_as_one_group(case: Case) -> None:
    """Then every group is valid, and otherwise nothing is promised: the release is not made."""
    known = case.demand.known_members
    whole = unbearable_values(case.people, case.strategies, case.thresholds, known)
    event("not made" if whole else "made")
    if whole or case.weight.sum() < case.demand.minimum_size:
        return
    assert case.unbearable() == set()
    members: dict[int, list[Person]] = {}
    for person, group in zip(case.people, case.groups().group.tolist(), strict=True):
        members.setdefault(group, []).append(person)
    for group in members.values():
        assert unbearable_values(group, case.strategies, case.thresholds, known) == set()


@unhurried
@given(cases())
def test_everybody_is_in_one_group_of_the_minimum_size(case: Case) -> None:
    grouping = case.formed()
    if not isinstance(grouping, Grouping):
        return  # nothing is published
    assert len(grouping.group) == len(case.people)
    assert set(grouping.group.tolist()) == set(range(grouping.groups))
    again = case.formed()  # by the same keys, the same groups
    assert isinstance(again, Grouping)
    assert (again.group == grouping.group).all()
    counting = np.bincount(grouping.group, case.weight)
    smallest = min(case.demand.minimum_size, int(case.weight.sum()))
    assert counting[counting > 0].min(initial=smallest) >= smallest


@unhurried
@given(cases(interleave=False))
def test_regions_are_disjoint_hold_their_people_and_follow_taxonomies(case: Case) -> None:
    grouping = case.formed()
    if not isinstance(grouping, Grouping):
        return  # nothing is published
    boxes = [
        tuple(zip(low, high, strict=True))
        for low, high in zip(grouping.low.tolist(), grouping.high.tolist(), strict=True)
    ]
    assert overlapping_boxes(boxes) == []
    together: dict[tuple[int, ...], set[int]] = {}
    for person, number in zip(case.people, grouping.group.tolist(), strict=True):
        assert is_inside(person, boxes[number])
        together.setdefault(person.codes, set()).add(number)
    assert all(len(numbers) == 1 for numbers in together.values())
    for column, domain in enumerate(case.population.domains):
        if domain.taxonomy is None:
            continue
        shift = int(domain.has_missing)  # a missing value lies beside the tree
        for low, high in {box[column] for box in boxes if box[column][1] >= shift}:
            first = max(low - shift, 0)
            assert low >= shift or first == 0
            assert is_run_of_siblings(first, high - shift, domain.taxonomy.paths)
