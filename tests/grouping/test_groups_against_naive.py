"""Everything that is proposed, against a check that shares nothing with the kernels."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, settings

from grouping.cases import Case, cases
from grouping.naive import is_inside, is_run_of_siblings, overlapping_boxes, pairs_to_give_up

# A shared machine makes single examples slow for reasons that no property is about.
unhurried = settings(deadline=None, max_examples=200)


@unhurried
@given(cases())
def test_whatever_is_not_named_in_excess_is_bearable(case: Case) -> None:
    """And whatever is named is not: the two agree on every pair of a person and a value."""
    group = case.groups().group
    naive = pairs_to_give_up(case.people, group.tolist(), case.strategies, case.thresholds)
    event(f"groups are {'in excess' if naive else 'valid'}")
    assert case.excess(group) == naive


@unhurried
@given(cases())
def test_excess_of_any_grouping_is_found(case: Case) -> None:
    """Also of groups that the kernels would never have formed."""
    group = np.arange(len(case.people), dtype=np.int64) % 3
    naive = pairs_to_give_up(case.people, group.tolist(), case.strategies, case.thresholds)
    assert case.excess(group) == naive


@unhurried
@given(cases())
def test_everybody_is_in_one_group_of_the_minimum_size(case: Case) -> None:
    grouping = case.groups()
    assert len(grouping.group) == len(case.people)
    assert set(grouping.group.tolist()) == set(range(grouping.groups))
    assert (case.groups().group == grouping.group).all()  # by the same keys, the same groups
    counting = np.bincount(grouping.group, case.weight)
    smallest = min(case.demand.minimum_size, int(case.weight.sum()))
    assert counting[counting > 0].min(initial=smallest) >= smallest


@unhurried
@given(cases(interleave=False))
def test_regions_are_disjoint_hold_their_people_and_follow_taxonomies(case: Case) -> None:
    grouping = case.groups()
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
