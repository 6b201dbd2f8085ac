"""The cells of generalised tables as other tools write them: which values does a cell stand for?

25   >=40   <18   40+                a value, or everything on one side of it
[20, 30[   ]20, 30]   (20, 30]       ranges; an outward bracket leaves its end out
20-30   20~30   20..30   [17-35]     ranges with both ends
{a, b}   a,b   a/b   a|b   ['a,b']   sets
650**   6500*                        masked letters, one a star
*   ****                             anything
Europe                               a node of the column's taxonomy
2024   2024-05                       dates of a year or a month
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import KINDS, Domain
from serigraph.recoding.labels import MISSING

Mask = NDArray[np.bool_]
Writing = Literal["any", "our labels", "our values"]  # of a release: by any tool, or by Serigraph

_BETWEEN = r"\s*(,|;|~|\.\.|:|–|—|/|\bto\b|-)\s*"
_IN_BRACKETS = (",", ";")  # without brackets these separate the members of a set
_SIDES: dict[str, tuple[bool, bool]] = {  # keeps what is above, includes the bound
    ">=": (True, True),
    "≥": (True, True),
    ">": (True, False),
    "<=": (False, True),
    "≤": (False, True),
    "<": (False, False),
}
_SEPARATORS = (",", ";", "|", "/", "~")
_JOINED = 4  # parts of a set that may belong to one name


class CellReader:
    """Reads the cells of one column, given the values that people have in it."""

    def __init__(
        self, domain: Domain, writing: Writing = "any", null_values: Collection[str] = ()
    ) -> None:
        self._domain = domain
        self._kind = KINDS[domain.kind]
        self._writing = writing
        self._null_values = null_values
        self._shift = int(domain.has_missing)
        self._known = domain.values.slice(self._shift)
        self._texts = self._known.cast(pl.String).to_list()

    def admitted(self, cell: str | None) -> Mask | None:
        """For each code of the domain whether the cell stands for it; None if it is unreadable.

        An empty cell stands for a missing value where anybody has one, otherwise for anything.
        What Serigraph would not have written is read as any tool might have written it.
        """
        if cell is not None and self._writing != "any":
            ours = self._named if self._writing == "our values" else self._labelled
            if (found := ours(cell)) is not None:
                return found
        text = (cell or "").strip()
        if not text or text in self._null_values:
            return self._missing() if self._shift else self._anything()
        if set(text) == {"*"}:
            return self._anything()
        return self._read(text)

    def _labelled(self, label: str) -> Mask | None:
        """A label of `serigraph.recoding.labels`: the only reading that is its inverse."""
        if label == MISSING:
            return self._missing() if self._shift else None
        if not (label.startswith("{") and label.endswith("}")):
            return self._named(label) if not self._domain.is_scale else self._single(label)
        first, comma, rest = label[1:-1].partition(", ")
        if first != MISSING:
            return self._names_in(label[1:-1])
        others = self._names_in(rest) if not self._domain.is_scale else self._single(rest)
        return self._missing() | others if self._shift and comma and others is not None else None

    def _names_in(self, listed: str) -> Mask | None:
        """Names with commas between them, either all quoted or none."""
        names = listed.split(", ")
        if listed.startswith('"'):
            try:
                names = json.loads(f"[{listed}]")
            except ValueError:
                return None
        return self._all_of(self._names.get(name) for name in names)

    def _read(self, text: str) -> Mask | None:
        for way in (self._named, self._listed, self._braced, self._range, self._masked):
            found = way(text)
            if found is not None:
                return found
        for separator in _SEPARATORS:
            parts = text.split(separator)
            if len(parts) > 1 and (found := self._union(parts, separator)) is not None:
                return found
        return None

    def _named(self, text: str) -> Mask | None:
        """A value, a node of the taxonomy, or a missing value."""
        if text in self._names:
            return self._names[text]
        if text == MISSING and self._shift:
            return self._missing()
        if self._domain.is_scale and re.fullmatch(self._kind.bound, text):
            first, last = self._kind.points(text)
            return self._where(lambda at: (at >= first) & (at <= last))
        return None

    def _listed(self, text: str) -> Mask | None:
        """A list as Python prints it, each item a cell of its own."""
        if not re.fullmatch(r"[\[{(]\s*['\"].*['\"]\s*,?\s*[\]})]", text, re.DOTALL):
            return None
        try:
            items = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return None
        return self._all_of(self._read(str(item).strip()) for item in items)

    def _braced(self, text: str) -> Mask | None:
        if not (text.startswith("{") and text.endswith("}")):
            return None
        return self._union(list(_split_outside_brackets(text[1:-1])), ",")

    def _union(self, parts: list[str], separator: str) -> Mask | None:
        """The parts together; neighbours are joined where a value has the separator in its name."""
        together, begin = self._nothing(), 0
        while begin < len(parts):
            for end in range(min(begin + _JOINED, len(parts)), begin, -1):
                found = self._single(separator.join(parts[begin:end]).strip())
                if found is not None:
                    together, begin = together | found, end
                    break
            else:
                return None
        return together

    def _single(self, text: str) -> Mask | None:
        for way in (self._named, self._range, self._masked):
            found = way(text)
            if found is not None:
                return found
        return None

    def _range(self, text: str) -> Mask | None:
        pattern = self._bound_pattern
        if pattern is None:
            return None
        sided = re.fullmatch(rf"(>=|≥|>|<=|≤|<)\s*({pattern})", text)
        if sided:
            keeps_above, is_closed = _SIDES[sided[1]]
            first, last = self._kind.points(sided[2])
            if keeps_above:
                low = first if is_closed else last
                return self._where(lambda at: at >= low if is_closed else at > low)
            high = last if is_closed else first
            return self._where(lambda at: at <= high if is_closed else at < high)
        open_ended = re.fullmatch(rf"({pattern})\+", text)
        if open_ended:
            low = self._kind.points(open_ended[1])[0]
            return self._where(lambda at: at >= low)
        between = re.fullmatch(rf"([\[\](]?)\s*({pattern}){_BETWEEN}({pattern})\s*([\[\])]?)", text)
        if between and bool(between[1]) == bool(between[5]):
            is_range = between[1] or between[3] not in _IN_BRACKETS
            return self._between(*between.group(1, 2, 4, 5)) if is_range else None
        return None

    def _between(self, opening: str, low: str, high: str, closing: str) -> Mask | None:
        has_low, has_high = opening in ("", "["), closing in ("", "]")
        below = self._kind.points(low)[0 if has_low else 1]
        above = self._kind.points(high)[1 if has_high else 0]
        if below > above:
            return None
        return self._where(
            lambda at: (
                ((at >= below) if has_low else (at > below))
                & ((at <= above) if has_high else (at < above))
            )
        )

    def _masked(self, text: str) -> Mask | None:
        """Each star is one letter; where no value is as long, stars at the end are any ending."""
        if "*" not in text or not text.replace("*", ""):
            return None
        pattern = "".join("." if letter == "*" else re.escape(letter) for letter in text)
        if not any(len(known) == len(text) for known in self._texts):
            pattern = pattern.rstrip(".") + ".*"
        fits = [re.fullmatch(pattern, known, re.DOTALL) is not None for known in self._texts]
        if not any(fits) and any(separator in text for separator in _SEPARATORS):
            return None  # a set of masks, perhaps
        return self._of_known(np.array(fits, dtype=np.bool_))

    @cached_property
    def _bound_pattern(self) -> str | None:
        """What the ends of ranges look like; categories have ranges only if all are numbers."""
        if self._domain.is_scale:
            return self._kind.bound
        is_digits = bool(self._texts) and all(known.isdecimal() for known in self._texts)
        return r"\d+" if is_digits else None

    @cached_property
    def _positions(self) -> NDArray[np.float64]:
        if not self._domain.is_scale:
            return np.array([float(known) for known in self._texts])
        return self._known.to_physical().cast(pl.Float64).to_numpy()

    @cached_property
    def _names(self) -> dict[str, Mask]:
        names: dict[str, Mask] = {}
        paths = (
            self._domain.taxonomy.paths
            if self._domain.taxonomy is not None
            else [(text,) for text in self._texts]
        )
        for leaf, path in enumerate(paths):
            for name in path:
                mask = names.setdefault(name, self._nothing())
                mask[leaf + self._shift] = True
        return names

    def _where(self, holds: Callable[[NDArray[np.float64]], Mask]) -> Mask:
        return self._of_known(holds(self._positions))

    def _of_known(self, known: Mask) -> Mask:
        return np.concatenate([np.zeros(self._shift, dtype=np.bool_), known])

    def _nothing(self) -> Mask:
        return np.zeros(self._domain.size, dtype=np.bool_)

    def _anything(self) -> Mask:
        return np.ones(self._domain.size, dtype=np.bool_)

    def _missing(self) -> Mask:
        return np.arange(self._domain.size) < self._shift

    def _all_of(self, found: Iterator[Mask | None]) -> Mask | None:
        together = self._nothing()
        for mask in found:
            if mask is None:
                return None
            together |= mask
        return together


def _split_outside_brackets(text: str) -> Iterator[str]:
    """The parts between commas that are not inside a range.

    >>> list(_split_outside_brackets("missing, [20, 31]"))
    ['missing', ' [20, 31]']
    """
    depth, begin = 0, 0
    for place, letter in enumerate(text):
        if letter == "," and depth == 0:
            yield text[begin:place]
            begin = place + 1
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth = max(depth - 1, 0)
    yield text[begin:]
