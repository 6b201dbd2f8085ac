"""What people type for an argument in Python: one thing or several of them, numbers, texts.

``"table.csv"`` is one table and not nine, ``"2"`` and ``2.0`` are the number 2, and ``"80%"`` is
0.8. What cannot be meant is refused, with the name of the argument, and never with a table's cells.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence, Set, ValuesView
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from types import GeneratorType
from typing import Any

from serigraph.errors import InputRefused

_LONGEST = 40  # characters of a number, and of what is shown of a text
_WHOLE = re.compile(r"[+-]?\d+(?:\.0*)?")
_SHARE = re.compile(r"(?P<above>[^/%]+)(?:/(?P<below>[^/%]+)|(?P<percent>%))?")


def several(given: Any) -> tuple[Any, ...]:
    """All things of an argument that takes several: one text, path or data frame is one thing.

    >>> several("a.csv"), several(["a.csv", "b.csv"]), several(0.5), several(None)
    (('a.csv',), ('a.csv', 'b.csv'), (0.5,), ())
    """
    if given is None:
        return ()
    if isinstance(given, str | bytes | os.PathLike):
        return (given,)
    if isinstance(given, Sequence | Set | ValuesView | GeneratorType):
        return tuple(given)
    listed = getattr(given, "to_list", None) or getattr(given, "tolist", None)  # series and arrays
    found = listed() if callable(listed) else given
    return tuple(found) if isinstance(found, list) else (found,)


def names(given: Any, argument: str) -> tuple[str, ...]:
    """The names of an argument that takes one or several; empty ones are left out.

    >>> names("cost", "plain"), names(("cost", "ward"), "plain"), names("", "plain")
    (('cost',), ('cost', 'ward'), ())
    """
    found = several(given)
    for each in found:
        if not isinstance(each, str):
            raise _refused(each, argument, "a name", 'give names as text, such as ["age", "sex"]')
    return tuple(each for each in found if each)


def text(given: Any, argument: str) -> str:
    """A text; a whole number may be given for it.

    >>> text("2024H1", "label"), text(2024, "label")
    ('2024H1', '2024')
    """
    if isinstance(given, str):
        return given
    if isinstance(given, Integral) and not isinstance(given, bool):
        return str(int(given))
    raise _refused(given, argument, "a text", 'give a text, such as "2024H1"')


def whole(given: Any, argument: str, *, least: int | None = None) -> int:
    """A whole number, which may be written as another number or as text.

    >>> whole("2", "releases"), whole(2.0, "releases")
    (2, 2)
    >>> whole(2.5, "k")
    Traceback (most recent call last):
    serigraph.errors.InputRefused: 2.5 is no whole number - k - give a whole number, such as 5
    """
    found: Any = None
    if isinstance(given, str):
        spelt = given.strip()
        if len(spelt) <= _LONGEST and _WHOLE.fullmatch(spelt):
            found = int(spelt.partition(".")[0])
    elif isinstance(given, Real | Decimal) and not isinstance(given, bool):
        found = given
    if found is None or not math.isfinite(found) or found != math.floor(found):
        raise _refused(given, argument, "a whole number", "give a whole number, such as 5")
    return int(_at_least(int(found), argument, least))


def real(given: Any, argument: str, *, least: float | None = None) -> float:
    """A number, which may be a fraction or a percentage, written as text or not.

    >>> real("80%", "return_rate"), real("4/5", "return_rate"), real(0.8, "return_rate")
    (0.8, 0.8, 0.8)
    """
    found = None
    if isinstance(given, str):
        found = _spelt(given)
    elif isinstance(given, Real | Decimal) and not isinstance(given, bool):
        found = float(given)
    if found is None or not math.isfinite(found):
        remedy = 'give a number, such as 0.8, "80%" or "4/5"'
        raise _refused(given, argument, "a number", remedy)
    return float(_at_least(found, argument, least))


def exactly(given: Any) -> Any:
    """A number of another kind as one that Fractions are made of; of a float, the shortest decimal
    number that is this float. Anything else as it is.

    >>> exactly(0.3), exactly(Decimal("0.5")), exactly("1/3"), exactly(float("nan"))
    (Fraction(3, 10), Fraction(1, 2), '1/3', 'nan')
    """
    if isinstance(given, bool | str | int | Fraction):
        return given
    if isinstance(given, Integral):
        return int(given)
    if isinstance(given, Real | Decimal):
        plain = given if isinstance(given, Decimal) else float(given)
        return Fraction(str(plain)) if math.isfinite(plain) else str(plain)
    return given


def refuse_name(engine: object) -> None:
    """``InputRefused`` if the engine is given by name."""
    if isinstance(engine, str):
        raise InputRefused(
            "the engine must be an object, not a name",
            where="engine",
            remedy="give serigraph.Local() or serigraph.Spark()",
        )


def _spelt(given: str) -> float | None:
    found = _SHARE.fullmatch(given.strip())
    if found is None or len(given) > _LONGEST:
        return None
    try:
        below = float(found["below"] or (100 if found["percent"] else 1))
        return float(found["above"]) / below
    except (ValueError, ZeroDivisionError):
        return None


def _at_least(found: float, argument: str, least: float | None) -> float:
    """The number, refused if it is too small."""
    if least is not None and found < least:
        raise InputRefused(
            f"{found:g} is too small", where=argument, remedy=f"give {least:g} or more"
        )
    return found


def _refused(given: Any, argument: str, wanted: str, remedy: str) -> InputRefused:
    shown = f"something of type {type(given).__name__}"
    if given is None or isinstance(given, str | Real | Decimal):
        shown = repr(given) if len(repr(given)) <= _LONGEST else shown
    return InputRefused(f"{shown} is no{wanted.removeprefix('a')}", where=argument, remedy=remedy)
