"""What all charts share: the frame, the scales, and text that cannot break out of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

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
"""

# Told apart in print and by people who do not see red and green apart (Okabe and Ito).
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
        parts.append(text(LEFT - 6, y + 4, number_text(tick), anchor="end"))
    return parts


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
