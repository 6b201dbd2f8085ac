"""Every command as the documentation shows it: results, JSON and exit codes."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from cli.running import run
from publishing.clinic import Clinic, clinic, new_series, policy_text
from serigraph._version import __version__
from serigraph.cli.app import app


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=3, people=200, registered=500, seed=31, protected_share=0.1)


@pytest.fixture
def files(hospital: Clinic, tmp_path: Path) -> Path:
    """Three tables, a registry and a series without a release."""
    for number, table in enumerate(hospital.tables, 1):
        table.write_csv(tmp_path / f"2024H{number}.csv")
    hospital.registry.write_parquet(tmp_path / "registry.parquet")
    new_series(tmp_path / "clinic", policy_text())
    return tmp_path


def test_help_lists_every_command() -> None:
    shown = run("--help")
    assert shown.code == 0
    listed = re.findall(r"^  (\w+)  +\S", shown.out.partition("Commands:")[2], re.MULTILINE)
    assert listed == [command.name for command in app.registered_commands]
    assert {"init", "publish", "status", "history", "export"} <= set(listed)
    without = run()
    assert (without.out + without.err).strip() == shown.out.strip()
    assert run("--version").out == f"serigraph {__version__}\n"


@pytest.mark.parametrize("name", [command.name for command in app.registered_commands])
def test_every_command_says_what_it_does_and_speaks_json(name: str) -> None:
    shown = run(name, "--help")
    assert shown.code == 0
    assert "--json" in shown.out
    documented = next(each.callback for each in app.registered_commands if each.name == name)
    assert documented is not None
    assert documented.__doc__


def test_nothing_heavy_is_imported_before_a_command_runs() -> None:
    heavy = ["altair", "duckdb", "numba", "numpy", "pandas", "polars", "pyarrow", "pydantic"]
    code = (
        "import sys, serigraph.cli; from serigraph.cli.app import app;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_first_series(files: Path) -> None:
    begun = run("init", files / "new", "--from", files / "2024H1.csv", "--json")
    assert begun.code == 0, begun.err
    assert begun.json["path"] == str(files / "new")
    assert Path(begun.json["policy"]).read_text().startswith("# A policy proposed from")
    assert begun.json["files"] == ["taxonomies/zip.csv"]
    said = run("init", files / "other", "--from", files / "2024H1.csv")
    assert "Please check:" in said.out
    assert "Then: serigraph publish" in said.out
    again = run("init", files / "new", "--from", files / "2024H1.csv", "--json")
    assert (again.code, again.json["error"]) == (6, "SeriesExists")


def test_publishing_and_looking_at_it(files: Path, hospital: Clinic) -> None:
    series = files / "clinic"
    empty = run("status", series, "--json")
    assert (empty.code, empty.json["releases"], empty.json["pairs"]) == (0, [], 0)
    assert "No release is out yet." in run("status", series).out

    options = ["--series", series, "--registry", files / "registry.parquet"]
    first = run("publish", files / "2024H1.csv", *options, "--json")
    assert (first.code, first.err) == (0, "")
    assert first.json["release"] == 1
    assert first.json["label"] == "2024H1"
    assert first.json["threshold"] == "1/2"
    assert first.json["adversary"] == "presence unknown"
    assert first.json["notes"] == []
    figures = first.json["figures"]
    assert figures["present"] == 200
    assert 0 < Fraction(figures["largest_probability"]) <= Fraction(1, 2)
    assert {path.name for path in Path(first.json["folder"]).iterdir()} == {
        "certificate.json",
        "report.html",
        "table.csv",
        "table.parquet",
    }
    second = run("publish", files / "2024H2.csv", *options, "--label", "second")
    assert second.code == 0
    before, _, after = second.out.partition("Release 2, second: 200 people published\n")
    assert before.startswith("Values, with the number of people who hold each:\n  protected: ")
    assert "\n  not protected: " in before
    assert "rare-00 (" in before
    assert after.startswith("  ")
    shown = first.json["values"]
    rows = hospital.tables[0]["diagnosis"].value_counts().rows()
    assert {each["name"]: each["people"] for each in shown["protected"] + shown["unprotected"]} == (
        dict(rows)
    )
    assert "guarantee held: worst probability 0." in second.out

    status = run("status", series, "--json").json
    assert [each["label"] for each in status["releases"]] == ["2024H1", "second"]
    assert status["releases"][0]["figures"] == figures
    assert sum(status["pairs_by_tenth_of_budget_spent"]) == status["pairs"] > 0
    assert sum(value["pairs"] for value in status["values"]) == status["pairs"]
    assert status["people_exposed"] <= status["people"] <= 500
    assert len(status["ratio_by_link"]) == 20
    told = run("status", series).out
    assert "2024H1" in told
    assert f"{status['people_exposed']:,} of {status['people']:,} people" in told

    exported = run("export", series, files / "out", "--json")
    assert exported.code == 0
    names = {Path(each).name for each in exported.json["files"]}
    kinds = ("releases", "members", "groups", "values", "thresholds", "classes")
    assert names == {f"{each}.parquet" for each in kinds}
    values = pl.read_parquet(files / "out" / "values.parquet")
    members = pl.read_parquet(files / "out" / "members.parquet")
    assert run("export", series, files / "out2").out.count("\n") == len(kinds)
    assert run("export", series, files / "out").code == 3  # not empty any more
    assert run("export", series, files / "out3", "--confidential").code == 0
    counted = values.group_by("release").agg(pl.sum("count")).sort("release")["count"].to_list()
    holders = pl.read_parquet(files / "out3" / "holders.parquet")
    assert holders.group_by("release").len().sort("release")["len"].to_list() == counted

    group = values.filter(release=1).row(0, named=True)
    person = members.filter(release=1, group=group["group"])["person"][0]
    options = ["--person", person, "--value", group["value"]]
    history = run("history", series, *options, "--json")
    assert history.code == 0
    exposure = history.json["exposures"][0]
    assert (exposure["release"], exposure["count"]) == (1, group["count"])
    kept = Fraction(1)
    for each in history.json["exposures"]:
        kept *= 1 - Fraction(each["count"], each["size"])
    assert Fraction(history.json["survival"]) == kept
    assert Fraction(history.json["probability"]) == 1 - kept
    assert f"n = {exposure['size']:>6,}" in run("history", series, *options).out
    unprotected = run("history", series, "--person", person, "--value", "flu")
    assert unprotected.code == 3
    assert "not protected" in unprotected.err
    assert not unprotected.out


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["publish", "2024H1.csv"], 2, ""),
        (["publish", "2024H1.csv", "--series", "clinic", "--unknown"], 2, ""),
        (["nonsense"], 2, ""),
        (["publish", "nowhere.csv", "--series", "clinic"], 3, "TableError"),
        (["publish", "registry.parquet", "--series", "clinic"], 3, "TableError"),
        (["history", "clinic", "--person", "x", "--value", "y"], 3, "InputRefused"),
        (["publish", "2024H1.csv", "--series", "strict"], 4, "Infeasible"),
        (["publish", "2024H1.csv", "--series", "nowhere"], 6, "SeriesNotFound"),
        (["status", "nowhere"], 6, "SeriesNotFound"),
        (["export", "nowhere", "out"], 6, "SeriesNotFound"),
        (["history", "nowhere", "--person", "x", "--value", "y"], 6, "SeriesNotFound"),
    ],
)
def test_exit_codes(
    files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, error: str
) -> None:
    monkeypatch.chdir(files)
    new_series(files / "strict", policy_text(guarantee='threshold = "1/500"'))
    plain, for_machines = run(*arguments), run(*arguments, "--json")
    assert plain.code == for_machines.code == code
    assert plain.out == ""
    if error:
        assert plain.err.startswith(f"{error}: ")
        assert for_machines.json["error"] == error
        assert for_machines.json["what"]
        assert for_machines.json.keys() == {"error", "what", "where", "remedy", "problems"}
        assert "Traceback" not in plain.err


def test_a_table_that_is_out_already(files: Path) -> None:
    options = ["--series", files / "clinic"]
    assert run("publish", files / "2024H1.csv", *options).code == 0
    again = run("publish", files / "2024H1.csv", *options, "--json")
    assert (again.code, again.json["error"]) == (5, "AlreadyPublished")
    assert "nothing is left to do" in again.err
    same_name = files / "2024h1.csv"
    same_name.write_bytes((files / "2024H2.csv").read_bytes())
    assert run("publish", same_name, *options).code == 5


def test_suppression_has_to_be_allowed(files: Path, hospital: Clinic) -> None:
    crowded = hospital.tables[0].with_columns(
        diagnosis=pl.when(pl.int_range(pl.len()) < 20).then(pl.lit("hiv")).otherwise("diagnosis")
    )
    crowded.write_csv(files / "crowded.csv")
    options = ["publish", files / "crowded.csv", "--series", files / "clinic"]
    refused = run(*options, "--json", "--allow-suppression")
    assert refused.code == 4
    assert "'hiv' is held by 20 of 200 people" in refused.json["problems"][0]
    assert "suppression would tell who was left out" in refused.json["remedy"]
    hospital.registry.write_csv(files / "registry.csv")
    options += ["--registry", files / "registry.csv"]
    refused = run(*options, "--json")
    assert refused.code == 4
    assert "--allow-suppression" in refused.json["remedy"]
    done = run(*options, "--json", "--allow-suppression")
    assert done.code == 0


def test_a_table_from_a_database(files: Path, hospital: Clinic) -> None:
    duckdb = pytest.importorskip("duckdb")
    table = hospital.tables[0].to_arrow()
    with duckdb.connect(str(files / "visits.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE visits AS SELECT *, 2024 AS year FROM given")
        connection.execute("INSERT INTO visits SELECT * REPLACE (2023 AS year) FROM visits")
    query = "SELECT * EXCLUDE year FROM visits WHERE year = 2024"
    said = run("init", files / "new", "--from", files / "visits.duckdb", "--query", query)
    assert 'id = "patient"' in (files / "new" / "policy.toml").read_text()
    command = shlex.split(said.out.splitlines()[-1].removeprefix("Then: serigraph "))
    assert command[-2:] == ["--query", query]
    assert run(*command).code == 0
    options = ["--series", files / "clinic", "--query", query, "--json"]
    done = run("publish", files / "visits.duckdb", *options)
    assert done.code == 0, done.err
    assert (done.json["label"], done.json["figures"]["present"]) == ("visits", 200)
    again = run("publish", files / "2024H1.csv", "--series", files / "clinic")
    assert again.code == 5  # the same table, from a file
