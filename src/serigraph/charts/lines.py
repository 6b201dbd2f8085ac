"""Lines over a common axis, linear or logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from serigraph.charts.drawing import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Scale,
    are_whole,
    drawing,
    line,
    linear_from_zero,
    logarithmic,
    number_text,
    text,
    vertical_axis,
)

_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_LEGEND_ROW = 16


@dataclass(frozen=True, slots=True)
class Line:
    """A named line; points that are not finite are left out."""

    name: str
    points: Sequence[tuple[float, float]]

    def drawn(self) -> list[tuple[float, float]]:
        return [(x, y) for x, y in self.points if math.isfinite(x) and math.isfinite(y)]


def line_chart(
    title: str,
    lines: Sequence[Line],
    *,
    x: str,
    y: str,
    limit: float = 0.0,
    limit_name: str = "",
    is_log: bool = False,
) -> str:
    """Lines with a legend below; a ``limit`` above zero is drawn across them."""
    top, floor = TOP + 10, HEIGHT - BOTTOM
    drawn = [each.drawn() for each in lines]
    heights = [b for points in drawn for _, b in points] + ([limit] if limit > 0 else [])
    positive = [each for each in heights if each > 0]
    upward = logarithmic(positive, floor, top) if is_log else linear_from_zero(heights, floor, top)
    places = [a for points in drawn for a, _ in points] or [0.0, 1.0]
    ends = LEFT + 8, WIDTH - RIGHT - 8
    along = Scale(min(places), max(places), *ends, is_whole=are_whole(places))
    parts = vertical_axis(upward)
    for tick in along.ticks():
        parts.append(text(along.at(tick), floor + 15, number_text(tick), anchor="middle"))
    for number, points in enumerate(drawn):
        parts += _line(points, number, along, upward, lines[number].name)
    if limit > 0:
        at = upward.at(limit)
        parts.append(line(LEFT, at, WIDTH - RIGHT, at, "limit"))
        named = f"{limit_name} {number_text(limit)}".strip()
        parts.append(text(WIDTH - RIGHT, at - 4, named, anchor="end", kind="limit-label"))
    parts += [
        line(LEFT, floor, WIDTH - RIGHT, floor, "axis"),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x, anchor="middle"),
        text(0, TOP, y),
    ]
    for number, each in enumerate(lines):
        below = HEIGHT + 8 + _LEGEND_ROW * number
        parts.append(
            f'<polyline points="4,{below - 4} 30,{below - 4}" {_stroke(number)}/>'
            + text(36, below, each.name)
        )
    height = HEIGHT + 4 + _LEGEND_ROW * len(lines)
    return drawing(title, f"Lines: {', '.join(each.name for each in lines)}", parts, height)


def _line(
    points: Sequence[tuple[float, float]], number: int, along: Scale, upward: Scale, name: str
) -> list[str]:
    shown = [(a, b) for a, b in points if not upward.is_log or b > 0]
    at = [(along.at(a), upward.at(b)) for a, b in shown]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
    colour = COLOURS[number % len(COLOURS)]
    dots = [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}">'
        f"<title>{escape(name)}: {number_text(value)}</title></circle>"
        for (a, b), (_, value) in zip(at, shown, strict=True)
    ]
    return [f'<polyline points="{path}" {_stroke(number)}/>', *dots]


def _stroke(number: int) -> str:
    dash = _DASHES[number // len(COLOURS) % len(_DASHES)]
    return f'stroke="{COLOURS[number % len(COLOURS)]}"' + (
        f' stroke-dasharray="{dash}"' if dash else ""
    )
