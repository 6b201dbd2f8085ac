"""A report as a reader's eye takes it: every piece of text, and where on the page it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_EMPTY = {"meta", "link", "br", "line", "rect", "polyline", "circle"}


@dataclass
class Chart:
    """A drawing: its heading, its tooltips in order, and its words by where they stand."""

    title: str = ""
    tooltips: list[str] = field(default_factory=list)
    words: list[tuple[dict[str, str], str]] = field(default_factory=list)


@dataclass
class Read:
    """The texts of a page by the elements that they are in."""

    headings: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    rows: list[list[str]] = field(default_factory=list)
    charts: dict[str, Chart] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)  # everything else


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Read()
        self._open: list[tuple[str, dict[str, str]]] = []
        self._text = ""
        self._name = ""
        self._chart: Chart | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "svg":
            self._chart = Chart()
        if tag == "tr":
            self.page.rows.append([])
        if tag not in _EMPTY or (tag == "rect" or tag == "circle"):
            self._open.append((tag, given))
        self._text = ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Shapes without words."""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        opened, given = self._open.pop()
        assert opened == tag, f"<{opened}> ends as </{tag}>"
        text, self._text = " ".join(self._text.split()), ""
        if tag == "svg":
            assert self._chart is not None
            self.page.charts[self._chart.title] = self._chart
            self._chart = None
        elif tag == "style" or not text:
            return
        elif self._chart is not None:
            self._of_chart(tag, given, text)
        elif tag in ("h1", "h2", "h3"):
            self.page.headings.append(text)
        elif tag == "dt":
            self._name = text
        elif tag == "dd":
            assert self._name not in self.page.facts, "a fact that is told twice"
            self.page.facts[self._name] = text
        elif tag in ("th", "td"):
            self.page.rows[-1].append(text)
        else:
            self.page.sentences.append(text)

    def _of_chart(self, tag: str, given: dict[str, str], text: str) -> None:
        assert self._chart is not None
        above = self._open[-1][0]
        if tag == "title" and above == "svg":
            self._chart.title = text
        elif tag == "title":
            self._chart.tooltips.append(text)
        else:
            self._chart.words.append((given | {"tag": tag}, text))


def read_page(html: str) -> Read:
    """Take a page apart; every text of it is in exactly one place."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not [tag for tag, _ in reader._open if tag not in ("html",)]
    return reader.page


def has_number(text: str) -> bool:
    return re.search(r"\d", text) is not None
