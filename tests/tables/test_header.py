"""Where the first line of a file is a person's row, nothing that is printed shows a name of it."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import random
from pathlib import Path

import polars as pl
import pytest

import serigraph
from cli.running import run
from publishing.clinic import new_series, policy_text
from serigraph.errors import TableError
from serigraph.short_repr import ShortRepr, Undisclosed
from serigraph.tables.header import MOST_COLUMNS, MOST_GUESSED, check_names
from serigraph.tables.roles import guess_roles

HEADERS = [
    "patient,age,zip,diagnosis",
    "PatientID;Alter;PLZ;Diagnose",
    "id,2019,2020,2021,reaction",
    "pid,q1,q2,q3,region",
    "subject_no,DOB,Post code,HIV status",
]
HEADERLESS = {
    "ids and categories": ["P01,f,london,hiv", "P02,m,leeds,gout", "P03,f,london,flu"],
    "numbers": ["31,7,65101", "32,8,65102", "33,9,65103"],
    "dates": ["anna,1975-03-04,hiv", "bob,1980-01-02,flu"],
    "addresses": ["anna@x.example,a,b", "bob@y.example,c,d"],
    "nothing but names": ["anna,smith,london,hiv", "bob,jones,leeds,gout"],
    "cells spelt like columns": ["P01,patients,sexy,zips,agee", "P02,nurse,f,1010,flu"],
    "two cells alike": ["anna,hiv,hiv", "bob,flu,gout"],
}


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_is_taken_for_one(header: str) -> None:
    names = header.replace(";", ",").split(",")
    draw = random.Random(1)
    check_names(pl.DataFrame({name: [str(draw.random())] * 5 for name in names}), [])


@pytest.mark.parametrize("rows", HEADERLESS.values(), ids=HEADERLESS)
def test_no_cell_of_a_file_without_a_header_is_printed(rows: list[str], tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(rows) + "\n")
    series = new_series(tmp_path / "clinic", policy_text())
    cells = {cell for cell in ",".join(rows).split(",") if len(cell) > 2}
    for arguments in (
        ["init", tmp_path / "new", "--from", path],
        ["init", tmp_path / "new", "--from", path, "--person", "patient"],
        ["publish", path, "--series", series.path],
        ["plan", path, "--series", series.path],
    ):
        for as_json in ([], ["--json"]):
            ran = run(*arguments, *as_json)
            assert ran.code == 3, ran.err
            printed = (ran.out + ran.err).replace(str(tmp_path), "")
            assert not [cell for cell in cells if cell in printed], printed


def test_whoever_names_a_column_knows_their_names(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"wer": ["a1", "a2", "a3"] * 9, "was": ["x", "y", "z"] * 9, "wo": [1] * 27}
    )
    with pytest.raises(TableError, match="does not seem to name the columns"):
        guess_roles(table)
    with pytest.raises(TableError, match="which column is sensitive"):
        guess_roles(table, person="wer")


def test_the_nearest_name_is_still_suggested(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("patiant,age,sex,zip,diagnosis\nP01,23,F,1010,flu\n")
    ran = run("publish", path, "--series", new_series(tmp_path / "clinic", policy_text()).path)
    assert "the table has no column 'patient'; did you mean 'patiant'?" in ran.err


@pytest.mark.parametrize("header", ["PATIENT,Age,SEX,Zip,Diagnosis", "patient,Age,SEX,zipp,dia"])
def test_names_in_another_case_count_as_names(header: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{header}\nP01,23,F,1010,flu\n")
    ran = run("publish", path, "--series", new_series(tmp_path / "clinic", policy_text()).path)
    assert "the table has no column 'age'; did you mean 'Age'?" in ran.err


@pytest.mark.parametrize(("columns", "what"), [(MOST_GUESSED, "init"), (MOST_COLUMNS, "publish")])
def test_more_columns_than_anybody_waits_for_are_refused(
    columns: int, what: str, tmp_path: Path
) -> None:
    series = new_series(tmp_path / "clinic", policy_text()).path
    arguments = {
        "init": ["init", tmp_path / "new", "--from"],
        "publish": ["publish", "--series", series],
    }[what]
    for number in (columns + 1, 100_000, 1_000_000):
        path = tmp_path / f"{number}.csv"
        path.write_text(",".join(f"c{i}" for i in range(number)) + "\n" + "1," * (number - 1) + "1")
        ran = run(*arguments, path)
        assert ran.code == 3
        assert "columns; at most" in ran.err or "the first line is longer" in ran.err


@pytest.mark.parametrize("name", ["^age$", "*", "a" * 201, "nul\0"])
def test_a_name_that_stands_for_others_is_left_out_or_refused(name: str, tmp_path: Path) -> None:
    people = 30
    table = pl.DataFrame(
        {
            "patient": [f"P{number}" for number in range(people)],
            name: ["secret"] * people,
            "age": [20 + number % 7 for number in range(people)],
            "diagnosis": ["flu", "gout", "hiv"] * (people // 3),
        }
    )
    roles = guess_roles(table)
    assert list(roles.quasi_identifiers) == ["age"]
    assert name in roles.left_out
    with pytest.raises(TableError, match="cannot be used"):
        guess_roles(table, sensitive=name)


def test_nothing_that_holds_people_shows_them() -> None:
    showing = []
    for module in pkgutil.walk_packages(serigraph.__path__, "serigraph."):
        if "experiments" in module.name or module.name.endswith("__main__"):
            continue  # experiments show what they invented
        for made in vars(importlib.import_module(module.name)).values():
            if not (isinstance(made, type) and dataclasses.is_dataclass(made)):
                continue
            holds = any(
                f"pl.{frame}" in str(field.type)
                for field in dataclasses.fields(made)
                for frame in ("Series", "DataFrame")
            )
            if holds and made.__repr__ not in (Undisclosed.__repr__, ShortRepr.__repr__):
                showing.append(made)
    assert not showing
