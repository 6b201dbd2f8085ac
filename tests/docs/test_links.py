"""Links between the pages lead somewhere, and every page can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, name_of

LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
WITHOUT_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def links_of(page: Path) -> list[str]:
    text = WITHOUT_CODE.sub("", page.read_text(encoding="utf-8"))
    return [link for link in LINK.findall(text) if "://" not in link]


def anchors_of(page: Path) -> set[str]:
    """The anchors that headings get: lower case, blanks as hyphens, other signs dropped."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links_of(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        found = {(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)}
        found |= {page for folder in found if folder.is_dir() for page in folder.glob("*.md")}
        ahead += [p for p in found if p.suffix == ".md" and p.is_file() and p not in reached]
    assert set(PAGES) <= reached


def test_the_make_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {
        target
        for page in PAGES
        for target in re.findall(r"`make ([\w-]+)`", page.read_text(encoding="utf-8"))
    }
    assert {"demo", "test"} <= named <= targets
