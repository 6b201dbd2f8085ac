"""Corollary 3: "if a violating group is partitioned, one of the parts violates": false.

It holds where all members share one history. The paper's proof follows one person, and a part with
a smaller ratio need not hold that person.
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import breach_probability
from serigraph.records import Exposure
from theorems.strategies import histories, thresholds, unhurried

Member = tuple[list[Exposure], str]  # past exposures to s, and the value held now


def violates(members: list[Member], threshold: Fraction) -> bool:
    count = [value for _, value in members].count("s")
    if count == 0:
        return False
    now = Exposure(len(members), count)
    return any(breach_probability([*past, now]) > threshold for past, _ in members)


def test_counterexample_with_histories_that_differ() -> None:
    suspected = [Exposure(20, 9)]
    group: list[Member] = [(suspected, "a"), ([], "b"), ([], "s"), ([], "c")]
    half = Fraction(1, 2)
    assert breach_probability(suspected) == Fraction(45, 100)
    assert violates(group, half)
    assert not violates(group[:2], half)
    assert not violates(group[2:], half)


def test_so_merging_can_create_a_violation() -> None:
    suspected = [Exposure(20, 9)]
    left: list[Member] = [(suspected, "a"), ([], "b")]
    right: list[Member] = [([], "s"), ([], "c")]
    half = Fraction(1, 2)
    assert not violates(left, half)
    assert not violates(right, half)
    assert violates(left + right, half)


@unhurried
@given(histories, st.text("sab", min_size=1, max_size=12), st.integers(1, 11), thresholds)
def test_it_holds_where_all_members_share_one_history(
    past: list[Exposure], values: str, cut: int, threshold: Fraction
) -> None:
    group = [(past, value) for value in values]
    parts = [part for part in (group[:cut], group[cut:]) if part]
    if violates(group, threshold):
        assert any(violates(part, threshold) for part in parts)
