"""The pages in a real browser: plots drawn, nothing fetched, nothing complained about."""

from __future__ import annotations

from pathlib import Path

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


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, int]]:
    """Three kinds of pages, each with the number of its charts."""
    folder = tmp_path_factory.mktemp("browser")
    series = published(folder / "clinic", releases=3)
    serigraph.report(series)
    known = registry(500)
    plan = serigraph.plan(
        tables(known, 4, 300)[3], series, registry=known, releases=3, lengths=[4, 8]
    )
    write_plan_page(plan, folder / "plan.html")
    return {
        "release": (series.path / "releases" / "r3" / "report.html", 5),
        "series": (series.path / "report" / "report.html", 5),
        "plan": (folder / "plan.html", 4),
    }


@pytest.mark.parametrize("width", [1280, 390])
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
        assert tab.evaluate("document.scripts.length") == 0
        assert tab.requested == [page.as_uri()], "something was fetched"
        assert tab.complaints == []
        printed = tab.ask("Page.printToPDF", printBackground=True)["data"]
        assert len(printed) > 10_000


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
