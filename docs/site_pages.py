"""What the site needs beyond the pages in this folder; `make docs` runs it as a hook of MkDocs.

The repository's front pages become pages of the site. Links keep their meaning: to a page of the
site where there is one, and plain words where the target is a file of the repository alone. A
link that leads nowhere is left for MkDocs to complain about.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = Path(__file__).parent
ROOT = DOCS.parent
FRONT = {
    "index.md": ROOT / "README.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "security.md": ROOT / "SECURITY.md",
    "changelog.md": ROOT / "CHANGELOG.md",
}
_LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^```(\w+) .*$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.mdx_configs["toc"] = {"permalink": True, "slugify": anchor}
    return config


def anchor(heading: str, separator: str) -> str:
    """Anchors as a repository's pages have them, so that one link serves both."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    for name, source in FRONT.items():
        files.append(File.generated(config, name, content=source.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    source = FRONT.get(page.file.src_uri, DOCS / page.file.src_uri)

    def replaced(found: re.Match[str]) -> str:
        image, words, link, anchor = found.groups()
        if "://" in link:
            return found[0]
        target = place_of((source.parent / link).resolve())
        if target is None:
            return words
        path = os.path.relpath(target, (DOCS / page.file.src_uri).parent)
        return f"{image}[{words}]({path}{anchor or ''})"

    # What a fence says beside the language is for the tests that run the block.
    return _FENCE.sub(r"```\1", _LINK.sub(replaced, markdown))


def place_of(target: Path) -> Path | None:
    """Where the site has a file or folder of the repository; none if it has not."""
    if target.is_dir():
        target /= "README.md"
        return target if target.is_file() and target.is_relative_to(DOCS) else None
    for name, source in FRONT.items():
        if target == source:
            return DOCS / name
    return None if target.is_file() and not target.is_relative_to(DOCS) else target
