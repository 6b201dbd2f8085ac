"""The page on the study says what the results beside it say."""

from __future__ import annotations

import runpy
from pathlib import Path

import polars as pl
import pytest

from docs.pages import ROOT
from serigraph.experiments import Extent, all_settings

GENERATOR = runpy.run_path(str(ROOT / "docs/generate_study.py"))
RESULTS: Path = GENERATOR["RESULTS"]


def test_the_page_is_what_the_results_make_it() -> None:
    page = GENERATOR["PAGE"].read_text(encoding="utf-8")
    assert page == GENERATOR["page"](RESULTS), "run: python docs/generate_study.py"


def test_the_results_are_those_of_a_whole_study() -> None:
    run = pl.read_csv(RESULTS / "study.csv").row(0, named=True)
    settings = all_settings(Extent(rounds=run["rounds"]), 1)
    assert run["series"] == len(settings)
    for name in ("baselines", "harder"):
        found = pl.read_csv(RESULTS / f"{name}.csv")["series"].to_list()
        assert found == [each.name for each in settings if each.study == name]


@pytest.mark.parametrize("name", ["baselines", "harder"])
def test_another_result_would_be_another_page(tmp_path: Path, name: str) -> None:
    for source in RESULTS.iterdir():
        (tmp_path / source.name).write_bytes(source.read_bytes())
    table = pl.read_csv(tmp_path / f"{name}.csv")
    table.with_columns(pl.col("error_any_mean") + 0.5).write_csv(tmp_path / f"{name}.csv")
    assert GENERATOR["page"](tmp_path) != GENERATOR["page"](RESULTS)
