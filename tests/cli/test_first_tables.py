"""`init` on first tables of many kinds: what it proposes can be published as it stands."""

from __future__ import annotations

import random
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import serigraph
from cli.first_tables import TABLES
from cli.running import Ran, run

ASKED = {"nothing sensitive"}  # which column is sensitive, `init` cannot know


STATED = {1: "", 2: "", 3: "transient"}  # by the seed of a table


Begin = Callable[[str, int], tuple[Ran, Path]]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Begin:
    """What `init` says of a table, and the series that it makes: once for each table and seed."""

    @cache
    def begin(name: str, seed: int) -> tuple[Ran, Path]:
        folder = tmp_path_factory.mktemp("begun")
        made = TABLES[name].write(folder, random.Random(seed))
        options = ["--sensitive", TABLES[name].sensitive] if name in ASKED else []
        options += ["--persistence", STATED[seed]] if STATED[seed] else []
        return run("init", folder / "new series", "--from", made, *options), folder / "new series"

    return begin


@pytest.mark.parametrize("seed", STATED)
@pytest.mark.parametrize("name", TABLES)
def test_the_next_command_publishes(begun: Begin, name: str, seed: int, tmp_path: Path) -> None:
    expected, stated = TABLES[name], STATED[seed]
    said, series = begun(name, seed)
    assert said.code == 0, said.err
    policy = tomllib.loads((series / "policy.toml").read_text(encoding="utf-8"))
    assert policy["person"]["id"] == expected.person
    assert policy["sensitive"]["column"] == expected.sensitive
    assert policy["sensitive"]["form"] == expected.form
    assert set(policy["quasi_identifiers"]) == expected.quasi_identifiers
    assert policy["guarantee"]["minimum_group_size"] == 5
    assert policy["guarantee"]["threshold"] == "1/2"
    assert policy["protected"]["persistence"] == {"default": stated or "any"}

    command = shlex.split(said.out.splitlines()[-1].removeprefix("Then: "))
    assert command[0] == "serigraph"
    done = run(*command[1:])
    assert done.code == 0, done.err
    [folder] = (series / "releases").iterdir()
    published = pl.read_csv(folder / "table.csv", infer_schema=False)
    assert set(published.columns) == {*expected.quasi_identifiers, expected.sensitive}
    serigraph.export(series, tmp_path / "exported", confidential=True)
    groups = pl.read_parquet(tmp_path / "exported" / "groups.parquet")
    assert groups["size"].min() >= 5
    if stated:
        assert published.group_by(sorted(expected.quasi_identifiers)).len()["len"].min() >= 5
    else:
        retired = pl.read_parquet(tmp_path / "exported" / "cohorts.parquet").height
        check_the_price_that_was_told(said.out, groups, retired, published.height)


def check_the_price_that_was_told(said: str, groups: pl.DataFrame, retired: int, rows: int) -> None:
    """What `init` says of the first release came true."""
    (told,) = re.findall(
        r"never again, here (all|[\d,]+ of) ([\d,]+) people after the first release"
        r"(?:, and ([\d,]+) of their records are not shown)?",
        said,
    )
    leaving, people, withheld = (each.removesuffix(" of").replace(",", "") for each in told)
    assert int(people) == groups["size"].sum()
    assert int(people if leaving == "all" else leaving) == retired
    assert "--persistence transient" in said
    if withheld:
        assert rows < int(people)


@pytest.mark.parametrize("seed", STATED)
@pytest.mark.parametrize("name", TABLES)
def test_columns_left_out_are_listed_with_a_reason(begun: Begin, name: str, seed: int) -> None:
    said, _ = begun(name, seed)
    listed: set[str] = set()
    for line in said.out.splitlines():
        if line.startswith("Left out, not published: "):
            names, _, reason = line.partition(": ")[2].partition(" (")
            assert reason
            listed |= set(names.split(", "))
    assert listed == TABLES[name].left_out


@pytest.mark.parametrize("name", TABLES)
def test_the_values_of_the_table_are_shown_with_their_holders(begun: Begin, name: str) -> None:
    said, series = begun(name, 1)
    assert "Values, with the number of people who hold each:" in said.out
    policy = tomllib.loads((series / "policy.toml").read_text(encoding="utf-8"))
    assert ("not protected:" in said.out) == ("except" in policy["protected"])


@pytest.mark.parametrize("name", TABLES)
def test_to_leave_values_unprotected_is_never_the_first_hint(begun: Begin, name: str) -> None:
    said, _ = begun(name, 1)
    for line in said.out.splitlines():
        if line.startswith("Please check:") and re.search(r"protected\b(?!\.)", line):
            assert "registry" in line
            assert "unprotected" not in line
            assert "except" not in line.partition("registry")[0]


def test_the_first_release_of_the_readme_in_processes_of_their_own(tmp_path: Path) -> None:
    made = TABLES["readme"].write(tmp_path, random.Random(0))
    start = [sys.executable, "-m", "serigraph"]
    said = subprocess.run(
        [*start, "init", "clinic", "--from", made.name],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    command = shlex.split(said.stdout.splitlines()[-1].removeprefix("Then: serigraph "))
    subprocess.run([*start, *command], cwd=tmp_path, check=True, capture_output=True)


def test_a_table_without_an_obvious_sensitive_column_gets_one_question(tmp_path: Path) -> None:
    made = TABLES["nothing sensitive"].write(tmp_path, random.Random(1))
    asked = run("init", tmp_path / "new", "--from", made, "--json")
    assert asked.code == 3
    assert asked.json["remedy"].endswith("--sensitive COLUMN")
    assert asked.json["problems"] == [
        "column 'party': 10 values, texts",
        "column 'plan': 3 values, texts",
        "column 'channel': 2 values, texts",
    ]
    assert not (tmp_path / "new").exists()


def test_a_table_whose_id_is_not_clear_gets_one_question_and_then_a_policy(tmp_path: Path) -> None:
    made = TABLES["visits"].write(tmp_path, random.Random(1))
    rows = pl.read_csv(made).drop("sex", "birth_year").rename({"visit_id": "id"})
    rows.write_csv(made)
    asked = run("init", tmp_path / "new", "--from", made, "--json")
    assert asked.code == 3
    assert asked.json["remedy"].endswith("--person COLUMN")
    assert [each.split("'")[1] for each in asked.json["problems"]] == ["id", "patient_id"]
    made_new = run("init", tmp_path / "new", "--from", made, "--person", "patient_id")
    assert made_new.code == 0, made_new.err
    assert run("publish", made, "--series", tmp_path / "new").code == 0
