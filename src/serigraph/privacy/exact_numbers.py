"""Numbers exactly as they are written, as long as arithmetic with them ends."""

from __future__ import annotations

import re
from fractions import Fraction

LONGEST = 100  # characters
MOST_DIGITS = 18  # before the decimal point, or zeros behind it
_EXPONENT = re.compile(r"[eE]([+-]?[0-9_]+)")


def exact_number(text: str) -> Fraction:
    """The number that a text spells: a fraction, or a decimal number with or without an exponent.

    Raises ``ValueError`` for anything else, and for numbers that are too large or too small: in a
    power of them, such as a plan for twenty releases takes, every zero would count twenty times.

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
