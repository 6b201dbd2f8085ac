"""Short representations of results, as text and in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from html import escape

_LONGEST = 100  # characters of a fact


class ShortRepr:
    """Base of a dataclass with ``repr=False`` that shows its ``_facts``.

    Facts are counts, paths and names from the policy, never anything about a person.
    """

    __slots__ = ()

    def _facts(self) -> Mapping[str, object]:
        raise NotImplementedError

    def _pictures(self) -> str:
        """What a notebook shows below the facts, as HTML."""
        return ""

    def _shown(self) -> list[tuple[str, str]]:
        return [(name, _line(fact)) for name, fact in self._facts().items()]

    def __repr__(self) -> str:
        shown = self._shown()
        width = max(len(name) for name, _ in shown)
        return "\n".join(
            [type(self).__name__, *(f"  {name:<{width}}  {fact}" for name, fact in shown)]
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(fact)}</td></tr>"
            for name, fact in self._shown()
        )
        table = f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>"
        return table + self._pictures()


class Undisclosed:
    """Base of a dataclass with ``repr=False`` that holds people's ids or cells: logs, debuggers and
    failed assertions show its type only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: people's data, not shown>"


def _line(fact: object) -> str:
    """The fact on one line of limited length."""
    if isinstance(fact, int) and not isinstance(fact, bool):
        return f"{fact:,}"
    line = " ".join(str(fact).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def at_most(largest: Fraction, threshold: Fraction | str) -> str:
    """A probability beside its threshold."""
    return f"{float(largest):.4f}, threshold {threshold}"
