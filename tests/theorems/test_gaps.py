"""What suppressed values tell is bounded by what is charged for it: all worlds, one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy.breach import breach_probability
from serigraph.privacy.gaps import gap_risk, threshold_left
from serigraph.records import Exposure

GROUPS = ((0, 1, 2), (3, 4, 5, 6))
EVERYBODY = tuple(person for group in GROUPS for person in group)
World = tuple[frozenset[int], frozenset[int], frozenset[int]]  # present, holders, published ones


def worlds(present: int, holders: int, missing: int) -> Iterator[World]:
    """Who is present, who of them holds the value, and who of these is drawn to be left out."""
    for here in combinations(EVERYBODY, present):
        for holding in combinations(here, holders):
            for out in combinations(holding, missing):
                yield frozenset(here), frozenset(holding), frozenset(holding) - frozenset(out)


def published(world: World, loses_record: bool) -> tuple[tuple[int, int], ...]:
    """Records and holders of each group, as everybody sees them."""
    here, holding, shown = world
    records = here - (holding - shown) if loses_record else here
    return tuple((len(records & set(group)), len(shown & set(group))) for group in GROUPS)


@pytest.mark.parametrize("loses_record", [True, False])
@pytest.mark.parametrize("present", [5, 6, 7])
@pytest.mark.parametrize(("holders", "missing"), [(2, 1), (3, 1), (3, 2), (4, 2), (3, 3)])
def test_nobody_is_more_probable_than_what_is_charged(
    present: int, holders: int, missing: int, loses_record: bool
) -> None:
    alike = defaultdict(list)
    for world in worlds(present, holders, missing):
        alike[published(world, loses_record)].append(world)
    records = present - missing if loses_record else present
    risk = gap_risk(
        without_record=len(EVERYBODY) - records,
        missing_without_record=missing if loses_record else 0,
        silent=records - (holders - missing),
        missing_silently=0 if loses_record else missing,
    )
    for shown, possible in alike.items():
        out = Counter(person for _, holding, kept in possible for person in holding - kept)
        holds = Counter(person for _, holding, _ in possible for person in holding)
        for group, (_, count) in zip(GROUPS, shown, strict=True):
            for person in group:
                assert Fraction(out[person], len(possible)) <= risk
                linked = [Exposure(len(group), count)] if count else []
                survival = (1 - breach_probability(linked)) * (1 - risk)
                assert Fraction(holds[person], len(possible)) <= 1 - survival


@pytest.mark.parametrize("holders", [1, 2, 3])
def test_where_everybody_else_has_a_record_the_missing_are_certain(holders: int) -> None:
    risk = gap_risk(
        without_record=holders, missing_without_record=holders, silent=9, missing_silently=0
    )
    assert risk == 1
    assert threshold_left(Fraction(1, 2), 1 - risk) <= 0


@given(
    st.fractions("1/100", "99/100"),
    st.lists(st.fractions(0, "1/3"), max_size=4),
    st.lists(st.tuples(st.integers(2, 40), st.integers(1, 40)), max_size=4),
)
def test_a_lower_threshold_is_the_charge_of_all_gaps(
    threshold: Fraction, risks: list[Fraction], groups: list[tuple[int, int]]
) -> None:
    """Within what is left of the threshold, groups and gaps together are within the threshold."""
    exposures = [Exposure(size, min(count, size)) for size, count in groups]
    gaps = Fraction(1)
    for risk in risks:
        gaps *= 1 - risk
    together = 1 - (1 - breach_probability(exposures)) * gaps
    left = threshold_left(threshold, gaps)
    assert (breach_probability(exposures) <= left) == (together <= threshold)
