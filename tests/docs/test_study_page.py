"""The page on the study says what its results say."""

from __future__ import annotations

import runpy

from docs.pages import ROOT

GENERATOR = runpy.run_path(str(ROOT / "docs/generate_study.py"))


def test_the_page_is_what_its_results_make_it() -> None:
    """``make study`` writes both."""
    page = GENERATOR["PAGE"].read_text(encoding="utf-8")
    assert page == GENERATOR["page"](), "run: python docs/generate_study.py"
