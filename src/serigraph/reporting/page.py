"""A page as a list of sections, and how it becomes one HTML file that fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

from jinja2 import Environment, StrictUndefined

from serigraph._version import __version__
from serigraph.charts import CHART_STYLE


@dataclass(frozen=True)
class Table:
    """Rows of text below a heading each; the first column names the row."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it, in this order, and then its parts."""

    heading: str
    lead: str = ""
    facts: Sequence[tuple[str, str]] = ()
    charts: Sequence[str] = ()  # SVG, made by serigraph.charts
    tables: Sequence[Table] = ()
    notes: Sequence[str] = field(default=())
    parts: Sequence[Section] = ()


@dataclass(frozen=True)
class Page:
    """One document; ``holds`` says whether the promise does, where that is what it is about."""

    title: str
    subtitle: str
    verdict: str
    holds: bool | None
    sections: Sequence[Section]


def render(page: Page) -> str:
    """The page as HTML: one file, no script, nothing fetched. All texts are escaped."""
    files = resources.files("serigraph.reporting")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string(files.joinpath("page.html").read_text(encoding="utf-8"))
    style = files.joinpath("page.css").read_text(encoding="utf-8") + CHART_STYLE
    return template.render(page=page, style=style, version=__version__) + "\n"
