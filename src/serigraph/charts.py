"""Charts as inline SVG: no script, nothing fetched, readable on paper and on a phone.

A chart is a text to be put into a page. It is 360 units wide, so that its letters keep their size
on a phone; pages lay several charts side by side on wider screens. ``CHART_STYLE`` is the style
sheet that a page needs once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from types import MappingProxyType

WIDTH, HEIGHT = 360, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 30, 44

_FEW = 9  # whole numbers that each get a mark
_LEAST = 1e-300  # below it floats lose their digits

CHART_STYLE = """
svg.chart { width: 100%; max-width: 560px; height: auto; display: block;
  font: 12px system-ui, sans-serif; }
svg.chart text { fill: var(--ink, #1c2733); }
svg.chart .heading { font-weight: 600; font-size: 13px; }
svg.chart .axis { stroke: var(--ink, #1c2733); stroke-width: 1; }
svg.chart .grid { stroke: var(--line, #d5dbe1); stroke-width: 1; }
svg.chart .limit { stroke: #b3261e; stroke-width: 1.5; stroke-dasharray: 5 3; }
svg.chart .limit-label { fill: #b3261e; }
svg.chart .bar { fill: #2f6f9f; }
svg.chart .bar.beyond { fill: #b3261e; }
svg.chart polyline { fill: none; stroke-width: 2; }
svg.chart .target { fill: var(--ink, #1c2733); fill-opacity: 0; }
svg.chart .at:hover .target, svg.chart .at.told .target { fill-opacity: .1; }
"""

_FIGURE = (
    "display:flex;flex-wrap:wrap;gap:16px;background:#fff;color:#1c2733;padding:8px;max-width:80em"
)

# Distinguishable in print and with colour-vision deficiency (Okabe and Ito).
COLOURS = ("#2f6f9f", "#d55e00", "#00795c", "#b0578d", "#8a6d00", "#5a5a5a")


@dataclass(frozen=True)
class Scale:
    """From numbers to units of the drawing, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False
    is_whole: bool = False  # of counts and numbers of releases: nothing lies between them

    def at(self, number: float) -> float:
        low, high, value = (self._warped(each) for each in (self.low, self.high, number))
        share = (value - low) / (high - low) if high > low else 0.0
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)

    def ticks(self) -> list[float]:
        """Round numbers that mark the scale."""
        if self.is_log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            every = max(1, math.ceil((last - first) / 5))
            return [10.0**power for power in range(first, last + 1, every)]
        span = self.high - self.low
        if span < _LEAST:
            return [self.low]
        if self.is_whole and span <= _FEW:
            return self._multiples(1.0)
        rough = span / 4
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough * 0.999)
        marks = self._multiples(step)
        if len(marks) >= 3:
            return marks
        return self._multiples(step // 2 if self.is_whole else step / 2)

    def _multiples(self, step: float) -> list[float]:
        first = math.ceil(self.low / step - 1e-9)
        return [step * number for number in range(first, int(self.high / step + 1e-9) + 1)]

    def _warped(self, number: float) -> float:
        return math.log10(max(number, self.low)) if self.is_log else number


def linear_from_zero(numbers: Iterable[float], start: float, end: float) -> Scale:
    """A scale from zero to a little above the largest number."""
    known = list(numbers)
    high = max(known, default=0.0)
    return Scale(0.0, high * 1.05 if high > 0 else 1.0, start, end, is_whole=are_whole(known))


def are_whole(numbers: Iterable[float]) -> bool:
    """Whether all of them are whole, so that the marks of their axis should be."""
    return all(float(number).is_integer() for number in numbers)


def logarithmic(numbers: Iterable[float], start: float, end: float) -> Scale:
    """A scale of powers of ten around all numbers, which have to be above zero."""
    known = list(numbers)
    low = 10.0 ** math.floor(math.log10(max(min(known), _LEAST))) if known else 1.0
    high = 10.0 ** math.ceil(math.log10(max(*known, _LEAST))) if known else 10.0
    return Scale(low, high if high > low else low * 10, start, end, is_log=True)


def number_text(number: float) -> str:
    """A number as short as an axis needs it.

    >>> [number_text(each) for each in (0, 0.25, 3, 1200, 2_500_000, 1e12)]
    ['0', '0.25', '3', '1,200', '2.5M', '1e+12']
    """
    if number != 0 and (abs(number) >= 1e9 or abs(number) < 1e-3):
        return f"{number:.0e}"
    if abs(number) >= 1e6:
        return f"{number / 1e6:g}M"
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:.3g}"


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    """A text element; the words may be anything."""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def vertical_axis(scale: Scale, right: float = WIDTH - RIGHT) -> list[str]:
    """Grid lines with their numbers, for a scale that runs upwards."""
    parts = []
    for tick in scale.ticks():
        y = scale.at(tick)
        parts.append(line(LEFT, y, right, y, "grid"))
        parts.append(text(LEFT - 6, y + 4, _short(tick), anchor="end"))
    return parts


def _short(number: float) -> str:
    """A number that fits beside an axis.

    >>> _short(100_000), _short(99_999), _short(2_500_000)
    ('100k', '99,999', '2.5M')
    """
    is_long = 1e5 <= abs(number) < 1e6
    return f"{number / 1e3:g}k" if is_long else number_text(number)


def place(x: float, width: float, words: str) -> str:
    """Part of the drawing from top to bottom that answers to the pointer with some words."""
    return (
        f'<g class="at"><rect x="{x:.1f}" y="{TOP}" width="{width:.1f}" '
        f'height="{HEIGHT - BOTTOM - TOP}" class="target"/><title>{escape(words)}</title></g>'
    )


def drawing(title: str, description: str, parts: Sequence[str], height: float = HEIGHT) -> str:
    """The SVG element; ``description`` says in words what the picture shows."""
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}. {escape(description)}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
        + text(0, 14, title, kind="heading")
        + "".join(parts)
        + "</svg>"
    )


def figure(charts: Sequence[str]) -> str:
    """Charts side by side with their style, for a page that is not ours; empty for none."""
    if not charts:
        return ""
    beside = "".join(f"<div style='flex:1 1 320px;max-width:480px'>{each}</div>" for each in charts)
    return f"<style>{CHART_STYLE}</style><div style='{_FIGURE}'>{beside}</div>"


def charts_in(page: str) -> list[str]:
    """The charts of a page, in order."""
    return re.findall(r'<svg class="chart".*?</svg>', page, re.DOTALL)


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
            f'height="{height:.1f}" class="bar{" beyond" if bar.is_beyond else ""}"/>'
            + place(left, step, f"{bar.name}: {number_text(bar.length)}")
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


_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_LEGEND_ROW = 16


@dataclass(frozen=True, slots=True)
class Line:
    """A named line; points that are not finite are left out. ``exact`` has the numbers of the
    points in words, if they are known better than as floats."""

    name: str
    points: Sequence[tuple[float, float]]
    exact: Sequence[str] = ()

    def words(self) -> dict[float, str]:
        """What to say of each of its points, by their places."""
        exact = self.exact or [number_text(y) for _, y in self.points]
        told = zip(self.points, exact, strict=True)
        return {x: f"{self.name}: {words}" for (x, y), words in told if math.isfinite(y)}

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
    labels: Mapping[float, str] = MappingProxyType({}),
) -> str:
    """Lines with a legend below; a ``limit`` above zero is drawn across them. ``labels`` name
    places on the axis to the pointer."""
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
        parts += _line(points, number, along, upward)
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
    parts += _places(lines, along, x, labels)
    height = HEIGHT + 4 + _LEGEND_ROW * len(lines)
    return drawing(title, f"Lines: {', '.join(each.name for each in lines)}", parts, height)


def _places(
    lines: Sequence[Line], along: Scale, axis: str, labels: Mapping[float, str]
) -> list[str]:
    """For every place on the axis what all lines are there, whichever is on top."""
    told = [each.words() for each in lines]
    known = sorted({x for words in told for x in words})
    at = [along.at(x) for x in known]
    ends = [LEFT, *((a + b) / 2 for a, b in pairwise(at)), WIDTH - RIGHT]
    return [
        place(
            left,
            right - left,
            "\n".join(
                [
                    labels.get(x, f"{axis} {number_text(x)}"),
                    *(words[x] for words in told if x in words),
                ]
            ),
        )
        for x, (left, right) in zip(known, pairwise(ends), strict=False)  # none: one, and unused
    ]


def _line(
    points: Sequence[tuple[float, float]], number: int, along: Scale, upward: Scale
) -> list[str]:
    shown = [(a, b) for a, b in points if not upward.is_log or b > 0]
    at = [(along.at(a), upward.at(b)) for a, b in shown]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
    colour = COLOURS[number % len(COLOURS)]
    dots = [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in at]
    return [f'<polyline points="{path}" {_stroke(number)}/>', *dots]


def _stroke(number: int) -> str:
    dash = _DASHES[number // len(COLOURS) % len(_DASHES)]
    return f'stroke="{COLOURS[number % len(COLOURS)]}"' + (
        f' stroke-dasharray="{dash}"' if dash else ""
    )
