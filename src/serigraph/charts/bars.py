"""Bars: columns along an axis, and shares of named things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from serigraph.charts.drawing import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Scale,
    drawing,
    line,
    linear_from_zero,
    number_text,
    text,
    vertical_axis,
)

_LABELS = 10  # that fit under an axis
_ROW = 30


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; ``is_beyond`` marks what lies beyond a limit, ``allowed`` draws the limit itself."""

    name: str
    length: float
    is_beyond: bool = False
    allowed: float | None = None


def column_chart(title: str, bars: Sequence[Bar], *, x: str, y: str, limit: float = 0.0) -> str:
    """Columns side by side; a ``limit`` above zero is drawn across them."""
    top, floor = TOP + 10, HEIGHT - BOTTOM
    scale = linear_from_zero([*(bar.length for bar in bars), limit], floor, top)
    parts = vertical_axis(scale)
    step = (WIDTH - RIGHT - LEFT) / max(len(bars), 1)
    every = -(-len(bars) // _LABELS)
    for number, bar in enumerate(bars):
        left, height = LEFT + step * number, floor - scale.at(bar.length)
        parts.append(
            f'<rect x="{left + step * 0.1:.1f}" y="{floor - height:.1f}" width="{step * 0.8:.1f}" '
            f'height="{height:.1f}" class="bar{" beyond" if bar.is_beyond else ""}">'
            f"<title>{escape(bar.name)}: {number_text(bar.length)}</title></rect>"
        )
        if number % every == 0:
            parts.append(text(left + step / 2, floor + 15, bar.name, anchor="middle"))
    if limit > 0:
        parts.append(line(LEFT, scale.at(limit), WIDTH - RIGHT, scale.at(limit), "limit"))
    parts += [
        line(LEFT, floor, WIDTH - RIGHT, floor, "axis"),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x, anchor="middle"),
        text(0, TOP, y),
    ]
    longest = max(bars, key=lambda bar: bar.length, default=Bar("nothing", 0.0))
    return drawing(title, f"{len(bars)} columns, the tallest at {longest.name}", parts)


def share_chart(title: str, bars: Sequence[Bar], *, note: str = "") -> str:
    """Shares as bars below their names, each with a mark at the share that is allowed."""
    reach = max((max(bar.length, bar.allowed or 0.0) for bar in bars), default=0.0)
    scale = Scale(0.0, reach * 1.05 if reach > 0 else 1.0, 0.0, WIDTH - 60)
    parts = []
    for number, bar in enumerate(bars):
        y = TOP + _ROW * number
        name = bar.name if len(bar.name) <= 46 else bar.name[:45] + "…"
        parts += [
            text(0, y + 10, name),
            f'<rect x="0" y="{y + 14}" width="{max(scale.at(bar.length), 0.5):.1f}" height="9" '
            f'class="bar{" beyond" if bar.is_beyond else ""}"/>',
            text(WIDTH, y + 23, f"{bar.length:.2%}", anchor="end"),
        ]
        if bar.allowed is not None:
            at = scale.at(bar.allowed)
            parts.append(line(at, y + 11, at, y + 26, "limit"))
    height = TOP + _ROW * len(bars) + (18 if note else 0)
    if note:
        parts.append(text(0, height - 4, note, kind="limit-label"))
    return drawing(title, f"{len(bars)} shares", parts, height)
