"""The curves that the paper's text describes, as trends on a small instance."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from serigraph.experiments import Simulation, built_in_source
from serigraph.experiments.claims import ERROR, LARGEST, SIZE
from serigraph.experiments.ratios import expected_sizes, ratio_table
from serigraph.experiments.run import run_series
from serigraph.experiments.setting import Setting
from serigraph.experiments.studies import (
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
    FIGURE_9,
    paper_settings,
    strategies_for,
)

ROUNDS = 6


@pytest.fixture(scope="module")
def releases() -> pl.DataFrame:
    source = built_in_source(3_000)
    settings = paper_settings(Simulation(rounds=ROUNDS))
    rows = [
        row
        for setting in settings
        for row in run_series(replace(setting, queries=1000), source).releases
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def curves(releases: pl.DataFrame, figure: str, measure: str) -> list[np.ndarray]:
    frame = releases.filter(pl.col("study") == figure)
    names = frame["series"].unique(maintain_order=True)
    return [frame.filter(pl.col("series") == name)[measure].to_numpy() for name in names]


@pytest.mark.parametrize("figure", [FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9])
@pytest.mark.parametrize("measure", [ERROR, "error_protected_mean", SIZE])
def test_errors_and_average_sizes_increase_with_the_parameter(
    releases: pl.DataFrame, figure: str, measure: str
) -> None:
    means = [float(curve.mean()) for curve in curves(releases, figure, measure)]
    assert len(means) == 3
    assert means[0] < means[1] < means[2]


@pytest.mark.parametrize("figure", [FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9])
def test_the_largest_size_increases_with_the_parameter(releases: pl.DataFrame, figure: str) -> None:
    means = [float(curve.mean()) for curve in curves(releases, figure, LARGEST)]
    assert means[0] < means[1] < means[2]


@pytest.mark.parametrize("figure", [FIGURE_6, FIGURE_8])
def test_a_constant_ratio_has_the_same_sizes_in_all_rounds(
    releases: pl.DataFrame, figure: str
) -> None:
    for curve in curves(releases, figure, SIZE):
        assert curve.max() <= 1.3 * curve.min()
    for curve in curves(releases, figure, LARGEST):
        assert curve.max() < 2.5 * curve.min()  # much larger groups could be cut


@pytest.mark.parametrize("figure", [FIGURE_7, FIGURE_9])
def test_the_geometric_strategy_hardly_moves_in_few_rounds(
    releases: pl.DataFrame, figure: str
) -> None:
    for curve in curves(releases, figure, SIZE):
        assert curve[1:].max() <= 1.3 * curve[1:].min()


def test_no_release_of_these_needs_suppression(releases: pl.DataFrame) -> None:
    assert releases["suppressed_share"].sum() == 0


def test_the_sizes_are_those_that_the_strategies_ask_for(releases: pl.DataFrame) -> None:
    smallest = {
        (FIGURE_6, "l = 3"): 8,  # k' = 3: 7.91 exactly
        (FIGURE_8, "k' = 5"): 8,
        (FIGURE_8, "k' = 10"): 15,
        (FIGURE_8, "k' = 20"): 30,
        (FIGURE_9, "alpha = 2"): 4,
        (FIGURE_9, "alpha = 5"): 10,
    }
    for (figure, series), size in smallest.items():
        mine = releases.filter((pl.col("study") == figure) & (pl.col("series") == series))
        first = mine.filter(pl.col("round") == 1)[SIZE].item()
        assert size <= first < 2 * size


def test_ratios_are_those_of_figure_5() -> None:
    ratios = ratio_table()
    alpha = [ratios.filter(pl.col("series") == f"alpha = {a}")["ratio"] for a in (3, 5, 10)]
    assert [curve[0] for curve in alpha] == [6, 10, 20]
    assert alpha[0][-1] > alpha[1][-1] > alpha[2][-1]
    for link in range(20):
        by_l = ratios.filter((pl.col("study") == "figure-5b") & (pl.col("link") == link + 1))
        assert by_l["ratio"].is_sorted()
        assert by_l["ratio"].n_unique() == 3


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.95])
def test_the_optimal_schedule_is_expected_to_have_the_smallest_groups(rate: float) -> None:
    sizes = expected_sizes(rate, Fraction(1, 2))
    assert set(sizes) == set(strategies_for(rate)) - {"adaptive"}
    best = sizes["optimal for the rate, as planned"]
    assert best <= min(sizes.values()) * (1 + 1e-9)


def test_where_most_come_back_the_geometric_strategy_runs_out_of_people() -> None:
    simulation = Simulation(rounds=12, return_rate=0.95, change_rate=0.0)
    source = built_in_source(800)
    suppressed = {}
    for name in ("constant, re-planned", "geometric, re-planned"):
        setting = Setting(
            "test", name, strategy=strategies_for(0.95)[name], simulation=simulation, queries=0
        )
        summary = run_series(setting, source).summary
        suppressed[name] = summary["first_round_with_suppression"]
        assert summary["people_above_threshold"] == 0
    assert suppressed["constant, re-planned"] == 0
    assert suppressed["geometric, re-planned"] > 4
