"""Texts that spreadsheets would run: quoted, refused or kept, and read back exactly."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import serigraph
from cli.running import run
from publishing.clinic import new_series, policy_text
from serigraph.errors import PolicyError, TableError
from serigraph.ledger import Series
from serigraph.recoding.output import Formulas, as_cells, as_meant, as_sets, as_written

VALUES = ("=1+1", "@SUM(A1)", "+cmd|x", "-A1", "'=quoted", "flu", "-5", "a;=b", "'s-Hertogenbosch")
COLUMNS = """[quasi_identifiers.temperature]
kind = "numeric"
[quasi_identifiers.town]
kind = "categorical"
"""


def table(shift: int = 0) -> pl.DataFrame:
    """Temperatures below and above zero, towns that look like formulas, and one value each."""
    numbers = pl.int_range(shift, 90 + shift, eager=True)
    return pl.DataFrame(
        {
            "patient": numbers,
            "temperature": numbers % 30 - 15,
            "town": [("=Town", "-3", "Bonn")[number % 3] for number in numbers],
            "diagnosis": [VALUES[number % len(VALUES)] for number in numbers],
        }
    )


def series_of(folder: Path, output: str, *, form: str = "single") -> Series:
    return new_series(
        folder,
        policy_text(
            columns=COLUMNS,
            sensitive=f'column = "diagnosis"\nform = "{form}"',
            protected="""values = ["=1+1", "'=quoted"]""",
            guarantee='threshold = "1/2"\nminimum_group_size = 2',
            strategy='name = "constant"\nreleases = 2',
            output=output,
        ),
    )


def cells_of(folder: Path) -> set[str]:
    """Every cell of the CSV files, as a spreadsheet gets it."""
    cells: set[str] = set()
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            cells.update(cell for row in csv.reader(file) for cell in row)
    return cells


def would_run(cell: str) -> bool:
    """Whether a spreadsheet runs a part of the cell, wherever it splits it."""
    try:
        float(cell)
    except ValueError:
        return any(part[:1] in tuple("=+-@") for part in re.split("[;\t\r\n]", cell))
    return False


@pytest.mark.usefixtures("values_may_stay")
@pytest.mark.parametrize("form", ["generalised", "bucketised"])
@pytest.mark.parametrize("kind", ["single", "rows"])
def test_formulas_are_quoted_and_read_back(form: str, kind: str, tmp_path: Path) -> None:
    series = series_of(tmp_path / "s", f'form = "{form}"\nfiles = ["csv"]', form=kind)
    tables = [table(), table(1)]
    for number, each in enumerate(tables):
        release = serigraph.publish(each, series, label=f"r{number}")
        assert not any(map(would_run, cells_of(release.folder)))
        assert any("CSV files have an apostrophe before each" in note for note in release.notes)
    shown = "|".join(cells_of(release.folder))
    assert "'=1+1" in shown
    assert "''=quoted" in shown
    assert "'-5" not in shown, "a number is no formula"
    audit = serigraph.audit(series)
    assert audit.is_within
    assert audit.files_agree
    assert serigraph.verify(release.folder / "certificate.json").checks
    assert serigraph.evaluate(series, tables[1:]).releases
    folders = [series.path / "releases" / f"r{number}" for number in (0, 1)]
    tolerate = ("overlaps",) if form == "bucketised" else ()  # people who are alike
    found = serigraph.audit(
        releases=folders, policy=series.path / "policy.toml", raw=tables, tolerate=tolerate
    )
    assert found.over_all.worst is not None
    assert found.over_all.worst.value in ("=1+1", "'=quoted")
    if form == "generalised":
        assert found.over_all.largest == audit.over_all.largest


def test_parquet_files_have_the_texts_as_they_are(tmp_path: Path) -> None:
    release = serigraph.publish(table(), series_of(tmp_path / "s", 'form = "generalised"'))
    for shown in (release.tables["table"], pl.read_parquet(release.folder / "table.parquet")):
        assert set(shown["diagnosis"]) == set(VALUES)
    only = series_of(tmp_path / "p", 'form = "generalised"\nfiles = ["parquet"]')
    assert not any("formulas" in note for note in serigraph.publish(table(), only).notes)


def test_formulas_are_refused_if_the_policy_says_so(tmp_path: Path) -> None:
    series = series_of(tmp_path / "s", 'form = "generalised"\nformulas = "refuse"')
    with pytest.raises(TableError, match="6 texts begin like a formula") as refused:
        serigraph.publish(table(), series)
    assert "column 'town': 1 text" in str(refused.value)
    assert "Town" not in str(refused.value)
    assert not series.releases()


def test_formulas_are_kept_if_the_policy_says_so(tmp_path: Path) -> None:
    series = series_of(tmp_path / "s", 'form = "generalised"\nformulas = "keep"\nfiles = ["csv"]')
    release = serigraph.publish(table(), series)
    assert {"=1+1", "-A1", "''=quoted"} <= cells_of(release.folder)
    assert any("a spreadsheet may run them" in note for note in release.notes)
    assert serigraph.audit(series).files_agree


def test_a_column_cannot_be_called_like_a_formula(tmp_path: Path) -> None:
    text = policy_text(columns=COLUMNS.replace("town", '"=town"'), protected='values = "all"')
    series = new_series(tmp_path / "s", text)
    with pytest.raises(PolicyError, match="would run the name of a column"):
        serigraph.publish(table().rename({"town": "=town"}), series)


@pytest.mark.parametrize(
    ("column", "options"),
    [
        ("diagnosis", {"sensitive": "=diagnosis"}),
        ("temperature", {"sensitive": "diagnosis"}),
        ("remark", {"sensitive": "diagnosis", "plain": ["=remark"]}),
        ("remark", {"sensitive": ["diagnosis", "=remark"]}),
    ],
)
def test_no_policy_is_proposed_with_a_column_called_so(
    column: str, options: dict[str, Any], tmp_path: Path
) -> None:
    visits = table().with_columns(diagnosis=pl.col("temperature") % 3 + 100)
    visits = visits.with_columns(pl.format("v{}", pl.col("diagnosis")).alias("diagnosis"))
    visits = visits.with_columns(remark=pl.col("diagnosis").str.to_uppercase())
    renamed = visits.rename({column: f"={column}"})
    with pytest.raises(TableError, match="would run the name of a column") as caught:
        serigraph.init(
            tmp_path / "s", renamed, person="patient", persistence="transient", **options
        )
    assert caught.value.problems == (f"column '={column}'",)
    assert not (tmp_path / "s").exists()


def test_the_command_prints_a_note(tmp_path: Path) -> None:
    series = series_of(tmp_path / "s", 'form = "generalised"')
    table().write_csv(tmp_path / "t.csv")
    ran = run("publish", tmp_path / "t.csv", "--series", series.path)
    assert "note: 6 texts begin like a formula; the CSV files have an apostrophe" in ran.out


TEXTS = st.text(st.sampled_from("=+-@'\t\r\n;\\,\"a5.\uff1d"), max_size=8)


@pytest.mark.parametrize("formulas", ["quote", "keep"])
@given(cells=st.lists(TEXTS, min_size=1, max_size=20))
def test_quoting_can_be_undone(formulas: Formulas, cells: list[str]) -> None:
    texts = pl.DataFrame({"text": cells, "enum": pl.Series(cells).cast(pl.Categorical)})
    texts = texts.with_columns(pl.col("enum").cast(pl.Enum(texts["text"].unique())))
    written = as_written(texts, formulas)
    assert as_meant(written.cast(pl.String)).equals(texts.cast(pl.String))
    if formulas == "quote":
        assert not any(map(would_run, written["text"]))
    sets = pl.Series([cells[:3], [], cells], dtype=pl.List(pl.String))
    sets = sets.list.eval(pl.element().filter(pl.element() != ""))
    assert as_sets(as_cells(sets, formulas)).to_list() == sets.to_list()


@pytest.mark.parametrize("blank", ["\t", "\r", "\n", "\t\r"])
def test_a_formula_behind_a_blank_is_quoted(blank: str) -> None:
    values = pl.DataFrame({"value": [f"a;{blank}=1+1", f"a{blank}@b"]})
    written = as_written(values, "quote")
    assert written["value"].to_list() == [f"a;{blank}'=1+1", f"a{blank}'@b"]
    assert as_meant(written).equals(values)
