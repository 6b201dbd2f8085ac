"""The whole study: run, written as one CSV a figure, judged, and shown on one page."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import polars as pl

from serigraph._version import __version__
from serigraph.errors import StorageError
from serigraph.experiments.claims import repeatable_claims, time_claims
from serigraph.experiments.page import study_page
from serigraph.experiments.pool import Advance, run_all
from serigraph.experiments.ratios import expected_sizes, ratio_table
from serigraph.experiments.run import Ran, Row
from serigraph.experiments.source import Source
from serigraph.experiments.studies import (
    BASELINES,
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
    FIGURE_9,
    HARDER,
    STRATEGIES,
    Extent,
    all_settings,
)
from serigraph.experiments.study import Study

PAGE = "study.html"
FACTS = "study.csv"  # what the study was run on
TIMES, TIME_CLAIMS = "run-times.csv", "run-time-claims.csv"  # these alone differ from run to run


def reproduce(
    source: Source,
    folder: Path,
    *,
    seed: int = 1,
    workers: int = 1,
    extent: Extent | None = None,
    advance: Advance = lambda done, total, name: None,
) -> Study:
    """Run the study on a source and write ``folder``: CSV files and one HTML page.

    The same source, seed and extent give the same CSV files, whatever the number of workers; only
    those that begin with ``run-time`` differ.
    """
    extent = extent or Extent()
    numbered = source.numbered()
    settings = all_settings(extent, seed)
    small = numbered.sampled(extent.people_in_strategies, seed)
    study = _studied(numbered, extent, run_all(settings, numbered, small, workers, advance))
    _write(study, folder)
    return study


def _studied(source: Source, extent: Extent, series: list[Ran]) -> Study:
    releases = _frame([row for each in series for row in each.releases])
    summaries = _frame([each.summary for each in series])
    seconds = _frame([row for each in series for row in each.seconds])
    ratios = ratio_table()
    claims = tuple(repeatable_claims(releases, ratios))
    tables = {"figure-5.csv": ratios}
    for figure in (FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9):
        tables[f"{figure}.csv"] = _part(releases, figure)
    for part in (BASELINES, HARDER):
        tables[f"{part}.csv"] = _part(summaries, part)
        tables[f"{part}-rounds.csv"] = _part(releases, part)
    tables["strategies.csv"] = _strategies(_part(summaries, STRATEGIES))
    tables[FACTS] = _frame(
        [
            {
                "version": __version__,
                "source": source.name,
                "people": source.people.height,
                "reactions": source.reactions.height,
                "values": source.reactions["value"].n_unique(),
                "series": len(series),
                "rounds": extent.rounds,
                "queries": extent.queries,
            }
        ]
    )
    tables["claims.csv"] = _frame([asdict(claim) for claim in claims])
    return Study(
        source=source.name,
        people=source.people.height,
        reactions=source.reactions.height,
        values=source.reactions["value"].n_unique(),
        extent=extent,
        tables=tables,
        claims=claims,
        claims_of_time=tuple(time_claims(seconds)),
        seconds=seconds,
    )


def _frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


def _part(frame: pl.DataFrame, study: str) -> pl.DataFrame:
    """The rows of one part of the study, without columns that it does not fill."""
    part = frame.filter(pl.col("study") == study)
    return part.select(column for column in part.get_columns() if column.null_count() < len(column))


def _strategies(summaries: pl.DataFrame) -> pl.DataFrame:
    """Expected and measured group sizes, one row a return rate and strategy."""
    rows: list[Row] = []
    for summary in summaries.to_dicts():
        rate, name = summary["series"].split(": ", 1)
        expected = expected_sizes(float(rate), Fraction(1, 2)).get(name, float("nan"))
        rows.append(
            {
                "return_rate": float(rate),
                "strategy": name,
                "expected_size": expected,
                "mean_size": summary["mean_size_with_protected_value"],
                "largest_size": summary["largest_size"],
                "suppressed_share": summary["suppressed_share"],
                "first_round_with_suppression": summary["first_round_with_suppression"],
                "first_round_refused": summary["first_round_refused"],
                "most_links": summary["most_links"],
                "largest_p": summary["largest_p"],
            }
        )
    return _frame(rows)


def _write(study: Study, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in study.tables.items():
            table.write_csv(folder / name, float_precision=6)
        study.seconds.write_csv(folder / TIMES, float_precision=4)
        _frame([asdict(claim) for claim in study.claims_of_time]).write_csv(folder / TIME_CLAIMS)
        (folder / PAGE).write_text(study_page(study), encoding="utf-8")
    except OSError as error:
        raise StorageError(
            "the study could not be written",
            where=str(folder),
            remedy="free space on the disk, or see to its permissions, and run it again",
        ) from error
