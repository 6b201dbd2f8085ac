"""Drafts from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import serigraph
from cli.running import run
from drafts.hospital import Kind, hospital
from publishing.series_digest import digest_of_series


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A series with one release, and the table and the registry of the next."""
    made = hospital(tmp_path, Kind())
    serigraph.publish(made.tables[0], made.series, label="first", **made.options)
    made.tables[1].write_parquet(tmp_path / "second.parquet")
    assert made.registry is not None
    made.registry.write_parquet(tmp_path / "registry.parquet")
    return tmp_path


def of_table(folder: Path) -> list[object]:
    registry = folder / "registry.parquet"
    return [folder / "second.parquet", "--series", folder / "clinic", "--registry", registry]


def test_from_the_draft_to_the_release(folder: Path) -> None:
    clinic = folder / "clinic"
    assert run("drafts", clinic).out == "There are no drafts.\n"
    told = run("draft", *of_table(folder))
    assert told.code == 0, told.err
    name = told.out.splitlines()[0].removeprefix("Draft ")
    assert "since first: " in told.out
    assert "attack, deFinetti" in told.out
    assert "report, with rows before and after" in told.out
    assert name in run("drafts", clinic).out
    assert name in run("status", clinic).out
    shown = run("drafts", clinic, "show", "second", "--json").json
    assert shown["name"] == name
    assert shown["differences"]["since"] == "first"
    assert run("drafts", clinic, "show", name).out.startswith(f"Draft {name}")
    out = run("publish", "--draft", name, "--series", clinic, "--json").json
    assert (out["release"], out["label"]) == (2, "second")
    assert out["figures"]["present"] == shown["figures"]["present"]
    again = run("publish", "--draft", name, "--series", clinic)
    assert again.code == 5
    assert "this draft is out already" in again.err


def test_removing_one(folder: Path) -> None:
    clinic = folder / "clinic"
    before = digest_of_series(clinic) | {"drafts": "folder"}
    made = run("draft", *of_table(folder), "--json").json
    assert [each["name"] for each in run("drafts", clinic, "--json").json] == [made["name"]]
    assert run("drafts", clinic, "discard", "second", "--json").json == {"discarded": made["name"]}
    assert digest_of_series(clinic) == before
    assert run("drafts", clinic, "discard", "second").code == 6


def test_a_dry_run_leaves_nothing(folder: Path) -> None:
    clinic = folder / "clinic"
    before = digest_of_series(clinic)
    told = run("publish", *of_table(folder), "--dry-run")
    assert told.code == 0
    assert "Release 2, second, would be: 120 people published" in told.out
    assert "Nothing was published or kept" in told.out
    known = run("publish", *of_table(folder), "--dry-run", "--json").json
    assert (known["release"], known["label"]) == (2, "second")
    assert digest_of_series(clinic) == before


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (["--label", "x"], "leave out --label"),
        (["--dry-run"], "leave out --dry-run"),
        (["--new-people", "--same-table"], "leave out --new-people, --same-table"),
        (["--engine", "spark"], "leave out --engine"),
    ],
)
def test_a_draft_takes_no_option_of_a_table(folder: Path, more: list[str], match: str) -> None:
    run("draft", *of_table(folder))
    told = run("publish", "--draft", "second", "--series", folder / "clinic", *more)
    assert told.code == 3
    assert match in told.err


def test_neither_a_table_nor_a_draft_or_both(folder: Path) -> None:
    clinic = folder / "clinic"
    assert run("publish", "--series", clinic).code == 3
    assert "leave out the table" in run("publish", *of_table(folder)[:3], "--draft", "x").err
    assert run("drafts", clinic, "discard").code == 3
    assert run("drafts", clinic, "show", "a").code == 6


def test_approving(folder: Path) -> None:
    clinic = folder / "clinic"
    policy = clinic / "policy.toml"
    policy.write_text(policy.read_text() + "[signing]\napprovals = 1\n")
    run("key", folder / "ann")
    refused = run("publish", *of_table(folder))
    assert refused.code == 3
    assert "serigraph publish --draft NAME" in refused.err
    assert "approved with 0 of 1 keys" in run("draft", *of_table(folder)).out
    assert run("publish", "--draft", "second", "--series", clinic).code == 3
    told = run("approve", "second", "--series", clinic, "--key", folder / "ann")
    assert told.code == 0
    assert "approved with 1 of 1 keys" in run("drafts", clinic).out
    again = run("approve", "second", "--series", clinic, "--key", folder / "ann", "--json")
    assert (again.code, json.loads(again.out)["error"]) == (3, "NotApproved")
    out = run("publish", "--draft", "second", "--series", clinic)
    assert out.code == 0
    assert "approved with 1 keys" not in out.out
    assert "approved with 1 key" in out.out
