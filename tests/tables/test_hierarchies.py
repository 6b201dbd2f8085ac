"""Taxonomies that are built from a table."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import serigraph
from cli.running import run
from model.settings import unhurried
from serigraph.errors import InputRefused, SerigraphError, TableError, TaxonomyError
from serigraph.tables import BuiltTaxonomy, prepare, read_taxonomy
from tables.examples import clinic_policy, clinic_table

TABLE = pl.DataFrame(
    {
        "age": [34, 7, 19, 20, None],
        "height": ["1,70", "1,5", "1,749", "0,2", "1,75"],
        "icd": ["I10", "I10.9", "E11", "I25", "E11"],
        "block": ["I10-I15", "I10-I15", "E10-E14", "I20-I25", "E10-E14"],
        "chapter": ["IX", "IX", "IV", "IX", "IV"],
        "born": [date(1990, 1, 31), date(1989, 12, 1), date(1990, 4, 1), None, date(2001, 2, 3)],
        "grade": ["low", "high", "middle", "low", "high"],
    }
)


def built(column: str, by: Any, *parts: Any) -> BuiltTaxonomy:
    return serigraph.taxonomy(TABLE, column, by=by, parts=parts)


def rows(column: str, by: Any, *parts: Any) -> list[str]:
    return built(column, by, *parts).text.splitlines()


def test_masks_hide_characters_from_the_right() -> None:
    assert rows("icd", "mask", 3, 1) == [
        *("E11;E11**;E****;*", "I10;I10**;I****;*"),
        *("I10.9;I10**;I****;*", "I25;I25**;I****;*"),
    ]
    assert len(built("icd", "mask").taxonomy.paths[0]) == 6


def test_intervals_are_nested_and_exact() -> None:
    assert rows("age", "intervals", 5, 20) == [
        *("7;[5, 10[;[0, 20[;*", "19;[15, 20[;[0, 20[;*"),
        *("20;[20, 25[;[20, 40[;*", "34;[30, 35[;[20, 40[;*"),
    ]
    assert rows("height", "intervals", "0.05")[-2:] == ["1,749;[1.7, 1.75[;*", "1,75;[1.75, 1.8[;*"]


def test_dates_come_together_by_the_calendar() -> None:
    assert rows("born", "dates")[0] == "1989-12-01;1989-12;1989;1980-1989;*"
    assert rows("born", "dates", "quarter", "year") == [
        *("1989-12-01;1989-Q4;1989;*", "1990-01-31;1990-Q1;1990;*"),
        *("1990-04-01;1990-Q2;1990;*", "2001-02-03;2001-Q1;2001;*"),
    ]


def test_an_order_joins_neighbours() -> None:
    assert rows("grade", "order", "low", "middle", "high") == [
        *("low;low to middle;*", "middle;low to middle;*", "high;high;*"),
    ]


def test_codes_stand_below_what_other_columns_say() -> None:
    assert rows("icd", "columns", "block", "chapter") == [
        *("E11;E10-E14;IV;*", "I10;I10-I15;IX;*", "I10.9;I10-I15;IX;*", "I25;I20-I25;IX;*"),
    ]


def test_a_file_is_checked_on_the_table(tmp_path: Path) -> None:
    path = tmp_path / "arx.csv"
    path.write_text("low;little;*\nmiddle;much;*\nhigh;much;*\n")
    assert rows("grade", "file", path) == path.read_text().splitlines()
    path.write_text("low;little;*\nmiddle;much;*\n")
    with pytest.raises(TaxonomyError, match=r"1 value of column 'grade'.*rows 2, 5") as refused:
        built("grade", "file", path)
    assert "high" not in str(refused.value)


@pytest.mark.parametrize(
    ("column", "by", "parts", "why"),
    [
        ("age", "magic", (), "by 'magic'"),
        ("absent", "mask", (), "columns are missing"),
        ("icd", "columns", ("absent",), "columns are missing"),
        ("icd", "columns", (), "columns with the parents are missing"),
        ("icd", "columns", ("born",), "no tree"),
        ("icd", "columns", ("grade",), "no tree"),
        ("icd", "mask", (1, 3), "characters kept"),
        ("icd", "mask", (9,), "characters kept"),
        ("icd", "mask", ("x",), "not a number"),
        ("icd", "mask", (1.5,), "not whole"),
        ("icd", "intervals", (5,), "other things than numbers"),
        ("age", "intervals", (), "widths above zero"),
        ("age", "intervals", (0,), "widths above zero"),
        ("age", "intervals", (5, 12), "not a multiple"),
        ("icd", "dates", (), "other things than dates"),
        ("born", "dates", ("year", "month"), "in this order"),
        ("born", "dates", ("week",), "in this order"),
        ("grade", "order", ("low",), "two or more"),
        ("grade", "order", ("low", "low"), "two or more"),
        ("grade", "order", ("low", "high"), "1 value of column 'grade' is not"),
        ("grade", "file", (), "one taxonomy file"),
        ("grade", "file", ("absent.csv",), "cannot be read"),
    ],
)
def test_what_makes_no_taxonomy(column: str, by: Any, parts: Any, why: str) -> None:
    with pytest.raises(SerigraphError, match=why) as refused:
        built(column, by, *parts)
    assert isinstance(refused.value, InputRefused | TableError)
    assert refused.value.remedy
    cells = {str(cell) for row in TABLE.rows() for cell in row if len(str(cell)) > 2}
    assert not any(cell in str(refused.value) for cell in cells - {"low", "high"})


def test_two_branches_of_one_name_are_no_tree() -> None:
    table = pl.DataFrame({"a": ["x", "y"], "b": ["other", "other"], "c": ["one", "two"]})
    with pytest.raises(TaxonomyError, match="several parents in column 'c'") as refused:
        serigraph.taxonomy(table, "a", by="columns", parts=["b", "c"])
    assert "other" not in str(refused.value)


TEXTS = st.text(st.sampled_from("ab;\"* 12é'"), min_size=1, max_size=5).filter(
    lambda text: text.strip() == text
)


@given(st.lists(TEXTS, min_size=1, max_size=20))
@unhurried
def test_what_is_written_reads_back(tmp_path_factory: Any, values: list[str]) -> None:
    made = serigraph.taxonomy(pl.DataFrame({"c": values}), "c", by="mask")
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_text(made.text, encoding="utf-8")
    assert read_taxonomy(path) == made.taxonomy
    assert set(made.taxonomy.leaves) == set(values)
    assert ElementTree.fromstring(made.svg).tag.endswith("svg")


@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=1, max_size=30))
@unhurried
def test_every_number_lies_in_its_intervals(numbers: list[Any]) -> None:
    made = serigraph.taxonomy(
        pl.DataFrame({"c": [str(each) for each in numbers]}), "c", by="intervals", parts=[0.5, 10]
    )
    for path in made.taxonomy.paths:
        outer, inner = (
            [float(end) for end in re.findall(r"-?[\d.]+", label)] for label in path[1:3]
        )
        assert outer[0] <= inner[0] <= float(path[3]) < inner[1] <= outer[1]


def test_a_tree_of_thousands_is_shown_as_deep_as_it_fits() -> None:
    table = pl.DataFrame({"zip": [f"{number:05}" for number in range(0, 100_000, 13)]})
    made = serigraph.taxonomy(table, "zip", by="mask")
    assert len(made.tree.splitlines()) <= 60
    assert "└─ 9****" in made.tree
    assert made.svg.count("<text") <= 400
    assert "<svg" in made._repr_html_()


def test_markup_in_a_label_is_text() -> None:
    made = serigraph.taxonomy(pl.DataFrame({"c": ["<b>&", "<i>"]}), "c", by="mask")
    assert "<b>" not in made.svg
    assert "<b>" not in made._repr_html_()


def test_the_command_writes_draws_and_publishes(tmp_path: Path) -> None:
    clinic_table().write_parquet(tmp_path / "t.parquet")
    taxonomy, picture = tmp_path / "zip.csv", tmp_path / "zip.svg"
    told = run(
        *("taxonomy", tmp_path / "t.parquet", "--column", "zip", "--by", "mask", "--part", "3"),
        *("--out", taxonomy, "--out", picture),
    ).out
    assert "├─ 021**  (2)" in told
    assert "3 leaves on 3 levels; all 3 values of column 'zip' are among them" in told
    assert picture.read_text().startswith("<svg")
    as_json = run(
        *("taxonomy", tmp_path / "t.parquet", "--column", "zip", "--by", "file"),
        *("--part", taxonomy, "--json"),
    ).json
    assert as_json["leaves"] == 3
    wrong = run(
        *("taxonomy", tmp_path / "t.parquet", "--column", "zip", "--by", "mask"),
        *("--out", tmp_path / "zip.png"),
    )
    assert wrong.code == 3
    assert "written as .csv and drawn as .svg" in wrong.err
    change = ('kind = "categorical"', 'kind = "categorical"\ntaxonomy = "zip.csv"')
    policy = clinic_policy(change, folder=tmp_path)
    domain = prepare(clinic_table(), policy).population.domains[2]
    assert domain.taxonomy == read_taxonomy(taxonomy)
