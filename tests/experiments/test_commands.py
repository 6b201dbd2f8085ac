"""simulate and reproduce from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from serigraph.cli.app import app
from serigraph.errors import InputRefused
from serigraph.ledger import Series
from serigraph.publishing import publish


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_a_simulated_series_can_be_published_as_it_is(tmp_path: Path, file_format: str) -> None:
    """The paper takes values as transient, though most stay with the people who come back."""
    out = tmp_path / "made"
    answer = run(
        "simulate", "--people", 500, "--rounds", 3, "--out", out, "--format", file_format, "--json"
    )
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.output)
    assert told["people"] == 500
    assert {Path(name).name for name in told["files"]} == {path.name for path in out.iterdir()}
    names = ("policy.toml", "protected.txt")
    series = Series.create(tmp_path / "series", {n: (out / n).read_bytes() for n in names})
    for number in (1, 2, 3):
        release = publish(
            out / f"round-{number:02}.{file_format}",
            series,
            registry=out / f"registry.{file_format}",
            assume_transient=(out / "protected.txt").read_text(encoding="utf-8").splitlines(),
        )
        assert release.figures["suppressed_values"] == 0
    assert [each.number for each in series.releases()] == [1, 2, 3]


def test_a_series_is_simulated_from_files(tmp_path: Path) -> None:
    people = pl.DataFrame({"id": range(100), "age": [n % 40 for n in range(100)]})
    values = pl.DataFrame({"id": range(100), "diagnosis": [f"d{n % 30}" for n in range(100)]})
    people.write_csv(tmp_path / "reports.csv")
    values.write_csv(tmp_path / "reactions.csv")
    answer = run(
        *("simulate", "--reports", tmp_path / "reports.csv"),
        *("--reactions", tmp_path / "reactions.csv", "--rounds", 4, "--out", tmp_path / "made"),
    )
    assert answer.exit_code == 0, answer.output
    assert "4 tables from reports.csv: 100 people, 100 reactions, 30 values" in answer.output
    tables = [pl.read_csv(path) for path in sorted((tmp_path / "made").glob("round-*.csv"))]
    assert [table.columns for table in tables] == [["person", "age", "value"]] * 4
    assert tables[0].height == 25
    assert len((tmp_path / "made/protected.txt").read_text().split()) == 3


def test_people_without_values_are_refused(tmp_path: Path) -> None:
    answer = run("simulate", "--reports", tmp_path / "reports.csv", "--out", tmp_path / "made")
    assert isinstance(answer.exception, InputRefused)
    assert not (tmp_path / "made").exists()


def test_the_study_is_reproduced_into_a_folder(tmp_path: Path) -> None:
    answer = run(
        *("reproduce", "--people", 300, "--rounds", 2, "--queries", 20, "--workers", 1),
        *("--out", tmp_path / "study", "--json"),
    )
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.output)
    assert Path(told["page"]).is_file()
    assert all(Path(name).is_file() for name in told["files"])
    assert {claim["where"] for claim in told["claims"]} >= {f"Figure {n}" for n in range(6, 10)}
