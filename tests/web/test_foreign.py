"""Audits of releases that other tools made: what is said of values that persist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serigraph.auditing import RELEASES_STAGES
from serigraph.web.tasks import TASKS

RAW = (
    "id,sex,zipcode,disease\no1,M,65001,flu\no2,M,65002,chlamydia\no3,F,65014,flu\no4,F,65015,fever\n",
    "id,sex,zipcode,disease\no1,M,65001,chlamydia\no2,M,65002,flu\no3,F,65014,fever\no5,F,65010,flu\n",
)
RELEASES = (
    "sex,zipcode,disease\nM,6500*,flu\nM,6500*,chlamydia\nF,6501*,flu\nF,6501*,fever\n",
    "sex,zipcode,disease\nM,6500*,chlamydia\nM,6500*,flu\nF,6501*,fever\nF,6501*,flu\n",
)
POLICY = """version = 1
[person]
id = "id"
[quasi_identifiers.sex]
kind = "categorical"
[quasi_identifiers.zipcode]
kind = "categorical"
[sensitive]
column = "disease"
[protected]
values = ["chlamydia"]
[protected.persistence]
default = "permanent"
[guarantee]
threshold = "4/5"
"""


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """The tables of the paper's introduction, and a policy by which the diagnosis is chronic."""
    for kind, texts in (("raw", RAW), ("release", RELEASES)):
        for number, text in enumerate(texts, 1):
            (tmp_path / f"{kind}{number}.csv").write_text(text)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def _audited(folder: Path, **changes: Any) -> dict[str, Any]:
    told: list[str] = []
    arguments: dict[str, Any] = {
        "releases": [str(folder / f"release{number}.csv") for number in (1, 2)],
        "policy": str(folder / "policy.toml"),
        "raw": [str(folder / f"raw{number}.csv") for number in (1, 2)],
    }
    found = TASKS["audit_foreign"](lambda stage, *_: told.append(stage), **(arguments | changes))
    assert set(told) <= set(RELEASES_STAGES)
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def test_crowds_above_the_threshold_break_the_promise(foreign: Path) -> None:
    found = _audited(foreign)
    assert found["holds"] is False
    assert "2 pairs of a person and a value that persists" in found["verdict"]
    assert "0 of 0" not in found["verdict"]
    (crowds,) = [each for each in found["sections"] if each["heading"] == "If values persist"]
    by_release, by_value = crowds["tables"]
    assert [row[0] for row in by_release["rows"]] == ["release1.csv", "release2.csv"]
    assert [row[3] for row in by_release["rows"]] == [{"exact": "1/2"}, {"exact": "1"}]
    assert by_release["rows"][1][4:] == ["100.0 %", "100.0 %", "100.0 %"]
    assert by_value["rows"][0][:3] == ["chlamydia", "1", "2"]
    assert "1.0000" in found["report"]
    assert "If values persist" in found["report"]


def test_both_ways_in_which_a_promise_breaks_are_said(foreign: Path) -> None:
    text = POLICY.replace('["chlamydia"]', '["chlamydia", "fever"]').replace('"4/5"', '"1/4"')
    policy = text.replace('default = "permanent"', 'default = "permanent"\nfever = "transient"')
    (foreign / "policy.toml").write_text(policy)
    verdict = _audited(foreign)["verdict"]
    assert "are in crowds above their threshold" in verdict
    assert "are above their threshold, of" in verdict


def test_without_the_tables_crowds_cannot_be_told(foreign: Path) -> None:
    registry = foreign / "registry.csv"
    rows = sorted({line.rpartition(",")[0] for text in RAW for line in text.splitlines()[1:]})
    registry.write_text("id,sex,zipcode\n" + "\n".join(rows) + "\n")
    found = _audited(foreign, raw=[], registry=str(registry))
    assert found["holds"] is None
    assert "cannot be told" in found["verdict"]
    (crowds,) = [each for each in found["sections"] if each["heading"] == "If values persist"]
    assert "--raw" not in json.dumps(crowds)
