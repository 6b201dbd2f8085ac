"""Which classes a value counts as: those that list it, intervals of numbers or dates that it lies
in, and, where closeness is protected, intervals at equal distances.

*Closeness* of a width w protects every interval [a, a + w]. There are too many of them to count
each. So intervals that are a little wider begin at every multiple of a step: [k step, k step + w +
step). With the k that is a / step, rounded down, [a, a + w] lies inside; whoever is linked to a
value of the narrower interval is linked to one of the wider, in every release. The promise for the
wider ones therefore holds for all others. Where they begin does not depend on the data, so that a
series has the same ones for ever.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, date
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

from serigraph.privacy.thresholds import exact_number
from serigraph.texts import qualifier, unqualified

ValueKind = Literal["text", "numeric", "date"]

_STEPS = 4  # in a width: intervals are a quarter wider than asked, and a value lies in five
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_BOUND = r"(<=|>=|<|>)\s*(\S+)"
_INTERVAL = re.compile(rf"{_BOUND}(?:\s+and\s+{_BOUND})?")
_STEP = re.compile(r"from (\S+) to below (\S+)")
_DAYS = re.compile(r"(\d+) days?")
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_LAST_DAY = date(MAXYEAR, 12, 31).toordinal()
_LONGEST = 400  # digits of the largest number that a table may have, in 64 bits


def place_of(value: str, kind: ValueKind) -> Fraction | None:
    """Where a value lies among all numbers, or among all days; None if it is none of them, as it
    would be written in a release.

    >>> place_of("2.5", "numeric"), place_of("1970-01-02", "date"), place_of("flu", "numeric")
    (Fraction(5, 2), Fraction(719164, 1), None)
    """
    if kind == "numeric":
        return Fraction(value) if _NUMBER.fullmatch(value) else None
    try:
        return Fraction(date.fromisoformat(value).toordinal())
    except ValueError:
        return None


class Interval(NamedTuple):
    """Numbers or dates between bounds."""

    bounds: tuple[tuple[str, Fraction], ...]

    @staticmethod
    def of(text: str, kind: ValueKind) -> Interval | None:
        """The interval that a text spells; None if it spells none.

        >>> Interval.of(">= 10 and < 12.5", "numeric").holds(Fraction(12))
        True
        >>> Interval.of("high", "numeric"), Interval.of(">= 5", "text")
        (None, None)
        """
        found = _INTERVAL.fullmatch(text) if kind != "text" else None
        if found is None:
            return None
        signs = [(sign, place_of(bound, kind)) for sign, bound in _pairs(found.groups())]
        bounds = tuple((sign, place) for sign, place in signs if place is not None)
        return Interval(bounds) if len(bounds) == len(signs) else None

    def holds(self, place: Fraction) -> bool:
        return all(_COMPARE[sign](place, bound) for sign, bound in self.bounds)


def _pairs(parts: Sequence[str | None]) -> Iterator[tuple[str, str]]:
    for sign, bound in zip(parts[::2], parts[1::2], strict=True):
        if sign is not None and bound is not None:
            yield sign, bound


@dataclass(frozen=True)
class Closeness:
    """Intervals at equal distances, so that every one of a given width lies in one of them."""

    width: Fraction
    kind: ValueKind

    @staticmethod
    def of(text: str, kind: ValueKind) -> Closeness:
        """Raises ``ValueError`` if the text is no width of this kind."""
        days = _DAYS.fullmatch(text)
        if kind == "date" and days is None:
            raise ValueError('a width of dates is a number of days, such as "30 days"')
        width = exact_number(days[1] if kind == "date" and days else text)
        if width <= 0 or not _is_decimal(width):
            raise ValueError('a width is a decimal number above 0, such as "1000"')
        return Closeness(width, kind)

    @cached_property
    def step(self) -> Fraction:
        return (
            Fraction(max(1, self.width // _STEPS)) if self.kind == "date" else self.width / _STEPS
        )

    @cached_property
    def _length(self) -> Fraction:
        """Of an interval, in steps."""
        return (self.width + self.step) / self.step

    @cached_property
    def _names(self) -> dict[int, str]:
        """The names of intervals by their numbers, as far as they were asked for: many values lie
        in the same ones."""
        return {}

    def around(self, place: Fraction) -> Iterator[str]:
        """The names of the intervals that a place is in.

        >>> list(Closeness.of("4", "numeric").around(Fraction(5, 2)))[0]
        'from -2 to below 3'
        >>> list(Closeness.of("1 day", "date").around(Fraction(719164)))
        ['from 1970-01-01 to below 1970-01-03', 'from 1970-01-02 to below 1970-01-04']
        """
        start = place / self.step
        for number in range(math.floor(start - self._length) + 1, math.floor(start) + 1):
            name = self._names.get(number)
            if name is None:
                low, end = number * self.step, (number + self._length) * self.step
                name = f"from {self._text(low)} to below {self._text(end)}"
                self._names[number] = name
            yield name

    def _text(self, place: Fraction) -> str:
        if self.kind == "date":
            return date.fromordinal(min(max(int(place), 1), _LAST_DAY)).isoformat()
        with localcontext(prec=_LONGEST) as exact:
            number = exact.divide(Decimal(place.numerator), Decimal(place.denominator))
        return f"{number.normalize(exact):f}" if number else "0"


def _is_decimal(number: Fraction) -> bool:
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


class ProtectedClasses:
    """The classes of a policy, by what is frozen of it: today's, or that of an earlier release.

    >>> protected = {"classes": {"high": [">= 100"], "odd": ["1", "3"]}, "closeness": {"cost": "4"}}
    >>> sensitive = {"column": "cost", "form": "single", "kind": "numeric"}
    >>> classes = ProtectedClasses({"protected": protected, "sensitive": sensitive})
    >>> found = classes.members(["3", "250"])
    >>> found["high"], found["odd"], found["from 0 to below 5"]
    (('250',), ('1', '3'), ('3',))
    >>> "from 1 to below 6" in classes, "from 1 to below 7" in classes, "250" in classes
    (True, False, False)
    """

    def __init__(self, frozen: Mapping[str, Any]) -> None:
        protected = frozen.get("protected", {})
        self.listed: Mapping[str, Sequence[str]] = protected.get("classes", {})
        sensitive = frozen.get("sensitive", {})
        is_one = isinstance(sensitive.get("column"), str)
        sections = {sensitive["column"]: sensitive} if is_one else sensitive
        widths = protected.get("closeness", {})
        self._kinds: dict[str, ValueKind] = {}  # of columns of numbers or dates, by qualifier
        self._close: dict[str, Closeness] = {}
        for name, section in sections.items():
            before, kind = "" if is_one else qualifier(name), section.get("kind", "text")
            if kind != "text":
                self._kinds[before] = kind
            if name in widths:
                self._close[before] = Closeness.of(widths[name], kind)

    def __bool__(self) -> bool:
        return bool(self.listed or self._close)

    def __contains__(self, name: str) -> bool:
        """Whether a name is that of a class."""
        return name in self.listed or any(
            name.startswith(before) and _is_step(name.removeprefix(before), closeness)
            for before, closeness in self._close.items()
        )

    def members(self, values: Collection[str]) -> dict[str, tuple[str, ...]]:
        """The values that each class stands for: those that it lists, and those of the given ones
        that lie in its intervals. An interval in which none lies stands for itself, as a value
        that nobody holds does."""
        places = {before: list(self._places(before, values)) for before in self._kinds}
        found = {name: tuple(self._of(listed, places)) for name, listed in self.listed.items()}
        near: dict[str, list[str]] = {}
        for before, closeness in self._close.items():
            for value, place in places[before]:
                for name in closeness.around(place):
                    near.setdefault(before + name, []).append(value)
        return found | {name: tuple(held) for name, held in near.items()}

    def counted_as(self, values: Collection[str]) -> list[tuple[str, str]]:
        """Each of these values with the name of each class that it counts as."""
        known = set(values)
        return [
            (value, name)
            for name, members in self.members(known).items()
            for value in dict.fromkeys(members)
            if value in known
        ]

    def spelt(self, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """What is in each class, as a policy spells it: of all that are listed, and of those among
        ``names`` that closeness makes."""
        made = {
            name: _STEP.search(name) for name in names if name in self and name not in self.listed
        }
        return {name: tuple(members) for name, members in self.listed.items()} | {
            name: (f"{name[: found.start()]}>= {found[1]} and < {found[2]}",)
            for name, found in made.items()
            if found is not None
        }

    def _of(
        self, listed: Sequence[str], places: Mapping[str, list[tuple[str, Fraction]]]
    ) -> Iterator[str]:
        for member in listed:
            interval, before = self._interval(member)
            if interval is None:
                yield member
                continue
            inside = [value for value, place in places[before] if interval.holds(place)]
            yield from inside or [member]

    def _interval(self, member: str) -> tuple[Interval | None, str]:
        for before, kind in self._kinds.items():
            if member.startswith(before):
                return Interval.of(member.removeprefix(before), kind), before
        return None, ""

    def _places(self, before: str, values: Iterable[str]) -> Iterator[tuple[str, Fraction]]:
        kind = self._kinds[before]
        for value in values:
            place = place_of(value.removeprefix(before), kind) if value.startswith(before) else None
            if place is not None:
                yield value, place


def _is_step(name: str, closeness: Closeness) -> bool:
    found = _STEP.fullmatch(name)
    place = place_of(found[1], closeness.kind) if found else None
    return place is not None and name in closeness.around(place)


def problems_of_members(members: Iterable[object], kind: ValueKind) -> Iterator[str]:
    """What is wrong with the values that a policy names in a class of numbers or dates."""
    for member in members:
        if isinstance(member, str) and Interval.of(member, kind) is None:
            yield from problems_of_values([member], kind, ', or an interval such as ">= 5 and < 7"')


def problems_of_values(values: Iterable[object], kind: ValueKind, more: str = "") -> Iterator[str]:
    """What is wrong with the values that a policy names in a column of numbers or dates."""
    form = "as 2024-01-31" if kind == "date" else "as a number without needless zeros, such as 2.5"
    for value in values:
        if isinstance(value, str) and not _is_written_as_published(value, kind):
            yield f"{value!r} is never a value of this column: write it {form}{more}"


def _is_written_as_published(value: str, kind: ValueKind) -> bool:
    place = place_of(value, kind)
    if place is None:
        return False
    if kind == "date":
        return date.fromordinal(int(place)).isoformat() == value
    whole, _, decimals = value.lstrip("-").partition(".")
    is_short = (whole == "0" or whole[0] != "0") and not decimals.endswith("0")
    return is_short and value != "-0"


def has_intervals(texts: Iterable[object], kinds: Sequence[ValueKind]) -> bool:
    """Whether a text would be an interval in a column of one of these kinds."""
    return any(
        isinstance(each, str) and Interval.of(each, kind) for each in texts for kind in kinds
    )


def is_made_by_closeness(name: str) -> bool:
    """Whether a class is called as those of closeness are, with the name of its column or not."""
    return _STEP.fullmatch(unqualified(name)[1]) is not None
