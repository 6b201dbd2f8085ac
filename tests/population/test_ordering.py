"""Sorting by small numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from serigraph.population import order_by


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 3)))
def test_equal_numbers_stay_in_their_order(numbers: list[int]) -> None:
    expected = sorted(range(len(numbers)), key=lambda place: numbers[place])
    assert order_by(np.array(numbers, dtype=np.int64)).tolist() == expected
