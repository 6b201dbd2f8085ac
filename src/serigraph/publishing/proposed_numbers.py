"""What a proposed policy says of a sensitive column whose values are numbers or dates.

To protect single numbers alone promises little: a group may give away that somebody owes between
5,000 and 5,010. So the proposal is closeness, with the widest interval that no more than a
twentieth of the people are in, as far as values pass and are not too few to be near each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.policy.classes import Closeness
from serigraph.publishing.toml_text import quoted
from serigraph.tables.column_guesses import guess_column
from serigraph.tables.vocabulary import AMOUNT, CODE, SENSITIVE, is_count, says

SensitiveKind = Literal["text", "numeric", "date"]

FULLEST = Fraction(1, 20)  # of the people, in one interval
_WIDTHS_OF_DATES = (365, 180, 90, 60, 30, 14, 7, 3, 1)  # days


def kind_of(column: pl.Series) -> SensitiveKind:
    """What the values of a sensitive column seem to be; numbers may also be codes.

    >>> columns = {"amount": [1.5, 2.0], "diagnosis": [250, 401], "number_diagnoses": [2, 3]}
    >>> [kind_of(pl.Series(name, cells)) for name, cells in columns.items()]
    ['numeric', 'text', 'numeric']
    """
    guessed = guess_column(column).kind
    if guessed == "date":
        return "date"
    name = column.name
    is_code = says(name, CODE) or (says(name, SENSITIVE) and not says(name, AMOUNT))
    return "numeric" if guessed == "numeric" and (is_count(name) or not is_code) else "text"


def kind_line(kind: SensitiveKind) -> list[str]:
    """The line of a policy that says what kind of values a column has; text is the default."""
    comment = '  # or "text", if its numbers are codes' if kind == "numeric" else ""
    return [] if kind == "text" else [f'kind = "{kind}"{comment}']


@dataclass(frozen=True)
class Nearby:
    """Intervals of a column that are worth protecting."""

    kind: SensitiveKind
    all_people: int
    width: str = ""  # of closeness; empty if no interval is empty enough
    fullest: int = 0  # the people in an interval that closeness makes, at most
    highest: str = ""  # the least of the highest values; empty if too many people hold the highest
    people: int = 0  # who hold these

    def values(self) -> list[str]:
        """What is protected, where closeness is."""
        dates = self.kind == "date"
        one, many = ("date", "dates") if dates else ("number", "numbers")
        return [
            f"values = []  # no single {one}, because near {many} are protected together:",
            f"closeness = {quoted(self.width)}  # every interval of this width; the fullest has",
            f"                # {self.fullest:,} of {self.all_people:,} people, a wider one over "
            f"{float(FULLEST):.0%}",
        ]

    def closeness_if_transient(self) -> list[str]:
        """How to protect intervals too, where values may persist."""
        if not self.width:
            return []
        return [
            "# Each value is protected by itself. Of values that pass (transient, see below) every",
            "# interval of a width can be protected as well:",
            f"# closeness = {quoted(self.width)}",
        ]

    @property
    def example(self) -> str:
        """An interval, as a class names it."""
        return f">= {self.highest or ('2024-12-01' if self.kind == 'date' else '1000')}"

    @property
    def reason(self) -> str:
        """How many people hold what is in the interval."""
        return f"  # {self.people:,} of {self.all_people:,} people" * bool(self.highest)


def nearby(holders: pl.DataFrame, people: int, kind: SensitiveKind) -> Nearby | None:
    """What to propose for a column of numbers or dates, of whose ``people`` so many hold every
    ``value``; None for texts."""
    if kind == "text":
        return None
    is_date = kind == "date"
    text = holders["value"]
    place = (text.str.to_date().to_physical() if is_date else text).cast(pl.Float64)
    order = holders.with_columns(place=place).sort("place")
    places, held = order["place"].to_numpy(), order["people"].to_numpy()
    width, fullest = _widest(places, held, int(people * FULLEST), kind)
    from_above = np.cumsum(held[::-1])[::-1]
    few = np.flatnonzero(from_above <= (fullest or people * FULLEST))  # it fits the same plan
    if not few.size:
        return Nearby(kind, people, width, fullest)
    first = int(few[0])
    return Nearby(
        kind, people, width, fullest, order["value"].to_list()[first], int(from_above[first])
    )


def _widest(
    places: NDArray[np.float64], held: NDArray[np.int64], most: int, kind: SensitiveKind
) -> tuple[str, int]:
    """The widest intervals of which none has more than ``most`` people, and how many it has."""
    if len(places) < 2:
        return "", 0
    before = np.concatenate([[0], np.cumsum(held)])
    for text in _widths(places, kind):
        closeness = Closeness.of(text, kind)
        reach = float(closeness.width + closeness.step)
        ends = np.searchsorted(places, places + reach, side="right")
        fullest = int((before[ends] - before[:-1]).max())
        if fullest <= most:
            return text, fullest
    return "", 0


def _widths(places: NDArray[np.float64], kind: SensitiveKind) -> Iterator[str]:
    """Round widths, the widest first, down to the least distance of two values."""
    if kind == "date":
        yield from (f"{days} days" if days > 1 else "1 day" for days in _WIDTHS_OF_DATES)
        return
    least = float(np.diff(places).min())
    power = int(np.floor(np.log10(float(places[-1] - places[0]))))
    while 5 * 10.0**power >= least:
        yield from (
            f"{Decimal(digit).scaleb(power):f}"
            for digit in (5, 2, 1)
            if digit * 10.0**power >= least
        )
        power -= 1
