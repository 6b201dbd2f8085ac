"""``history`` answers for protected values only: of others the ledger knows nothing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import serigraph
from serigraph.cli.app import app
from serigraph.errors import InputRefused
from serigraph.ledger import Series
from serigraph.publishing import publish

POLICY = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
{protected}
[protected.classes]
"a class" = ["chlamydia", "gout"]
[guarantee]
threshold = "1/2"
"""
TABLE = pl.DataFrame(
    {
        "patient": range(60),
        "age": [20 + number % 20 for number in range(60)],
        "diagnosis": ["chlamydia"] + ["flu", "gout", "flu"] + ["flu"] * 56,
    }
)
NAMED = 'values = ["chlamydia"]'
EXCEPTED = 'except = ["flu", "gout"]'


def series_with(protected: str, folder: Path) -> Series:
    text = POLICY.format(protected=protected)
    series = Series.create(folder / "clinic", {"policy.toml": text.encode()})
    publish(TABLE, series, label="r1")
    return series


@pytest.mark.parametrize("protected", [NAMED, EXCEPTED])
def test_a_value_that_is_not_protected_is_refused(protected: str, tmp_path: Path) -> None:
    series = series_with(protected, tmp_path)
    with pytest.raises(InputRefused, match="not protected") as caught:
        serigraph.history(series, 1, "flu")
    assert "'a class', 'chlamydia'" in caught.value.remedy


def test_a_misspelt_value_is_refused_with_the_nearest(tmp_path: Path) -> None:
    series = series_with(NAMED, tmp_path)
    with pytest.raises(InputRefused, match="did you mean 'chlamydia'"):
        serigraph.history(series, 1, "clamydia")


@pytest.mark.parametrize("name", ["chlamydia", "a class"])
def test_protected_values_and_classes_are_answered(name: str, tmp_path: Path) -> None:
    found = serigraph.history(series_with(NAMED, tmp_path), 0, name)
    assert found.was_ever_shown
    assert found.exposures


def test_a_protected_value_that_nobody_has_held(tmp_path: Path) -> None:
    """Whatever is not excepted is protected, also before anybody has it."""
    series = series_with(EXCEPTED, tmp_path)
    found = serigraph.history(series, 0, "cholera")
    assert not found.was_ever_shown
    assert found.probability == 0
    run = CliRunner().invoke(
        app, ["history", str(series.path), "--person", "0", "--value", "cholera"]
    )
    assert run.exit_code == 0
    assert run.output.startswith("This value is protected, and no release has shown it")
