"""Policies with several sensitive columns and plain ones, on the policy's screen."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.policy import parse_policy
from serigraph.web.forms import Form
from serigraph.web.inspecting import held_values
from serigraph.web.policy_editing import PLAIN, SENSITIVE, edited, role_of, screen

TEXT = """version = 1

[person]
id = "patient"

[quasi_identifiers.born]
kind = "numeric"

[sensitive.diagnosis]

[sensitive.diagnosis.protected]
except = ["flu"]

[sensitive.drug]
form = "delimited"
delimiter = ";"

[sensitive.drug.protected]
values = ["AZT"]

[guarantee]
threshold = "1/2"
minimum_group_size = 2
"""


def _read(text: str) -> dict[str, Any]:
    parse_policy(text, "policy.toml", Path())
    return tomllib.loads(text)


def test_values_are_picked_for_each_column(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "patient": [1, 2, 3],
            "born": [1950, 1960, 1970],
            "diagnosis": ["HIV", "flu", "flu"],
            "drug": ["AZT;aspirin", "aspirin", None],
        }
    )
    table.write_csv(tmp_path / "stays.csv")
    values = held_values(str(tmp_path / "stays.csv"), TEXT, str(tmp_path))["values"]
    holders = {each["name"]: each["people"] for each in values}
    assert holders == {"diagnosis: HIV": 1, "diagnosis: flu": 2, "drug: AZT": 1, "drug: aspirin": 2}
    shown = screen(TEXT, tmp_path, before=TEXT)
    picked = {name for name in holders if shown.is_picked(name)}
    assert picked == {each["name"] for each in values if each["protected"]}
    assert picked == {"diagnosis: HIV", "drug: AZT"}

    form = [("policy", TEXT), ("changed", "pick"), *(("shown", name) for name in holders)]
    chosen = ["diagnosis: HIV", "diagnosis: flu", "drug: aspirin"]
    read = _read(edited(Form([*form, *(("pick", each) for each in chosen)]), tmp_path, ()))
    assert "except" not in read["sensitive"]["diagnosis"]["protected"]
    assert read["sensitive"]["drug"]["protected"] == {"values": ["aspirin"]}


def test_a_column_is_published_as_it_is_and_not_any_more(tmp_path: Path) -> None:
    def with_role(text: str, name: str, role: str) -> str:
        changed = f"role:{name}"
        form = Form([("policy", text), ("changed", changed), (changed, role)])
        return edited(form, tmp_path, [{"name": name, "kind": "numeric"}])

    for name in ("cost", 'cost (in "EUR")'):
        plain = with_role(TEXT, name, PLAIN)
        assert _read(plain)["plain"] == {name: "numeric"}
        policy = parse_policy(plain, "policy.toml", tmp_path)
        assert role_of(policy, name) == PLAIN
        assert role_of(policy, "drug") == "sensitive"
        assert _read(with_role(plain, name, "drop")).get("plain", {}) == {}
    known = _read(with_role(with_role(TEXT, "age", "quasi-identifier"), "born", PLAIN))
    assert (known["plain"], [*known["quasi_identifiers"]]) == ({"born": "numeric"}, ["age"])


def test_values_over_time_are_chosen_for_every_column(tmp_path: Path) -> None:
    def changed(text: str, control: str, new: str) -> str:
        form = Form([("policy", text), ("changed", control), (control, new)])
        return edited(form, tmp_path, [])

    text = changed(TEXT, "persistence", "any")
    columns = _read(text)["sensitive"].values()
    assert [each["protected"]["persistence"] for each in columns] == [{"default": "any"}] * 2
    more = _read(changed(text, "role:ward", SENSITIVE))["sensitive"]
    assert more["ward"]["protected"]["persistence"] == {"default": "any"}
