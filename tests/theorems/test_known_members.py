"""What an adversary believes who knows members of a person's groups: all worlds, one by one."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.ledger import PastExposure
from serigraph.privacy import breach_probability, gap_risk

Sizes = list[tuple[int, int]]  # n and n_s of the person's group in each release


def share_of_worlds(groups: Sizes, known: int) -> Fraction:
    """The share of the worlds that link person 0 in any release, of those in which the last members
    of each group, as many as are known, hold nothing; certainty where no world is left."""
    linked = total = 0
    for holders in product(*(combinations(range(n), count) for n, count in groups)):
        is_possible = all(
            max(held) < n - known for held, (n, _) in zip(holders, groups, strict=True)
        )
        total += is_possible
        linked += is_possible and any(0 in held for held in holders)
    return Fraction(linked, total) if total else Fraction(1)


def exposed(groups: Sizes, known: int) -> Fraction:
    """p(o, s, k) as the ledger gives it."""
    past = [PastExposure(1, "r", n, count, True, known) for n, count in groups]
    return breach_probability(each.exposure for each in past)


@pytest.mark.parametrize("known", range(5))
@pytest.mark.parametrize(
    "groups", [[(5, 1)], [(6, 2)], [(4, 3)], [(5, 1), (6, 2)], [(4, 1), (5, 2), (4, 1)]]
)
def test_by_all_possible_worlds(groups: Sizes, known: int) -> None:
    assert exposed(groups, known) == share_of_worlds(groups, known)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=5),
    st.integers(0, 10),
)
def test_it_is_the_product_without_known_members(groups: Sizes, known: int) -> None:
    groups = [(max(n, count), count) for n, count in groups]
    if any(n - known < count for n, count in groups):
        assert exposed(groups, known) == 1
    else:
        assert exposed(groups, known) == 1 - prod(
            (1 - Fraction(count, n - known) for n, count in groups), start=Fraction(1)
        )
    assert exposed(groups, known) <= exposed(groups, known + 1)


@pytest.mark.parametrize("known", range(4))
@pytest.mark.parametrize(("people", "missing"), [(6, 1), (6, 3), (3, 2)])
def test_missing_holders_are_among_those_who_are_not_known(
    people: int, missing: int, known: int
) -> None:
    """People without a record, of whom so many were drawn to be left out."""
    risk = gap_risk(
        without_record=people,
        missing_without_record=missing,
        silent=0,
        missing_silently=0,
        known=known,
    )
    possible = [out for out in combinations(range(people), missing) if max(out) < people - known]
    found = Counter(person for out in possible for person in out)
    assert risk == (Fraction(found[0], len(possible)) if possible else 1)
