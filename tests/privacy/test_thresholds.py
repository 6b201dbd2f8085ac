"""Thresholds are exact, and whatever is not exact is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.privacy import parse_threshold, threshold_text


@pytest.mark.parametrize(
    ("given_as", "expected"),
    [
        (2, Fraction(1, 2)),
        (11, Fraction(1, 11)),
        ("1/11", Fraction(1, 11)),
        ("0.09", Fraction(9, 100)),
        (".09", Fraction(9, 100)),
        (" 9% ", Fraction(9, 100)),
        ("0.5 %", Fraction(1, 200)),
        ("l=2", Fraction(1, 2)),
        ("l = 2.5", Fraction(2, 5)),
        ("L=3", Fraction(1, 3)),
        (Fraction(31, 88), Fraction(31, 88)),
    ],
)
def test_forms(given_as: int | str | Fraction, expected: Fraction) -> None:
    assert parse_threshold(given_as) == expected


@pytest.mark.parametrize("value", [0.09, 0.5, 2.0, float("nan")])
def test_floats_are_refused_because_they_are_not_exact(value: float) -> None:
    with pytest.raises(TypeError, match="not exact"):
        parse_threshold(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [True, False])
def test_truth_values_are_refused(value: bool) -> None:
    with pytest.raises(TypeError, match="true or false"):
        parse_threshold(value)


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="list"):
        parse_threshold(["1/2"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", ["0", "1", "2", "-1/2", "100%", "0%", Fraction(3, 2), Fraction(0)]
)
def test_probabilities_outside_0_to_1_are_refused(value: str | Fraction) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        parse_threshold(value)


@pytest.mark.parametrize("value", [1, 0, -3, "l=1", "l=1/2", "l=-2"])
def test_l_must_be_above_one(value: int | str) -> None:
    with pytest.raises(ValueError, match="above 1"):
        parse_threshold(value)


@pytest.mark.parametrize(
    "value", ["", "half", "1/0", "l=", "l=two", "%", "nan", "inf", "1 / 2 / 3"]
)
def test_what_is_no_number_is_refused_with_the_forms_that_are(value: str) -> None:
    with pytest.raises(ValueError, match=r'"1/11", "0\.09", "9%" or "l=2"'):
        parse_threshold(value)


@given(st.fractions(Fraction(1, 10**6), 1 - Fraction(1, 10**6)))
def test_the_text_form_reads_back(threshold: Fraction) -> None:
    assert parse_threshold(threshold_text(threshold)) == threshold
