"""Errors cite no page that an installation lacks: pip installs no documentation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docs.pages import ROOT

PACKAGE = ROOT / "src/serigraph"
CITED = re.compile(r"[\w./-]+\.md\b|\bdocs/")


def spoken(path: Path) -> Iterator[str]:
    """Every text in a module but those that stand alone, which are its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in alone:
            yield each.value


def test_no_text_of_the_program_cites_a_page_that_is_not_installed() -> None:
    modules = sorted(PACKAGE.rglob("*.py"))
    texts = [(path, text) for path in modules for text in spoken(path)]
    assert len(texts) > 1000
    cited = [(path.name, page) for path, text in texts for page in CITED.findall(text)]
    assert [(name, page) for name, page in cited if not (PACKAGE / page).is_file()] == []
