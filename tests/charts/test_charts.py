"""Charts are well-formed SVG whatever they are given, and draw what they are given."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serigraph.charts import WIDTH, Bar, Line, Scale, column_chart, line_chart, share_chart

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = st.floats(0, 1e9, allow_nan=False)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=40)


def elements(chart: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(chart).iter(SVG + tag))


@given(st.lists(st.tuples(NAMES, NUMBERS), max_size=30))
def test_columns(bars: list[tuple[str, float]]) -> None:
    chart = column_chart("t", [Bar(name, length) for name, length in bars], x="x", y="y", limit=1)
    drawn = [each for each in elements(chart, "rect") if "bar" in each.attrib["class"]]
    assert len(drawn) == len(bars) == len(told(chart))
    heights = [float(each.attrib["height"]) for each in drawn]
    assert all(height >= 0 for height in heights)
    if bars:
        tallest = max(range(len(bars)), key=lambda place: bars[place][1])
        assert heights[tallest] == max(heights)


@given(st.lists(st.tuples(NAMES, st.lists(NUMBERS, max_size=8)), max_size=8), st.booleans())
def test_lines(lines: list[tuple[str, list[float]]], is_log: bool) -> None:
    given = [Line(name, [(float(x), y) for x, y in enumerate(ys)]) for name, ys in lines]
    chart = line_chart("t", given, x="x", y="y", is_log=is_log)
    dots = elements(chart, "circle")
    assert len(dots) == sum(sum(y > 0 or not is_log for y in ys) for _, ys in lines)
    for dot in dots:
        assert 0 <= float(dot.attrib["cx"]) <= WIDTH


def told(chart: str) -> list[str]:
    """What a chart answers to the pointer, from left to right."""
    found = []
    for place in elements(chart, "g"):
        target, title = list(place)
        assert float(target.attrib["width"]) >= 0
        found.append(title.text or "")
    return found


def test_a_place_tells_every_line_there_with_its_exact_number() -> None:
    lines = [
        Line("so far", [(1.0, 1 / 3), (2.0, 0.5)], ["0.3333 (1/3)", "0.5000 (1/2)"]),
        Line("alone", [(1.0, 1 / 3), (2.0, 0.123456789)]),
        Line("ends", [(1.0, 1234567.0), (2.0, math.inf)]),
    ]
    chart = line_chart("t", lines, x="release", y="y", labels={1.0: "2024 & more"})
    assert told(chart) == [
        "2024 & more\nso far: 0.3333 (1/3)\nalone: 0.333\nends: 1.23457M",
        "release 2\nso far: 0.5000 (1/2)\nalone: 0.123",
    ]
    (target, _), (last, _) = (list(each) for each in elements(chart, "g"))
    width = float(target.attrib["width"]) + float(last.attrib["width"])
    assert width > WIDTH * 0.8  # no place between two points is silent


def test_the_numbers_of_an_axis_fit_beside_it() -> None:
    chart = line_chart("t", [Line("n", [(1.0, 2.0), (2.0, 1e5)])], x="x", y="y", is_log=True)
    beside = [each.text or "" for each in elements(chart, "text") if each.attrib["x"] == "46.0"]
    assert "100k" in beside
    assert max(map(len, beside)) <= 6


def test_points_that_are_not_finite_are_left_out() -> None:
    line = Line("ends", [(1.0, 2.0), (2.0, math.inf), (3.0, math.nan)])
    assert len(elements(line_chart("t", [line], x="x", y="y", is_log=True), "circle")) == 1


def test_shares_and_what_lies_beyond() -> None:
    bars = [Bar("a < b & c", 0.4, is_beyond=True, allowed=0.1), Bar("d", 0.01, allowed=0.1)]
    chart = share_chart("Shares", bars, note="red: allowed")
    kinds = [each.attrib["class"] for each in elements(chart, "rect")]
    assert kinds == ["bar beyond", "bar"]
    assert len([each for each in elements(chart, "line") if each.attrib["class"] == "limit"]) == 2
    assert "a < b & c" in [each.text for each in elements(chart, "text")]


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(0, 1, 0, 1), [0, 0.5, 1.0]),
        (Scale(0, 20, 0, 1), [0, 5, 10, 15, 20]),
        (Scale(1, 1000, 0, 1, is_log=True), [1, 10, 100, 1000]),
        (Scale(3, 3, 0, 1), [3]),
        (Scale(0.1, 0.95, 0, 1), [0.25, 0.5, 0.75]),
        (Scale(1, 2, 0, 1, is_whole=True), [1, 2]),
        (Scale(1, 3, 0, 1, is_whole=True), [1, 2, 3]),
        (Scale(1, 11, 0, 1, is_whole=True), [2, 4, 6, 8, 10]),
        (Scale(1, 20, 0, 1, is_whole=True), [5, 10, 15, 20]),
    ],
)
def test_ticks(scale: Scale, ticks: list[float]) -> None:
    assert scale.ticks() == pytest.approx(ticks)


@given(st.integers(0, 50), st.integers(0, 3000))
def test_numbers_of_releases_are_marked_where_they_are(first: int, more: int) -> None:
    chart = line_chart(
        "t", [Line("p", [(first + 0.0, 0.5), (first + more + 0.0, 0.5)])], x="release", y="p"
    )
    marks = [
        each.text or ""
        for each in elements(chart, "text")
        if each.attrib["text-anchor"] == "middle" and each.text != "release"
    ]
    assert marks
    assert all(first <= int(mark.replace(",", "")) <= first + more for mark in marks)
