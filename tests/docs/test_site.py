"""The documentation as a site: it builds, and a browser that shows it asks no other host."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, name_of

ELSEWHERE = re.compile(r"\s*(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?([^\"')\s]+)")
FRONT = {"README.md": "index.md"}


class Fetched(HTMLParser):
    """What a browser fetches to show a page; not the links that a reader may follow."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.addresses += [named[name] for name in ("src", "srcset", "data") if name in named]
        if tag == "link" and named.get("rel") != "canonical":
            self.addresses.append(named.get("href", ""))
        self.addresses += IN_STYLES.findall(named.get("style", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_on_it(site: Path) -> None:
    for page in PAGES:
        name = name_of(page).removeprefix("docs/")
        if page.parent == ROOT:
            name = FRONT.get(name, name.lower())
        name = re.sub(r"README\.md$", "index.md", name)
        assert (site / name).with_suffix(".html").is_file(), name


def test_nothing_is_fetched_from_another_host(site: Path) -> None:
    fetched = Fetched()
    for page in site.rglob("*.html"):
        fetched.feed(page.read_text(encoding="utf-8"))
    assert any(address.endswith("ten-releases.svg") for address in fetched.addresses)
    styles = [*site.rglob("*.css"), *site.rglob("*.svg")]
    assert styles
    for style in styles:
        fetched.addresses += IN_STYLES.findall(style.read_text(encoding="utf-8"))
    assert [each for each in fetched.addresses if ELSEWHERE.match(each)] == []


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# A page\n\n[gone](gone.md#there)\n")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("theme:")[0]
    (tmp_path / "mkdocs.yml").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "gone.md" in done.stderr
