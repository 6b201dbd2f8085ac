"""What may change in a policy once a release is out, and what may not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from serigraph.errors import PolicyChanged
from serigraph.policy.lines import KeyLines
from serigraph.policy.model import Policy
from serigraph.policy.section import Place

_SHOWN = 5
_MAY_RISE = ("guarantee", "minimum_group_size")
# Keys that spell the same thing: where one is not in the text, the other one is.
_ALSO_WRITTEN = {
    ("protected", "values"): ("protected", "file"),
    ("guarantee", "threshold"): ("guarantee", "l"),
}


def check_unchanged(published: Mapping[str, object], now: Policy, text: str, where: str) -> None:
    """Refuse a policy that differs from ``published`` where the promise depends on it.

    ``published`` is what ``Policy.frozen`` gave at the first release, as it was or read back from
    JSON; ``text`` is the policy file of ``now``. Strategy, output, reading and the taxonomies may
    change, and the minimum group size may rise. Raises ``PolicyChanged`` with every change, its
    line, and what it was and is.
    """
    before, after = dict(_leaves(published)), dict(_leaves(now.frozen()))
    lines = KeyLines(text)
    changes = []
    for place in sorted(before.keys() | after.keys()):
        was, is_now = before.get(place), after.get(place)
        if was == is_now or (place == _MAY_RISE and _rose(was, is_now)):
            continue
        line = _line(place, lines)
        changes.append(
            (f"line {line}, " if line else "") + f"{'.'.join(place)} {_difference(was, is_now)}"
        )
    if changes:
        raise PolicyChanged(
            "the policy was changed where the promise of earlier releases depends on it: "
            + "; ".join(changes),
            where=where,
            remedy="put it back, or begin a new series",
        )


def _leaves(frozen: Mapping[str, object], above: Place = ()) -> Iterator[tuple[Place, object]]:
    for key, value in frozen.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _rose(was: object, is_now: object) -> bool:
    return isinstance(was, int) and isinstance(is_now, int) and is_now >= was


def _line(place: Place, lines: KeyLines) -> int:
    if not lines.has(place) and place in _ALSO_WRITTEN:
        place = _ALSO_WRITTEN[place]
    return lines.of(place)


def _difference(was: object, is_now: object) -> str:
    if isinstance(was, list) and isinstance(is_now, list):
        parts = [
            f"{verb} {_shown(names)}"
            for verb, names in (
                ("lost", [name for name in was if name not in is_now]),
                ("gained", [name for name in is_now if name not in was]),
            )
            if names
        ]
        return " and ".join(parts)
    return f"was {_spelt(was)}, is {_spelt(is_now)}"


def _spelt(value: object) -> str:
    if value is None:
        return "absent"
    return _shown(value) if isinstance(value, list) else repr(value)


def _shown(names: list[object]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
