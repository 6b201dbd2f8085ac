"""Audits of releases that other tools made: what is said of values that persist."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from serigraph.auditing import RELEASES_STAGES
from serigraph.errors import TableError
from serigraph.web.dialects import Dialect, header_of, source_of, translated
from serigraph.web.jobs import Job
from serigraph.web.tasks import TASKS
from web.asking import Site, opened

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


def _in_other_words(text: str) -> str:
    """The same table as another tool might write it."""
    header, *rows = text.splitlines()
    named = header.replace("sex", "Gender").replace("zipcode", "ZIP").replace("id,", "person,")
    return "\n".join([named, *rows]).replace(",", ";") + "\n"


def test_a_file_in_other_words_is_read_by_those_that_are_chosen(foreign: Path) -> None:
    known = _audited(foreign)
    for name in ("release2.csv", "raw2.csv"):
        (foreign / name).write_text(_in_other_words((foreign / name).read_text()))
    with opened(foreign) as inside:
        inside.enter()
        keys = {each.name: inside.upload(each) for each in sorted(foreign.glob("*.[ct][so]*"))}
        other = keys["release2.csv"]
        page = inside.get("/audit").text
        assert page.count("Not found: ") == 2  # told before anything is run
        assert f'name="column:{other}:sex"' in page
        assert "<option>Gender</option>" in page
        form = {f"part:{key}": "release" for name, key in keys.items() if "release" in name}
        form |= {f"part:{key}": "raw" for name, key in keys.items() if "raw" in name}
        form |= {f"order:{key}": name[-5] for name, key in keys.items() if name[-5].isdigit()}
        form[f"part:{keys['policy.toml']}"] = "policy"
        inside.post("/audit", form)
        failed = _ended(inside)
        assert failed.state == "failed"
        assert "sex" in repr(failed.error)
        form |= {f"column:{keys['raw2.csv']}:id": "person"}
        for key in (other, keys["raw2.csv"]):
            form |= {f"column:{key}:sex": "Gender", f"column:{key}:zipcode": "ZIP"}
            form |= {f"delimiter:{key}": "semicolon"}
        inside.post("/audit", form)
        job = _ended(inside)
        assert job.state == "done", job.error
        page = inside.get("/audit").text
        assert "Not found: " not in page
        assert page.count("<option selected>Gender</option>") == 2
        copies = list(inside.desk.uploads.folder.rglob("*.parquet"))
        assert len(copies) == 2
        assert all(each.stat().st_mode & 0o077 == 0 for each in copies)
        inside.post("/uploads/" + other + "/forget")
        assert not copies[0].parent.parent.joinpath(other).exists()
    assert job.result["verdict"] == known["verdict"]
    assert [row[1:] for row in _crowds(job.result)] == [row[1:] for row in _crowds(known)]


def _crowds(found: dict[str, Any]) -> list[list[Any]]:
    (crowds,) = [each for each in found["sections"] if each["heading"] == "If values persist"]
    return list(crowds["tables"][0]["rows"])


def _ended(inside: Site) -> Job:
    job = list(inside.desk.jobs._jobs.values())[-1]
    until = time.monotonic() + 120
    while not job.is_over and time.monotonic() < until:
        time.sleep(0.05)
        job = inside.desk.jobs.get(job.key) or job
    return job


def test_signs_of_another_table_are_those_of_the_policy(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        POLICY.replace('zipcode]\nkind = "categorical"', 'zipcode]\nkind = "numeric"')
    )
    path = tmp_path / "t.csv"
    path.write_text("sex|PLZ|disease\nM|1,5|flu\n?|2,5|none, so far\n")
    dialect = Dialect({"zipcode": "PLZ"}, delimiter="|", decimal=",", missing=["?"])
    (copy,) = translated([source_of(path, dialect)], str(policy))
    assert pl.read_parquet(copy).rows(named=True) == [
        {"sex": "M", "disease": "flu", "zipcode": "1.5"},
        {"sex": None, "disease": "none, so far", "zipcode": "2.5"},
    ]
    linked = [source_of(path, dialect), str(path)]
    assert translated([linked, str(path)], str(policy)) == [[copy, str(path)], str(path)]
    with pytest.raises(TableError, match="a column that was chosen is not in the table") as refused:
        translated([source_of(path, Dialect({"sex": "Zebra"}))], str(policy))
    assert "flu" not in str(refused.value)


def test_the_columns_of_a_file_are_those_of_its_beginning(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": [1], "b;c": ["x"]})
    table.write_csv(tmp_path / "t.csv", separator=";")
    table.write_parquet(tmp_path / "t.parquet")
    table.write_ipc(tmp_path / "t.arrow")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    for name in ("t.csv", "t.parquet", "t.arrow"):
        assert header_of(tmp_path / name) == ("a", "b;c")
    for name in ("broken.parquet", "missing.csv", "t.xlsx"):
        assert header_of(tmp_path / name) == ()
