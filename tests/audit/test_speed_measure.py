"""The measurement of the audit runs, and both sides come to the same; no time is asserted."""

from __future__ import annotations

import pytest
from benchmarks.speed_audit import measure_audit


def test_both_sides_agree() -> None:
    measured = measure_audit(people=600, releases=3)
    assert measured.pairs > 1000
    assert measured.largest_of_audit == pytest.approx(measured.largest_of_duckdb)
    assert measured.ratio > 0
