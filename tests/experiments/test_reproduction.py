"""The whole study, small: every figure on the page, and the same files from run to run."""

from __future__ import annotations

import re
import runpy
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from serigraph.experiments import Extent, Study, all_settings, built_in_source, reproduce
from serigraph.experiments.reproduction import PAGE, TIME_CLAIMS, TIMES
from serigraph.experiments.run import run_series
from serigraph.experiments.studies import BASELINES, FIGURE_6, HARDER, STRATEGIES

GENERATOR = Path(__file__).parents[2] / "docs/generate_study.py"
EXTENT = Extent(rounds=3, queries=40, people_in_strategies=200, return_rates=(0.3, 0.8))


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Study]:
    folder = tmp_path_factory.mktemp("study")
    unpack: list[tuple[int, int]] = []
    study = reproduce(
        built_in_source(400),
        folder / "one",
        extent=EXTENT,
        advance=lambda done, total, _name: unpack.append((done, total)),
    )
    total = len(all_settings(EXTENT, 1))
    assert unpack == [(done, total) for done in range(1, total + 1)]
    reproduce(built_in_source(400), folder / "two", extent=EXTENT, workers=2)
    return folder / "one", folder / "two", study


def test_two_runs_write_the_same_files_whatever_the_number_of_workers(
    twice: tuple[Path, Path, Study],
) -> None:
    one, two, study = twice
    names = {path.name for path in one.iterdir()}
    assert names == {path.name for path in two.iterdir()}
    assert names == {*study.tables, PAGE, TIMES, TIME_CLAIMS}
    for name in study.tables:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_another_seed_gives_other_figures(twice: tuple[Path, Path, Study]) -> None:
    one, _, _ = twice
    setting = next(each for each in all_settings(EXTENT, 2) if each.study == FIGURE_6)
    other = run_series(setting, built_in_source(400).numbered()).releases
    first = pl.read_csv(one / "figure-6.csv").head(EXTENT.rounds)
    assert [row["records"] for row in other] != first["records"].to_list()


def test_every_part_of_the_study_is_there(twice: tuple[Path, Path, Study]) -> None:
    one, _, study = twice
    for figure in range(6, 10):
        table = pl.read_csv(one / f"figure-{figure}.csv")
        assert table.height == 3 * EXTENT.rounds
        assert table["series"].n_unique() == 3
    baselines = pl.read_csv(one / f"{BASELINES}.csv")
    assert baselines.height == 11
    made = baselines.filter(pl.col("rounds") > 0)
    # Without a registry, and with every value protected, a table this small can be refused at once.
    left = set(baselines["series"]) - set(made["series"])
    assert all(name.endswith("presence known") for name in left)
    for column in ("error_any_mean", "largest_p", "share_above_threshold", "ncp", "kl_divergence"):
        assert made[column].null_count() == 0
    assert pl.read_csv(one / f"{HARDER}.csv").height == 32
    strategies = pl.read_csv(one / f"{STRATEGIES}.csv")
    assert strategies.height == 7 * len(EXTENT.return_rates)
    assert strategies["mean_size"].min() > 1
    refused = study.tables[f"{HARDER}.csv"].filter(pl.col("first_round_refused") > 0)
    assert set(refused["series"]) >= {
        "commonest value at 110% of the feasible share: constant"  # and there is no registry
    }
    assert study.seconds.height < len(all_settings(EXTENT, 1)) * EXTENT.rounds


def test_no_series_of_serigraph_exceeds_its_threshold(twice: tuple[Path, Path, Study]) -> None:
    one, _, _ = twice
    harder = pl.read_csv(one / f"{HARDER}.csv").filter(~pl.col("series").str.contains("Mondrian"))
    ours = pl.read_csv(one / f"{BASELINES}.csv").filter(pl.col("series").str.contains("Serigraph"))
    for table in (harder, ours):
        assert (table["largest_p"] <= table["threshold"] + 1e-6).all()
        assert table["people_above_threshold"].sum() == 0


def test_the_page_of_the_docs_follows_from_the_files(
    twice: tuple[Path, Path, Study], tmp_path: Path
) -> None:
    one, _, study = twice
    written = runpy.run_path(str(GENERATOR))["page"]
    text = written(one)
    assert f"{study.people:,} people" in text
    unseen = [claim for claim in study.claims if not claim.is_seen]
    assert f"{len(study.claims) - len(unseen)} were seen" in text
    together = " ".join(text.split())
    assert all(claim.why in together for claim in unseen)
    for row in study.tables[f"{BASELINES}.csv"].to_dicts():
        assert f"| {row['series']} |" in text
        assert row["largest_p"] is None or f"| {row['largest_p']:.2f} |" in text
    for name in ("study.csv", "claims.csv", f"{HARDER}.csv", f"{STRATEGIES}.csv"):
        (tmp_path / name).write_bytes((one / name).read_bytes())
    other = study.tables[f"{BASELINES}.csv"].with_columns(pl.lit(0.12).alias("largest_p"))
    other.write_csv(tmp_path / f"{BASELINES}.csv")
    assert written(tmp_path) != text


class _Page(HTMLParser):
    """What a page consists of, and what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.charts: list[str] = []
        self.tags: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.tags.add(tag)
        if tag == "svg":
            self.charts.append(found.get("aria-label") or "")
        self.fetched += [value or "" for name, value in found.items() if name in ("src", "href")]


def test_the_page_has_every_figure_and_needs_nothing_else(
    twice: tuple[Path, Path, Study],
) -> None:
    one, _, study = twice
    text = (one / PAGE).read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert page.fetched == []
    assert not page.tags & {"script", "link", "img", "iframe"}
    assert "url(" not in text
    assert len(page.charts) == 2 + 4 * 5 + 3
    for figure in range(5, 10):
        assert f"<h2>Figure {figure}:" in text
    assert text.count('class="text seen"') + text.count('class="text unseen"') == len(
        study.claims
    ) + len(study.claims_of_time)
    assert "Which to choose when" in text


def test_what_was_not_seen_says_why(twice: tuple[Path, Path, Study]) -> None:
    _, _, study = twice
    for claim in (*study.claims, *study.claims_of_time):
        assert bool(claim.why) == (not claim.is_seen), claim
        assert re.search(r"\d|every link", claim.found), claim
