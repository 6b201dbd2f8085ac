"""Thresholds, the largest breach probability that a publisher accepts, and other numbers, exactly
as they are written."""

from __future__ import annotations

import re
from fractions import Fraction

LONGEST = 100  # characters of a number
MOST_DIGITS = 18  # before the decimal point, or zeros behind it
_EXPONENT = re.compile(r"[eE]([+-]?[0-9_]+)")
_DIVERSITY = re.compile(r"l\s*=\s*(?P<diversity>.+)", re.IGNORECASE | re.DOTALL)
_FORMS = 'write it as "1/11", "0.09", "9%" or "l=2", or give the integer l itself'


def parse_threshold(value: int | str | Fraction) -> Fraction:
    """The threshold 1/l of Problem 1, exactly.

    An integer is the paper's l. Text is a fraction, a decimal number or a percentage of the
    probability itself, or l after ``l=``. Floats are refused, because most of them are not the
    number that was written.

    Differs from the paper: l is a positive integer there. Here the threshold is any rational
    number between 0 and 1, because regulators set figures such as 0.09.

    >>> parse_threshold(2), parse_threshold("1/11"), parse_threshold("0.09"), parse_threshold("9%")
    (Fraction(1, 2), Fraction(1, 11), Fraction(9, 100), Fraction(9, 100))
    >>> parse_threshold("l = 2.5")
    Fraction(2, 5)
    """
    if isinstance(value, bool):
        raise TypeError(f"a threshold cannot be true or false; {_FORMS}")
    if isinstance(value, float):
        raise TypeError(f"a threshold cannot be a float, because floats are not exact; {_FORMS}")
    if isinstance(value, int):
        threshold = _from_diversity(Fraction(value))
    elif isinstance(value, str):
        threshold = _from_text(value)
    elif isinstance(value, Fraction):
        threshold = value
    else:
        raise TypeError(f"a threshold cannot be a {type(value).__name__}; {_FORMS}")
    try:
        check_size(threshold)
    except ValueError as error:
        raise ValueError(f"{error}; {_FORMS}") from None
    if not 0 < threshold < 1:
        raise ValueError(f"a threshold lies between 0 and 1, and {threshold} does not; {_FORMS}")
    return threshold


def threshold_text(threshold: Fraction) -> str:
    """The form in which a threshold is stored and printed; ``parse_threshold`` reads it back.

    >>> threshold_text(Fraction(1, 11)), threshold_text(parse_threshold("0.09"))
    ('1/11', '9/100')
    """
    return f"{threshold.numerator}/{threshold.denominator}"


def _from_text(text: str) -> Fraction:
    stripped = text.strip()
    diversity = _DIVERSITY.fullmatch(stripped)
    if diversity is not None:
        return _from_diversity(_number(diversity["diversity"]))
    if stripped.endswith("%"):
        return _number(stripped[:-1]) / 100
    return _number(stripped)


def _from_diversity(diversity: Fraction) -> Fraction:
    if diversity <= 1:
        raise ValueError(f"l must be above 1, and {diversity} is not; {_FORMS}")
    return 1 / diversity


def _number(text: str) -> Fraction:
    try:
        return exact_number(text)
    except ValueError as error:
        raise ValueError(f"{error}; {_FORMS}") from None


def exact_number(text: str) -> Fraction:
    """The number that a text spells: a fraction, or a decimal number with or without an exponent.

    Raises ``ValueError`` for anything else, and for numbers that are too large or too small: a plan
    for twenty releases takes powers of them, with twenty times as many digits.

    >>> exact_number("7/16"), exact_number(" 0.09 "), exact_number("1e-3")
    (Fraction(7, 16), Fraction(9, 100), Fraction(1, 1000))
    >>> exact_number("1e-5000")
    Traceback (most recent call last):
    ValueError: numbers have at most 18 digits before or zeros behind the decimal point
    """
    if len(text) > LONGEST:
        raise ValueError(f"numbers have at most {LONGEST} characters")
    exponent = _EXPONENT.search(text)
    if exponent is not None and abs(int(exponent[1])) > MOST_DIGITS:
        raise _beyond()
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text.strip()!r} is not a number") from None
    check_size(number)
    return number


def check_size(number: Fraction) -> None:
    """Refuse a number that is too large or too small, other than 0.

    >>> check_size(Fraction(1, 10**19))
    Traceback (most recent call last):
    ValueError: numbers have at most 18 digits before or zeros behind the decimal point
    """
    if number and not 1 <= abs(number) * 10**MOST_DIGITS <= 10 ** (2 * MOST_DIGITS):
        raise _beyond()


def _beyond() -> ValueError:
    return ValueError(
        f"numbers have at most {MOST_DIGITS} digits before or zeros behind the decimal point"
    )
