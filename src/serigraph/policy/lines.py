"""On which line of a TOML text a key stands; the standard library's reader does not tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\s*({_KEY})\s*\]\s*(?:#.*)?$")
_ENTRY = re.compile(rf"\s*({_KEY})\s*=")
_PARTS = re.compile(_PART)


class KeyLines:
    """The lines of all headers and keys of a TOML text, counted from 1.

    >>> lines = KeyLines("version = 1\\n[person]\\nid = 'patient'\\n")
    >>> lines.of(("person", "id")), lines.of(("person", "name")), lines.of(("output",))
    (3, 2, 0)
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, ...], int] = {}
        section: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), 1):
            header, entry = _HEADER.match(line), _ENTRY.match(line)
            if header:
                section = _parts(header[1])
                self._note(section, number)
            elif entry:
                self._note((*section, *_parts(entry[1])), number)

    def of(self, place: Sequence[str | int]) -> int:
        """The line of a key, or of the nearest table around it, or 0.

        Parts of the place that the text does not have are skipped: positions in a list, and the
        names that the checker gives to alternatives.
        """
        known: tuple[str, ...] = ()
        for part in place:
            if (*known, str(part)) in self._lines:
                known = (*known, str(part))
        return self._lines.get(known, 0)

    def has(self, place: Sequence[str]) -> bool:
        """Whether this very key or table stands in the text."""
        return tuple(place) in self._lines

    def _note(self, place: tuple[str, ...], number: int) -> None:
        for depth in range(1, len(place) + 1):
            self._lines.setdefault(place[:depth], number)


def _parts(key: str) -> tuple[str, ...]:
    return tuple(
        part[1:-1].replace('\\"', '"').replace("\\\\", "\\") if part[0] in "\"'" else part
        for part in _PARTS.findall(key)
    )
