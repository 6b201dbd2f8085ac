"""The page on the study says what its results say, or of which version its numbers are."""

from __future__ import annotations

import runpy
from pathlib import Path

from docs.pages import ROOT

GENERATOR = runpy.run_path(str(ROOT / "docs/generate_study.py"))


def test_the_page_is_what_its_results_make_it() -> None:
    """``make study`` writes both; until it is run for a version, the page names the earlier one."""
    page = GENERATOR["PAGE"].read_text(encoding="utf-8")
    results: Path = GENERATOR["RESULTS"]
    if results.is_dir():
        assert page == GENERATOR["page"](results), "run: python docs/generate_study.py"
    else:
        assert "from one run of version 0.1.0" in page
