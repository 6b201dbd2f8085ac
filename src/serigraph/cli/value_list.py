"""Protected and unprotected values of a table with their holders, as lines for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serigraph.model import ValueOverTime
    from serigraph.tables.value_list import ListedValue, ValueList

_SHOWN = 12
_WIDTH = 96
_LONGEST = 40
_NO_BREAK = "\u00a0"


def value_lines(values: ValueList) -> list[str]:
    """The commonest values that are protected, in a class, or not protected, with holder counts."""
    from serigraph.policy.classes import is_made_by_closeness  # slow to import

    lines = ["Values, with the number of people who hold each:"]
    intervals = [_plain(name) for name in values.classes if is_made_by_closeness(name)]
    listed_classes = {
        name: members for name, members in values.classes.items() if not is_made_by_closeness(name)
    }
    for title, listed in _parts(replace(values, classes=listed_classes)):
        lines += _wrapped(f"{title}: {_enumerated(list(map(_told, listed)))}")
    if intervals:
        told = [name.replace(" ", _NO_BREAK) for name in intervals]
        lines += _wrapped(f"protected by closeness: {_enumerated(told)}")
    return lines


def over_time_lines(values: Sequence[ValueOverTime]) -> list[str]:
    """What the policy assumes of each value and, where holders came back, how many hold it again;
    first those that contradict the policy, then those of which the most have come back."""
    if not values:
        return []
    lines = ["Values over time, by the policy and by the people who came back:"]
    measured = [each for each in values if each.returned]
    measured.sort(key=lambda each: (not _is_contradicted(each), -each.returned, each.name))
    for each in measured[:_SHOWN]:
        told = f"  {_plain(each.name)}: {each.persistence}; {each.words()}"
        lines.append(told + "; CONTRADICTS the policy" * _is_contradicted(each))
    if len(measured) > _SHOWN:
        lines.append(f"  and {len(measured) - _SHOWN:,} more")
    for kind in ("transient", "permanent", "any"):
        names = [each.name for each in values if not each.returned and each.persistence == kind]
        if names:
            shown = [_plain(name).replace(" ", _NO_BREAK) for name in names]
            lines += _wrapped(f"{kind}: {_enumerated(shown)}")
    return lines


def _is_contradicted(value: ValueOverTime) -> bool:
    return value.contradicts and value.persistence == "transient"


def _wrapped(text: str) -> list[str]:
    lines = textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_NO_BREAK, " ") for line in lines]


def _parts(values: ValueList) -> Iterator[tuple[str, Sequence[ListedValue]]]:
    held = [each for each in values.protected if each.people]
    if held:
        yield "protected", held
    for name, members in values.classes.items():
        yield f"protected as class {_plain(name)}", members
    if values.unheld:
        yield "protected but held by nobody", values.unheld
    if values.unprotected:
        yield "not protected", values.unprotected


def _enumerated(told: Sequence[str]) -> str:
    more = f" and {len(told) - _SHOWN:,} more" if len(told) > _SHOWN else ""
    return ", ".join(told[:_SHOWN]) + more


def _told(value: ListedValue) -> str:
    meant = f"; {_plain(value.nearest)}?" if value.nearest else ""
    return f"{_plain(value.name)} ({value.people:,}{meant})".replace(" ", _NO_BREAK)


def _plain(text: str) -> str:
    """One line without control characters."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
