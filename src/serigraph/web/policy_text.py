"""Edits of the text of a policy, section by section, that leave everything else as it was written:
comments, order, spelling. What the text then means is for the policy's own reader to say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence

from serigraph.publishing.toml_text import key as toml_key
from serigraph.publishing.toml_text import quoted

_HEADER = re.compile(r"\s*\[\s*(.+?)\s*\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*")\s*=""")

Place = tuple[str, ...]


class PolicyText:
    """A policy as blocks: what comes before the first header, then one block per section."""

    def __init__(self, text: str) -> None:
        self._blocks: list[tuple[Place, list[str]]] = [((), [])]
        lines = text.splitlines()
        for number, line in enumerate(lines):
            place = _place(line)
            if place and not _is_within_a_value(self._blocks[-1][1]):
                lead = _comments_before(self._blocks[-1][1]) if number else []
                self._blocks.append((place, [*lead, line]))
            else:
                self._blocks[-1][1].append(line)

    def __str__(self) -> str:
        return "\n".join(line for _, lines in self._blocks for line in lines).rstrip("\n") + "\n"

    def has(self, *place: str) -> bool:
        return any(each == place for each, _ in self._blocks)

    def without(self, *place: str) -> None:
        """Remove a section."""
        self._blocks = [block for block in self._blocks if block[0] != place]

    def add(self, place: Place, body: Iterable[str]) -> None:
        """Put a section behind those that begin alike, or at the end."""
        header = f"[{'.'.join(toml_key(part) for part in place)}]"
        alike = [n for n, (each, _) in enumerate(self._blocks) if each[:1] == place[:1]]
        at = alike[-1] + 1 if alike else len(self._blocks)
        before = self._blocks[at - 1][1]
        gap = [] if not before or not before[-1].strip() else [""]
        self._blocks.insert(at, (place, [*gap, header, *body, ""]))

    def replace(self, place: Place, body: Sequence[str]) -> None:
        """Give a section another body; add it if there is none."""
        for number, (each, lines) in enumerate(self._blocks):
            if each == place:
                header = next(n for n, line in enumerate(lines) if _place(line))
                self._blocks[number] = (place, [*lines[: header + 1], *body, ""])
                return
        self.add(place, body)

    def set(self, place: Place, changes: Mapping[str, object]) -> None:
        """Set keys of a section; a key that is set to None is removed."""
        if not self.has(*place):
            self.add(place, [])
        for each, lines in self._blocks:
            if each == place:
                for name, value in changes.items():
                    _set(lines, name, value)


def _set(lines: list[str], name: str, value: object) -> None:
    at, end = _extent(lines, name)
    comment = ""
    if at < end and "  # " in lines[at] and end - at == 1:
        comment = "  # " + lines[at].rpartition("  # ")[2]
    new = [] if value is None else _spelt(name, value, comment)
    if at < end:
        lines[at:end] = new
        return
    said = [n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
    last = said[-1] + 1 if said else 0
    lines[last:last] = new


def _extent(lines: Sequence[str], name: str) -> tuple[int, int]:
    """The lines of a key and its value, which may go over several."""
    for at, line in enumerate(lines):
        found = _KEY.match(line)
        if found and found[1] == name:
            for end in range(at + 1, len(lines) + 1):
                if _is_whole(lines[at:end]):
                    return at, end
    return 0, 0


def _is_whole(lines: Sequence[str]) -> bool:
    try:
        tomllib.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return False
    return True


def _is_within_a_value(lines: Sequence[str]) -> bool:
    """Whether a list or a text of several lines has begun and not ended."""
    for at in range(len(lines) - 1, -1, -1):
        if _KEY.match(lines[at]):
            return not _is_whole(lines[at:])
    return False


def _comments_before(lines: list[str]) -> list[str]:
    """Take the comments right above a header off the section before it."""
    at = len(lines)
    while at and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    is_own = at > 0 and not lines[at - 1].strip()  # a blank line parts them from that section
    taken = lines[at:] if is_own else []
    if taken:
        del lines[at:]
    return taken


def _spelt(name: str, value: object, comment: str) -> list[str]:
    if isinstance(value, list | tuple):
        if not value:
            return [f"{name} = []{comment}"]
        return [f"{name} = [", *(f"    {quoted(str(each))}," for each in value), "]"]
    if isinstance(value, bool):
        return [f"{name} = {str(value).lower()}{comment}"]
    return [f"{name} = {value if isinstance(value, int) else quoted(str(value))}{comment}"]


def _place(line: str) -> Place:
    """The section that a header opens; empty for any other line."""
    found = _HEADER.match(line)
    if not found or found[1].startswith("["):
        return ()
    try:
        here = tomllib.loads(f"[{found[1]}]")
    except ValueError:
        return ()
    parts: list[str] = []
    while here:
        (name, below), *_ = here.items()
        parts.append(name)
        here = below
    return tuple(parts)
