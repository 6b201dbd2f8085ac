"""What workers do, in this process: results are JSON, and hold no id."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import serigraph
from serigraph import experiments
from serigraph.web.tasks import TASKS, stages_of
from web.conftest import POLICY, table_of


def _run(task: str, **arguments: Any) -> dict[str, Any]:
    """The result, after a check that every stage was announced."""
    told: list[str] = []

    def progress(stage: str, done: int = 0, total: int = 1, /) -> None:
        told.append(stage)

    result = TASKS[task](progress, **arguments)
    assert told
    assert set(told) <= set(stages_of(task)), (task, told)
    return json.loads(json.dumps(result))  # type: ignore[no-any-return]


def test_what_a_series_shows_has_no_id(published: Path, tmp_path: Path) -> None:
    series = published / "clinic"
    shown = {
        "standing": _run("standing", series=str(series)),
        "audit": _run("audit", series=str(series)),
        "attack": _run("attack", series=str(series)),
        "report": _run("report", series=str(series), out=str(tmp_path / "report")),
        "verify": _run(
            "verify", certificate=str(series / "releases" / "2024H1" / "certificate.json")
        ),
        "person": _run("person", series=str(series), person="P0000", value="HIV"),
    }
    assert "P0" not in json.dumps(shown)
    assert shown["audit"]["holds"] is shown["verify"]["holds"] is True
    assert "<h1>Audit of clinic</h1>" in shown["audit"]["report"]
    facts = dict(shown["standing"]["sections"][0]["facts"])
    assert facts["People ever in a release"] == "240"
    (probability, *_) = shown["person"]["sections"][0]["facts"]
    release = serigraph.history(series, "P0000", "HIV")
    assert probability == ["Probability", {"exact": str(release.probability)}]


def test_an_id_of_the_wrong_kind_is_refused_without_it(folder: Path) -> None:
    series = folder / "clinic"
    numbered = table_of(240).with_row_index("patient_").drop("patient")
    serigraph.publish(numbered.rename({"patient_": "patient"}), series, label="1")
    with pytest.raises(serigraph.errors.InputRefused) as refused:
        _run("person", series=str(series), person="P0000", value="HIV")
    assert "P0000" not in str(refused.value)
    assert _run("person", series=str(series), person="7", value="HIV")["sections"]


def test_a_table_is_looked_at_and_its_values_are_counted(folder: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "2024H1.csv")
    found = _run("inspect", table=path, name="2024H1.csv")
    assert [each["name"] for each in found["columns"]] == ["patient", "born", "sex", "diagnosis"]
    assert [each["kind"] for each in found["columns"]][1:3] == ["numeric", "categorical"]
    assert len(found["preview"]) == 50
    assert found["problem"] is None
    wrong = _run("inspect", table=path, name="t", person="sex")
    assert wrong["problem"]["remedy"]
    held = _run("values", table=path, policy=POLICY, folder=str(folder))
    by_name = {each["name"]: each for each in held["values"]}
    assert by_name["HIV"]["people"] == 6
    assert by_name["HIV"]["protected"]
    assert not by_name["flu"]["protected"]


def test_a_plan_compares_strategies_under_the_sliders(folder: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "table": str(tmp_path / "2024H1.csv"),
        "series": str(folder / "clinic"),
        "releases": 2,
        "return_rate": 0.5,
        "threshold": "1/2",
        "most_rehearsed": 200,
    }
    small, large = (_run("plan", minimum_group_size=size, **asked) for size in (5, 40))
    assert len(small["outlooks"]) > 2
    assert float(large["outlooks"][0]["mean_size"]) >= 40 > float(small["outlooks"][0]["mean_size"])
    assert small["outlooks"][0]["alone"] == "0.0 %"


def test_a_draft_is_made_and_published(folder: Path, tmp_path: Path) -> None:
    series = str(folder / "clinic")
    made = _run("draft", table=str(tmp_path / "2024H1.csv"), series=series, label="first")
    published = _run("publish_draft", series=series, name=made["name"])
    assert (published["number"], published["label"]) == (1, "first")


def test_releases_of_others_are_audited(published: Path, tmp_path: Path) -> None:
    table_of(240).write_csv(tmp_path / "raw.csv")
    (tmp_path / "policy.toml").write_text(POLICY.replace('"1/2"', '"1/1000"'))
    found = _run(
        "audit_foreign",
        releases=[str(published / "clinic/releases/2024H1/table.csv")],
        policy=str(tmp_path / "policy.toml"),
        raw=[str(tmp_path / "raw.csv")],
    )
    assert found["holds"] is False
    assert "The promise is broken" in found["verdict"]


def test_the_study_is_a_page_and_the_files_of_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = partial(experiments.Extent, return_rates=(0.3, 0.8))  # half of the series
    monkeypatch.setattr(experiments, "Extent", fewer)
    out = tmp_path / "study"
    made = _run("reproduce", people=200, rounds=2, queries=1, seed=1, out=str(out))
    assert "statements of the paper were confirmed" in made["verdict"]
    assert made["report"] == (out / "study.html").read_text()
    assert {Path(each).name for each in made["files"]} > {"figure-6.csv", "claims.csv"}
