"""Example 2: groups of two give o_2 3/4 for chlamydia, groups of four 7/16."""

from __future__ import annotations

from fractions import Fraction

import pytest

from serigraph.privacy import breach_probability, is_within_guarantee
from theorems import possible_worlds
from theorems.oracle_series import exposures_of
from theorems.possible_worlds import Series, group_of

PAIRS: Series = (
    (group_of("uc", "12"), group_of("uv", "34")),
    (group_of("cu", "12"), group_of("vu", "35")),
)
FOURS: Series = ((group_of("ucuv", "1234"),), (group_of("cuvu", "1235"),))


@pytest.mark.parametrize(
    ("series", "expected", "is_kept"),
    [(PAIRS, Fraction(3, 4), False), (FOURS, Fraction(7, 16), True)],
    ids=["figure 2", "figure 4"],
)
def test_second_person_and_chlamydia(series: Series, expected: Fraction, is_kept: bool) -> None:
    exposures = exposures_of(series, "2", "c")
    assert breach_probability(exposures) == expected
    assert possible_worlds.breach_probability(series, "2", "c") == expected
    assert is_within_guarantee(exposures, Fraction(1, 2)) == is_kept
