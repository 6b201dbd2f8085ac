"""Definition 1: a possible world keeps the people and the multiset of values of every group."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from serigraph.privacy import worlds_of_group
from theorems.possible_worlds import Series, group_of, number_of_worlds, worlds
from theorems.strategies import published_series, unhurried


@unhurried
@given(published_series())
def test_every_world_agrees_with_what_was_published(series: Series) -> None:
    for world in worlds(series):
        for table, groups in zip(world, series, strict=True):
            assert set(table) == {person for group in groups for person in group.people}
            for group in groups:
                assert Counter(table[person] for person in group.people) == Counter(group.values)


@unhurried
@given(published_series())
def test_worlds_of_whole_tables_are_the_product_over_all_groups(series: Series) -> None:
    expected = 1
    for table in series:
        for group in table:
            expected *= worlds_of_group(Counter(group.values).values())
    assert number_of_worlds(series) == expected


def test_the_running_example_has_the_four_worlds_of_figure_3() -> None:
    series = ((group_of("fc", "12"),), (group_of("cf", "12"),))
    linked = [[table["2"] for table in world] for world in worlds(series)]
    assert sorted(linked) == [["c", "c"], ["c", "f"], ["f", "c"], ["f", "f"]]
