"""Templates to pages. All texts are escaped; only charts are markup of our own."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from serigraph._version import __version__
from serigraph.web.wording import for_the_page

PACKAGE = "serigraph.web"
_LONGEST = 300  # letters of a fraction to show


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["exact"] = exact
    made.filters["figure"] = figure
    made.filters["said"] = for_the_page
    made.filters["whole"] = lambda number: f"{number:,}"
    made.filters["percent"] = lambda share: f"{100 * share:.1f} %"
    made.globals["version"] = __version__
    return made


def rendered(template: str, **facts: Any) -> str:
    """A template with these facts."""
    return _environment().get_template(template).render(**facts)


_EXACT = Markup(
    '<data class="exact" value="{0}" title="exactly {0}" tabindex="0">{1}</data>'
)  # may be focused: what the pointer can read, the keyboard can


def exact(number: Fraction | str) -> Markup:
    """A decimal number whose exact fraction is shown when the pointer or the focus rests on it.

    >>> print(exact("7/16"))
    <data class="exact" value="7/16" title="exactly 7/16" tabindex="0">0.4375</data>
    """
    spelt = str(number)
    if len(spelt) > _LONGEST:
        spelt = f"{spelt[:_LONGEST]}… ({len(spelt):,} digits)"
    return _EXACT.format(spelt, f"{float(Fraction(number)):.4f}")


def figure(fact: Any) -> Any:
    """A fact of a page: text, or an exact number."""
    return exact(fact["exact"]) if isinstance(fact, dict) else fact


@cache
def static(name: str) -> tuple[bytes, str] | None:
    """A file of the site, and what it is; None if there is no such file."""
    if name == "style.css":
        from serigraph.charts import CHART_STYLE

        page = resources.files("serigraph.reporting").joinpath("page.css").read_text("utf-8")
        own = resources.files(PACKAGE).joinpath("static", name).read_text("utf-8")
        return f"{page}{CHART_STYLE}{own}".encode(), "text/css; charset=utf-8"
    if name in ("app.js", "enter.js"):
        content = resources.files(PACKAGE).joinpath("static", name).read_bytes()
        return content, "text/javascript; charset=utf-8"
    return None
