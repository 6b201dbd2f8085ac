"""What screens show and do, without a browser."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import serigraph
from serigraph.web.jobs import Job
from web.asking import Answer, Site, opened
from web.conftest import POLICY, SECRET, table_of

SCRIPT = "<script>alert(1)</script>"


def _series(inside: Site) -> str:
    return f"/series/{inside.desk.places.all()[0].key}"


def _done(inside: Site, answer: Answer | None = None) -> Job:
    """Wait for the newest job."""
    job = list(inside.desk.jobs._jobs.values())[-1]
    until = time.monotonic() + 120
    while not job.is_over and time.monotonic() < until:
        time.sleep(0.05)
        job = inside.desk.jobs.get(job.key) or job
    assert job.state == "done", job.error
    return job


def _form(page: Answer, **changes: str) -> dict[str, Any]:
    """The fields of a policy's form as the page has them."""
    digest = re.search(r'name="digest" value="(\w+)"', page.text)
    assert digest is not None
    return {"digest": digest[1], **changes}


def test_hostile_names_and_values_are_text_everywhere(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    column, value = f"diag{SCRIPT}", f'"{SCRIPT}&{{{{7*7}}}}'
    table = table_of(120).rename({"diagnosis": column})
    table = table.with_columns(pl.col(column).replace({"HIV": value}))
    table.write_csv(tmp_path / "hostile.csv")
    with opened(root) as inside:
        inside.enter()
        answer = inside.post("/uploads", (tmp_path / "hostile.csv").read_bytes(), x_name=SCRIPT)
        assert json.loads(answer.text)["name"] == "script_"
        key = inside.upload(tmp_path / "hostile.csv")
        inside.post("/new/inspect", {"table": key, "sensitive": column})
        job = _done(inside)
        page = inside.get(f"/new?job={job.key}")
        shown = inside.post(f"/preview/{job.key}")
        text = job.result["policy"]
        edited = inside.post(
            "/new/edit", {"job": job.key, "policy": text, "changed": "persistence"}
        )
        made = inside.post("/new", {"job": job.key, "policy": text, "name": "odd", "root": "0"})
        assert made.status == 303, made.text
        pages = [page, shown, edited, inside.get(made.headers["location"])]
        series = _series(inside)
        pages += [inside.get(series + each) for each in ("", "/policy", "/publish", "/person")]
        pages.append(inside.post(series + "/policy/edit", {"policy": SCRIPT, "changed": "policy"}))
        pages.append(inside.post(series + "/plan/ratios", {"threshold": SCRIPT}))
    for answer in pages:
        assert answer.status in (200, 422)
        assert "alert(1)</script>" not in answer.text
        assert "49" not in answer.text or "7*7" in answer.text
    assert "&lt;script&gt;alert(1)" in shown.text


def test_cells_are_masked_until_they_are_asked_for(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    table = table_of(60).with_columns(patient=pl.format(SECRET + "-{}", pl.int_range(60)))
    table.write_csv(tmp_path / "t.csv")
    with opened(root) as inside:
        inside.enter()
        inside.post("/new/inspect", {"table": inside.upload(tmp_path / "t.csv")})
        job = _done(inside)
        page = inside.get(f"/new?job={job.key}")
        assert SECRET not in page.text
        assert page.text.count("•••") == 4 * 50
        assert SECRET in inside.post(f"/preview/{job.key}").text


def test_controls_edit_the_text_and_frozen_ones_are_refused(published: Path) -> None:
    with opened(published) as inside:
        series = _series(inside.enter())
        page = inside.get(series + "/policy")
        assert "are frozen" in page.text
        for changed, new, refused in (
            ("minimum_group_size", "9", False),
            ("threshold", "1/3", True),
            ("role:sex", "drop", True),
            ("kind:born", "categorical", True),
            ("adversary", "presence known", True),
        ):
            form = _form(page, policy=POLICY, changed=changed, **{changed: new})
            answer = inside.post(series + "/policy/edit", form)
            assert ('role="alert"' in answer.text) == refused, changed
            assert "difference" in answer.text
        frozen = POLICY.replace('"1/2"', '"1/3"')
        refused = inside.post(series + "/policy", _form(page, policy=frozen))
        assert refused.status == 422
        saved = POLICY.replace("= 5", "= 6")
        assert inside.post(series + "/policy", _form(page, policy=saved)).status == 303
        stale = inside.post(series + "/policy", _form(page, policy=POLICY))
        assert "in the meantime" in stale.text
    assert (published / "clinic/policy.toml").read_text() == saved


def test_protected_values_are_picked_from_the_table(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as inside:
        series = _series(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        inside.post(series + "/policy/values", {"table": key, "policy": POLICY})
        job = _done(inside)
        assert {each["name"]: each["people"] for each in job.result["values"]}["HIV"] == 6
        form = {
            "policy": POLICY,
            "changed": "pick",
            "values_job": job.key,
            "shown": [each["name"] for each in job.result["values"]],
            "pick": ["HIV", "flu"],
        }
        answer = inside.post(series + "/policy/edit", form)
    assert "&#34;flu&#34;" in answer.text
    assert answer.text.count(" checked") == 2


def test_a_misspelt_value_shows_what_the_table_has(folder: Path, tmp_path: Path) -> None:
    wrong = POLICY.replace('["HIV"]', '["fractur"]')
    with opened(folder) as inside:
        series = _series(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        inside.post(series + "/policy/values", {"table": key, "policy": wrong})
        job = _done(inside)
        form = {"policy": wrong, "changed": "", "values_job": job.key}
        assert "the table has fracture" in inside.post(series + "/policy/edit", form).text


def test_a_label_has_to_be_typed_and_the_zip_holds_what_is_public(
    folder: Path, tmp_path: Path
) -> None:
    with opened(folder) as inside:
        series = _series(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        inside.post(series + "/publish/draft", {"table": key})
        _done(inside)
        (draft,) = serigraph.drafts(folder / "clinic")
        assert "P0" not in inside.get(series + "/publish").text
        for typed in ("", "2024h1", "2024H1 "):
            form = {"draft": draft.name, "typed": typed}
            assert inside.post(series + "/publish/commit", form).status == 422
        inside.post(series + "/publish/commit", {"draft": draft.name, "typed": "2024H1"})
        _done(inside)
        packed = inside.get(series + "/releases/1/zip")
        with zipfile.ZipFile(io.BytesIO(packed.body)) as archive:
            names = {Path(each).name for each in archive.namelist()}
        released = folder / "clinic/releases/2024H1"
        assert names == {each.name for each in released.iterdir()}
        (released / "table.csv").write_text("forged")
        assert inside.get(series + "/releases/1/zip").status == 422


def test_nobody_is_looked_up_without_a_word(published: Path) -> None:
    with opened(published) as inside:
        series = _series(inside.enter())
        asked = {"person": "P0000", "value": "HIV"}
        assert inside.post(series + "/person", asked).status == 422
        answer = inside.post(series + "/person", asked | {"sure": "yes"})
        job = _done(inside)
        assert "P0000" not in answer.text + repr(job.result) + repr(job)
        assert "exactly " in inside.get(f"/jobs/{job.key}").text


def test_an_error_of_a_job_names_the_file_and_not_where_it_lies(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 broken")
    with opened(folder) as inside:
        inside.enter()
        inside.post("/new/inspect", {"table": inside.upload(tmp_path / "broken.parquet")})
        with pytest.raises(AssertionError):
            _done(inside)
        job = list(inside.desk.jobs._jobs.values())[-1]
        shown = inside.get(f"/jobs/{job.key}").text
    assert "broken.parquet" in shown
    assert str(inside.desk.uploads.folder) not in shown
    assert "What to do" in shown


def test_one_job_writes_to_a_series_at_a_time(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as inside:
        series = _series(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        assert inside.post(series + "/publish/draft", {"table": key}).status == 303
        second = inside.post(series + "/publish/draft", {"table": key})
        assert second.status == 409
        assert "another tab" in second.text
        _done(inside)
        assert inside.post(series + "/publish/draft", {"table": key}).status == 303


def test_foreign_releases_are_audited_in_their_order(published: Path, tmp_path: Path) -> None:
    table_of(240).write_csv(tmp_path / "raw.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    made = (published / "clinic/releases/2024H1/table.csv").read_bytes()
    (tmp_path / "release.csv").write_bytes(made)
    with opened(published) as inside:
        inside.enter()
        keys = {
            name: inside.upload(tmp_path / name)
            for name in ("release.csv", "raw.csv", "policy.toml")
        }
        page = inside.get("/audit").text
        for part in ("release", "raw", "policy"):
            assert f'<option value="{part}" selected>' in page
        assert inside.post("/audit", {f"part:{keys['raw.csv']}": "raw"}).status == 422
        parts = {f"part:{key}": Path(name).stem for name, key in keys.items()}
        assert inside.post("/audit", parts).status == 303
        job = _done(inside)
        assert "exactly " in inside.get("/audit").text
        report = inside.get(f"/jobs/{job.key}/report")
    assert "<h1>Audit of 1 release</h1>" in report.text
