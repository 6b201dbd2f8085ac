"""The pages in a real browser: plots drawn, nothing fetched, nothing complained about."""

from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import serigraph
from audit.series_examples import published, registry, tables
from report.browser import browser_path, opened
from serigraph.reporting import write_plan_page

pytestmark = pytest.mark.skipif(
    browser_path() is None, reason="no Chromium or Chrome is installed here"
)

DRAWN = """
Array.from(document.querySelectorAll('svg.chart')).map(chart => {
  const shapes = Array.from(chart.querySelectorAll('rect, polyline, circle'));
  const box = chart.getBoundingClientRect();
  const style = shapes.length ? getComputedStyle(shapes[0]) : {};
  return {
    width: box.width, height: box.height,
    drawn: shapes.filter(each => each.getBoundingClientRect().width > 0).length,
    colour: style.fill + style.stroke,
    cut: Array.from(chart.querySelectorAll('text')).filter(each => {
      const inner = each.getBoundingClientRect();
      return inner.right > box.right + 1 || inner.left < box.left - 1;
    }).map(each => each.textContent),
  };
})
"""

# Words of headings and tables that go on in the next line; a hyphen or a slash may end one.
BROKEN_WORDS = """
Array.from(document.querySelectorAll('h1, h2, h3, dt, th, td')).flatMap(place =>
  Array.from(place.childNodes).filter(node => node.nodeType === Node.TEXT_NODE).flatMap(node =>
    Array.from(node.data.matchAll(/[^\\s\\/-]+/g)).filter(word => {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      return range.getClientRects().length > 1;
    }).map(word => word[0])))
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, int]]:
    """Three kinds of pages, each with the number of its charts."""
    folder = tmp_path_factory.mktemp("browser")
    series = published(folder / "clinic", releases=3)
    serigraph.report(series)
    known = registry(500)
    plan = serigraph.plan(
        tables(known, 4, 300)[3], series, registry=known, releases=6, lengths=[4, 8]
    )
    write_plan_page(plan, folder / "plan.html")
    return {
        "release": (series.path / "releases" / "r3" / "report.html", 5),
        "series": (series.path / "report" / "report.html", 6),
        "plan": (folder / "plan.html", 4),
    }


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("kind", ["release", "series", "plan"])
def test_page(pages: dict[str, tuple[Path, int]], kind: str, width: int) -> None:
    page, charts = pages[kind]
    with opened(page, width=width) as tab:
        found = tab.evaluate(DRAWN)
        assert len(found) == charts
        for chart in found:
            assert chart["drawn"] > 0, "a chart without shapes"
            assert chart["height"] > 60
            assert "rgb" in chart["colour"]
            assert not chart["cut"], "text that leaves its chart"
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, "it scrolls sideways"
        assert tab.evaluate(BROKEN_WORDS) == []
        assert tab.evaluate("document.scripts.length") == 0
        assert tab.requested == [page.as_uri()], "something was fetched"
        assert tab.complaints == []


@pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="no pdftoppm is installed here")
@pytest.mark.parametrize("kind", ["release", "series", "plan"])
def test_printed_page(pages: dict[str, tuple[Path, int]], kind: str, tmp_path: Path) -> None:
    with opened(pages[kind][0], width=1280) as tab:
        printed = tab.ask("Page.printToPDF", printBackground=True)["data"]
    (tmp_path / "page.pdf").write_bytes(base64.b64decode(printed))
    subprocess.run(["pdftoppm", "-r", "20", "-gray", "page.pdf", "sheet"], cwd=tmp_path, check=True)
    sheets = [blank_below(sheet) for sheet in sorted(tmp_path.glob("sheet-*.pgm"))]
    assert all(blank < 0.35 for blank in sheets[:-1]), "a sheet that is half empty"
    assert sheets[-1] < 0.9, "a sheet for the footer alone"


def blank_below(sheet: Path) -> float:
    """The part of a printed sheet below its last ink."""
    data = sheet.read_bytes()
    width, height = map(int, data.split(maxsplit=3)[1:3])
    rows = np.frombuffer(data[-width * height :], dtype=np.uint8).reshape(height, width)
    return float(1 - (np.flatnonzero((rows < 250).any(axis=1)).max(initial=-1) + 1) / height)


def test_the_browser_would_notice(tmp_path: Path) -> None:
    """A page that fetches and fails is seen to do so."""
    page = tmp_path / "bad.html"
    page.write_text(
        "<html><body><img src='http://127.0.0.1:9/x.png'><script>nothing()</script></body></html>"
    )
    with opened(page, width=800) as tab:
        tab.evaluate("1")
        assert any("127.0.0.1" in url for url in tab.requested)
        assert any("nothing" in complaint for complaint in tab.complaints)
