"""Definition 2: p(o,s,k) = W_link(o,s,k) / W_total,k."""

from __future__ import annotations

from hypothesis import given

from serigraph.privacy import breach_probability, worlds_of_series
from theorems import possible_worlds
from theorems.oracle_series import exposures_of
from theorems.possible_worlds import Series, own_groups, worlds
from theorems.strategies import published_series, unhurried


@unhurried
@given(published_series())
def test_linked_worlds_over_all_worlds(series: Series) -> None:
    own = own_groups(series, "o")
    linked = sum(any(table.get("o") == "s" for table in world) for world in worlds(own))
    total = worlds_of_series(
        [group.values.count(value) for value in "stu"] for table in own for group in table
    )
    assert breach_probability(exposures_of(series, "o", "s")) * total == linked


def test_a_person_that_was_never_published_cannot_be_linked() -> None:
    series = ((possible_worlds.group_of("st"),),)
    assert possible_worlds.breach_probability(series, "z", "s") == 0
    assert breach_probability(exposures_of(series, "z", "s")) == 0
