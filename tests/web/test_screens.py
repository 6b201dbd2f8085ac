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
from serigraph.signing import PASSPHRASE
from serigraph.web import pages
from web.asking import HOST, Answer, opened
from web.conftest import POLICY, SECRET, table_of
from web.waiting import done, series_of

SCRIPT = "<script>alert(1)</script>"


def _form(page: Answer, **changes: str) -> dict[str, Any]:
    """The fields of a policy's form as the page has them."""
    digest = re.search(r'name="digest" value="(\w+)"', page.text)
    assert digest is not None
    return {"digest": digest[1], **changes}


def test_hostile_names_and_values_are_text_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "data"
    root.mkdir()
    column, value = f"diag{SCRIPT}", f'"{SCRIPT}&{{{{7*7777777}}}}'
    table = table_of(120).rename({"diagnosis": column})
    table = table.with_columns(pl.col(column).replace({"HIV": value}))
    table.write_csv(tmp_path / "hostile.csv")
    with opened(root) as inside:
        inside.enter()
        answer = inside.post("/uploads", (tmp_path / "hostile.csv").read_bytes(), x_name=SCRIPT)
        assert json.loads(answer.text)["name"] == "script_"
        key = inside.upload(tmp_path / "hostile.csv")
        inside.post("/new/inspect", {"table": key, "sensitive": column})
        job = done(inside)
        page = inside.get(f"/new?job={job.key}")
        shown = inside.post(f"/preview/{job.key}")
        text = job.result["policy"]
        edited = inside.post(
            "/new/edit", {"job": job.key, "policy": text, "changed": "persistence"}
        )
        made = inside.post("/new", {"job": job.key, "policy": text, "name": "odd", "root": "0"})
        assert made.status == 303, made.text
        answers = [page, shown, edited, inside.get(made.headers["location"])]
        series = series_of(inside)
        tabs = ("", "/policy", "/taxonomies", "/publish", "/person")
        answers += [inside.get(series + each) for each in tabs]
        answers.append(
            inside.post(series + "/policy/edit", {"policy": SCRIPT, "changed": "policy"})
        )
        answers.append(inside.post(series + "/plan/ratios", {"threshold": SCRIPT}))
        unescaped = pages._environment().overlay(autoescape=False)
        monkeypatch.setattr(pages, "_environment", lambda: unescaped)
        attacked = inside.post(f"/preview/{job.key}")
    for answer in answers:
        assert answer.status in (200, 422)
        assert "alert(1)</script>" not in answer.text
        assert str(7 * 7777777) not in answer.text
    assert "alert(1)</script>" in attacked.text  # without the defence
    assert "&lt;script&gt;alert(1)" in shown.text


def test_cells_are_masked_until_they_are_asked_for(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    table = table_of(60).with_columns(patient=pl.format(SECRET + "-{}", pl.int_range(60)))
    table.write_csv(tmp_path / "t.csv")
    with opened(root) as inside:
        inside.enter()
        inside.post("/new/inspect", {"table": inside.upload(tmp_path / "t.csv")})
        job = done(inside)
        page = inside.get(f"/new?job={job.key}")
        assert SECRET not in page.text
        assert page.text.count("•••") == 4 * 50
        assert SECRET in inside.post(f"/preview/{job.key}").text


def test_controls_edit_the_text_and_frozen_ones_are_refused(published: Path) -> None:
    with opened(published) as inside:
        series = series_of(inside.enter())
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


def test_what_may_change_after_a_release_is_open(published: Path) -> None:
    with opened(published) as inside:
        series = series_of(inside.enter())
        page = inside.get(series + "/policy")
        assert re.search(r'<select id="persistence" name="persistence">', page.text)
        assert "<option>any</option>" in page.text
        assert "<option>permanent</option>" not in page.text
        assert 'type="number" min="5"' in page.text
        assert "Only" not in page.text
        for changed, new in (("persistence", "any"), ("role:ward", "publish as is")):
            form = _form(page, policy=POLICY, changed=changed, **{changed: new})
            text = inside.post(series + "/policy/edit", form).text
            assert 'role="alert"' not in text
            assert new in text
        saved = _form(page, policy=POLICY.replace('"transient"', '"any"'))
        assert inside.post(series + "/policy", saved).status == 303
        page = inside.get(series + "/policy")
        assert "<option>transient</option>" not in page.text


def test_protected_values_are_picked_from_the_table(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as inside:
        series = series_of(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        inside.post(series + "/policy/values", {"table": key, "policy": POLICY})
        job = done(inside)
        assert {each["name"]: each["people"] for each in job.result["values"]}["HIV"] == 6
        form = {
            "policy": POLICY,
            "changed": "pick",
            "values_job": job.key,
            "shown": [each["name"] for each in job.result["values"]],
            "pick": ["HIV", "flu"],
        }
        answer = inside.post(series + "/policy/edit", form)
        shown = inside.get(f"/jobs/{job.key}").text
        assert shown.count("•••") == 4 * 50
        assert "P0001" not in shown + answer.text
        assert "P0001" in inside.post(f"/preview/{job.key}").text
    assert "every cell is a number" in answer.text  # why the column has its kind
    assert "&#34;flu&#34;" in answer.text
    assert answer.text.count(" checked") == 2


def test_a_misspelt_value_shows_what_the_table_has(folder: Path, tmp_path: Path) -> None:
    wrong = POLICY.replace('["HIV"]', '["fractur"]')
    with opened(folder) as inside:
        series = series_of(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        inside.post(series + "/policy/values", {"table": key, "policy": wrong})
        job = done(inside)
        form = {"policy": wrong, "changed": "", "values_job": job.key}
        assert "the table has fracture" in inside.post(series + "/policy/edit", form).text


def test_a_draft_shows_what_is_protected_and_what_is_not(folder: Path, tmp_path: Path) -> None:
    table = table_of(240)
    unique = pl.when(pl.int_range(240) < 40).then(1800 + pl.int_range(240))
    table = table.with_columns(unique.otherwise("born").alias("born"))
    misspelt = pl.when(pl.col("patient") == "P0041").then(pl.lit("fractrue"))
    table = table.with_columns(misspelt.otherwise("diagnosis").alias("diagnosis"))
    table.write_csv(tmp_path / "2024H1.csv")
    rows = 'values = ["HIV", "fracture", "leprosy"]\nunheld = "allow"'
    text = POLICY.replace('values = ["HIV"]', rows).replace("size = 5", "size = 1")
    text += '[output]\nform = "bucketised"\n'  # shows quasi-identifiers as they are
    (folder / "clinic/policy.toml").write_text(text.replace('"1/2"', '"9/10"'))
    with opened(folder) as inside:
        series = series_of(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        inside.post(series + "/publish/draft", {"table": key, "allow_suppression": "yes"})
        done(inside)
        page = inside.get(series + "/publish").text
    (draft,) = serigraph.drafts(folder / "clinic")
    for shown in (page, draft.report.read_text()):
        protected, _, unprotected = shown.partition("Not protected")
        assert re.search(r"HIV</th>\s*<td>6</td>", protected)
        assert "leprosy is protected, but nobody in the table holds it" in shown
        assert re.search(r"fractrue</th>\s*<td>1</td>", unprotected)
        assert "fractrue (1) is not protected, but fracture is" in shown
        assert "unique on the quasi-identifiers" in shown
    assert "serigraph attack" not in page


def test_a_label_has_to_be_typed_and_the_zip_holds_what_is_public(
    folder: Path, tmp_path: Path
) -> None:
    with opened(folder) as inside:
        series = series_of(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        inside.post(series + "/publish/draft", {"table": key})
        done(inside)
        (draft,) = serigraph.drafts(folder / "clinic")
        assert "P0" not in inside.get(series + "/publish").text
        for typed in ("", "2024h1", "2024H1 "):
            form = {"draft": draft.name, "typed": typed}
            assert inside.post(series + "/publish/commit", form).status == 422
        inside.post(series + "/publish/commit", {"draft": draft.name, "typed": "2024H1"})
        done(inside)
        packed = inside.get(series + "/releases/1/zip")
        with zipfile.ZipFile(io.BytesIO(packed.body)) as archive:
            names = {Path(each).name for each in archive.namelist()}
        released = folder / "clinic/releases/2024H1"
        assert names == {each.name for each in released.iterdir()}
        (released / "table.csv").write_text("forged")
        assert inside.get(series + "/releases/1/zip").status == 422


def _key(folder: Path, name: str) -> str:
    return serigraph.make_key(folder / name).private.read_text()


def test_drafts_are_signed_and_approved_by_keys_that_are_not_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series_path = folder / "clinic"
    (series_path / "policy.toml").write_text(POLICY + "[signing]\napprovals = 2\n")
    monkeypatch.setenv(PASSPHRASE, "horse staple")
    locked = _key(tmp_path, "ann.key")
    monkeypatch.delenv(PASSPHRASE)
    plain = _key(tmp_path, "ben.key")
    with opened(folder) as inside:
        series = series_of(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        asked = {"table": key, "key": "no key"}
        assert inside.post(series + "/publish/draft", asked).status == 422
        inside.post(series + "/publish/draft", {"table": key, "key": plain})
        job = done(inside)
        (draft,) = serigraph.drafts(series_path)
        assert "the draft has 0" in inside.get(series + "/publish").text
        form = {"draft": draft.name, "passphrase": "horse staple"}
        refused = {
            "no key was chosen": form,
            "is encrypted with a passphrase": form | {"key": locked, "passphrase": ""},
            "the passphrase is wrong": form | {"key": locked, "passphrase": "mule"},
            "no such draft": form | {"key": locked, "draft": "x"},
        }
        for words, wrong in refused.items():
            answer = inside.post(series + "/publish/approve", wrong)
            assert (answer.status, words in answer.text) == (422, True), words
            assert "PRIVATE" not in answer.text
        for each in (locked, plain):
            assert inside.get(series + "/publish/approve").status == 405
            assert inside.post(series + "/publish/approve", form | {"key": each}).status == 303
        again = inside.post(series + "/publish/approve", form | {"key": plain})
        assert "approved of the draft already" in again.text
        inside.post(series + "/publish/commit", {"draft": draft.name, "typed": "2024H1"})
        done(inside)
        held = repr(vars(inside.desk.jobs)).encode() + repr(job).encode()
        files = [*folder.rglob("*"), *inside.desk.uploads.folder.rglob("*")]
        kept = [held, *(each.read_bytes() for each in files if each.is_file())]
    keys = [tmp_path / "ann.key.pub", tmp_path / "ben.key.pub"]
    certificate = series_path / "releases/2024H1/certificate.json"
    assert serigraph.verify(certificate, key=keys[1]).signed_by
    assert len(serigraph.verify(certificate, key=keys).approved_by) == 2
    for secret in (locked.splitlines()[1], plain.splitlines()[1]):
        assert not any(secret.encode() in each for each in kept)


def test_the_study_runs_as_a_job_and_is_cancelled(folder: Path) -> None:
    with opened(folder, read_only=True) as inside:
        inside.enter()
        for wrong in ({"people": "1"}, {"rounds": "x"}, {"seed": "-1"}):
            assert inside.post("/study", wrong).status == 422
        assert inside.post("/study", {"people": "200", "rounds": "2", "queries": "1"}).status == 303
        (job,) = [each for each in inside.desk.jobs._jobs.values() if each.task == "reproduce"]
        assert f"/jobs/{job.key}/cancel" in inside.get("/study").text
        assert inside.get(f"/jobs/{job.key}/files").status == 422
        inside.post(f"/jobs/{job.key}/cancel")
        until = time.monotonic() + 60
        while "was cancelled" not in inside.get("/study").text and time.monotonic() < until:
            time.sleep(0.05)
        assert "was cancelled" in inside.get("/study").text


def test_the_report_of_a_series_is_a_zip(published: Path) -> None:
    with opened(published) as inside:
        inside.post(series_of(inside.enter()) + "/report")
        packed = inside.get(f"/jobs/{done(inside).key}/files")
    with zipfile.ZipFile(io.BytesIO(packed.body)) as archive:
        assert set(archive.namelist()) == {"report.html", "certificate.json"}


def test_nobody_is_looked_up_without_a_word(published: Path) -> None:
    with opened(published) as inside:
        series = series_of(inside.enter())
        asked = {"person": "P0000", "value": "HIV"}
        assert inside.post(series + "/person", asked).status == 422
        answer = inside.post(series + "/person", asked | {"sure": "yes"})
        job = done(inside)
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
            done(inside)
        job = list(inside.desk.jobs._jobs.values())[-1]
        shown = inside.get(f"/jobs/{job.key}").text
    assert "broken.parquet" in shown
    assert str(inside.desk.uploads.folder) not in shown
    assert "What to do" in shown


def test_one_job_writes_to_a_series_at_a_time(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as inside:
        series = series_of(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        assert inside.post(series + "/publish/draft", {"table": key}).status == 303
        second = inside.post(series + "/publish/draft", {"table": key})
        assert second.status == 409
        assert "another tab" in second.text
        done(inside)
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
        lacking = parts | {f"part:{keys['raw.csv']}": "unused"}
        assert "without the tables" in inside.post("/audit/attack", lacking).text
        assert inside.post("/audit/attack", parts).status == 303
        assert "deFinetti" in repr(done(inside).result)
        assert inside.post("/audit", parts).status == 303
        job = done(inside)
        assert "exactly " in inside.get("/audit").text
        report = inside.get(f"/jobs/{job.key}/report")
    assert "<h1>Audit of 1 release</h1>" in report.text


def test_two_linked_tables_with_one_number_are_one_release(folder: Path, tmp_path: Path) -> None:
    policy = POLICY + '[output]\nform = "bucketised"\n'
    (folder / "clinic/policy.toml").write_text(policy)
    serigraph.publish(table_of(240), folder / "clinic", label="2024H1")
    made = folder / "clinic/releases/2024H1"
    with opened(folder) as inside:
        series = series_of(inside.enter())
        linked = [
            inside.upload(made / f"{name}.csv") for name in ("quasi_identifiers", "sensitive")
        ]
        raw = inside.upload(tmp_path / "2024H1.csv")
        form = {f"part:{key}": "release" for key in linked} | {f"part:{raw}": "raw"}
        form |= {"series": series.rpartition("/")[2]} | {f"order:{key}": "1" for key in linked}
        inside.post("/audit", form | {"tolerate": "overlaps"})
        assert "<h1>Audit of 1 release</h1>" in done(inside).result["report"]
        assert inside.get("/audit").text.count('value="1"') == 2
        form |= {f"part:{raw}": "release", f"order:{raw}": "1"}
        assert "more than two tables" in inside.post("/audit", form).text


def test_a_series_is_audited_and_attacked_with_its_tables(published: Path, tmp_path: Path) -> None:
    serigraph.publish(table_of(240, 1), published / "clinic", label="2024H2")
    table_of(240, 1).write_csv(tmp_path / "2024H2.csv")
    with opened(published) as inside:
        series = series_of(inside.enter())
        tables = [inside.upload(tmp_path / f"2024H{half}.csv") for half in (1, 2)]
        page = inside.get(series).text
        assert all(f'value="{key}" selected' in page for key in tables)
        assert inside.post(series + "/attack", {"raw": tables[:1]}).status == 422
        not_run = {}
        for chosen in ([], tables):
            inside.post(series + "/attack", {"raw": chosen})
            (table,) = done(inside).result["sections"][0]["tables"]
            not_run[len(chosen)] = sum("not run" in row[2] for row in table["rows"])
        assert not_run[0] > not_run[2]
        inside.post(series + "/audit", {"raw": tables})
        assert done(inside).result["holds"] is True


def test_hostile_values_are_text_on_the_pages_of_a_release(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = f'"{SCRIPT}&'
    table = table_of(240).with_columns(pl.col("diagnosis").replace({"HIV": value}))
    table.write_csv(tmp_path / "2024H1.csv")
    policy = POLICY.replace('["HIV"]', f"['{value}']")
    (folder / "clinic/policy.toml").write_text(policy)
    with opened(folder) as inside:
        series = series_of(inside.enter())
        key = inside.upload(tmp_path / "2024H1.csv")
        inside.post(series + "/plan/rehearse", {"table": key, "releases": "2"})
        done(inside)
        inside.post(series + "/publish/draft", {"table": key})
        done(inside)
        (draft,) = serigraph.drafts(folder / "clinic")
        pages_of = {
            "plan": inside.get(series + "/plan"),
            "draft": inside.get(series + "/publish"),
            "rows": inside.post(series + "/publish/rows", {"draft": draft.name}),
            "report": inside.get(f"{series}/drafts/{draft.name}/report.html"),
        }
        inside.post(series + "/publish/commit", {"draft": draft.name, "typed": "2024H1"})
        done(inside)
        inside.post(series + "/audit")
        audit = done(inside)
        pages_of |= {
            "audit": inside.get(series),
            "audit to keep": inside.get(f"/jobs/{audit.key}/report"),
            "release": inside.get(series + "/releases/1/report"),
        }
        for name, page in pages_of.items():
            assert page.status == 200, name
            assert SCRIPT not in page.text, name
        for name in ("draft", "audit", "audit to keep", "release"):
            assert "&lt;script&gt;alert(1)" in pages_of[name].text, name
        unescaped = pages._environment().overlay(autoescape=False)
        monkeypatch.setattr(pages, "_environment", lambda: unescaped)
        assert SCRIPT in inside.get(series).text  # without the defence


def test_a_plan_is_of_what_was_asked_for_and_is_adopted_as_it_is_shown(
    folder: Path, tmp_path: Path
) -> None:
    with opened(folder) as inside:
        series = series_of(inside.enter())
        asked = {
            "table": inside.upload(tmp_path / "2024H1.csv"),
            "threshold": "1/3",
            "releases": "2",
            "return_rate": "70",
            "minimum_group_size": "6",
        }
        inside.post(series + "/plan/rehearse", asked)
        job = done(inside)
        page = inside.get(series + "/plan").text
        settings = "threshold 1/3, 2 releases, 70 % come back, groups of 6 or more"
        assert f"<h2>Rehearsed: {settings}</h2>" in page
        assert 'name="threshold" size="8" value="1/3"' in page  # the sliders are there as well
        found = job.result
        assert found["recommended"] in [each["name"] for each in found["outlooks"]]
        assert {each["threshold"] for each in found["outlooks"]} == {"1/3"}
        assert "(the policy&#39;s)" not in page
        assert page.count('aria-selected="true"') == 1
        costs = found["sections"][0]["tables"][0]["rows"]
        assert [row[0] for row in costs] == ["transient", "permanent", "any"]
        digest = re.search(r'name="digest" value="(\w+)"', page)
        assert digest is not None
        form = {"job": job.key, "outlook": found["recommended"], "digest": digest[1]}
        assert inside.post(series + "/plan/adopt", form).status == 303
        written = (folder / "clinic/policy.toml").read_text()
        assert 'threshold = "1/3"' in written
        assert "minimum_group_size = 6" in written
        page = inside.get(series + "/plan").text
        assert "Rehearsed: " not in page  # it was of the policy before
        assert 'name="threshold" size="8" value="1/3"' in page


def test_an_officer_audits_others_looks_at_trees_and_takes_the_zip(
    published: Path, tmp_path: Path
) -> None:
    table_of(240).write_csv(tmp_path / "raw.csv")
    (tmp_path / "release.csv").write_bytes(
        (published / "clinic/releases/2024H1/table.csv").read_bytes()
    )
    before = {each: each.read_bytes() for each in published.rglob("*") if each.is_file()}
    with opened(published, read_only=True) as inside:
        series = series_of(inside.enter())
        parts = {
            f"part:{inside.upload(tmp_path / f'{name}.csv')}": name for name in ("release", "raw")
        }
        inside.post("/audit", parts | {"series": series.rpartition("/")[2]})
        assert done(inside).result["holds"] is True
        assert inside.get("/audit").status == 200
        assert inside.get(series + "/releases/1/zip").body[:2] == b"PK"
        assert "Show the tree" in inside.get(series + "/taxonomies").text
        key = next(iter(parts)).partition(":")[2]
        removed = inside.post(f"/uploads/{key}/forget", referer=f"http://{HOST}/audit?x=1#y")
        assert removed.headers["location"] == "/audit?x=1"
        assert len(inside.desk.uploads.all()) == 1
    assert before == {each: each.read_bytes() for each in before}


def test_files_are_told_apart_and_removed(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as inside:
        series = series_of(inside.enter())
        first = inside.upload(tmp_path / "2024H1.csv")
        table_of(240, 1).write_csv(tmp_path / "2024H1.csv")
        second = inside.upload(tmp_path / "2024H1.csv")
        (tmp_path / "policy.toml").write_text(POLICY)
        (tmp_path / "release-1.csv").write_text("born,sex,diagnosis\n1,f,flu\n")
        inside.upload(tmp_path / "release-1.csv")
        policy = inside.upload(tmp_path / "policy.toml")
        page = inside.get(series + "/publish").text
        options = re.findall(r'<option value="(\w+)">([^<]+)</option>', page)
        assert options[:2] == [(second, "2024H1.csv (2)"), (first, "2024H1.csv")]
        assert policy not in dict(options)
        for came, then in (
            (f"http://{HOST}{series}/publish", f"{series}/publish"),
            ("http://evil.example/publish", "/"),
            (f"http://{HOST}//evil.example", "/"),
            (f"http://{HOST}", "/"),
            ("http://[", "/"),
            (f"http://{HOST}/\\evil.example", "/"),
        ):
            key = inside.upload(tmp_path / "release-1.csv")
            answer = inside.post(f"/uploads/{key}/forget", referer=came)
            assert (answer.status, answer.headers["location"]) == (303, then)
        inside.post(f"/uploads/{first}/forget")
        assert inside.post(series + "/publish/draft", {"table": first}).status == 422


def test_a_taxonomy_is_seen_without_a_table_and_choices_survive_an_error(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "clinic/sex.csv").write_text("f;known;*\nm;known;*\n")
    named = 'kind = "categorical"\ntaxonomy = "sex.csv"'
    policy = POLICY.replace('sex]\nkind = "categorical"', f"sex]\n{named}")
    more = '[quasi_identifiers.ward]\nkind = "categorical"\n'
    (folder / "clinic/policy.toml").write_text(policy + more)
    with opened(folder) as inside:
        series = series_of(inside.enter())
        assert "m;known;*" in inside.get(series + "/taxonomies").text
        asked = {"table": inside.upload(tmp_path / "2024H1.csv"), "column": "ward", "by": "order"}
        sent = inside.post(series + "/taxonomies/build", asked | {"parts": "north\nsouth"})
        with pytest.raises(AssertionError, match="no column"):
            done(inside)
        page = inside.get(sent.headers["location"]).text
        assert "<option selected>ward</option>" in page
        assert '<option value="order" selected>' in page
        assert "north\nsouth</textarea>" in page


def test_why_is_about_the_role_and_says_when_it_was_changed(folder: Path, tmp_path: Path) -> None:
    table = table_of(240).with_columns(drug=pl.col("diagnosis"))
    table.write_csv(tmp_path / "2024H1.csv")
    with opened(folder) as inside:
        inside.enter()
        asked = {"table": inside.upload(tmp_path / "2024H1.csv"), "sensitive": "diagnosis"}
        inside.post("/new/inspect", asked)
        job = done(inside)
        page = inside.get(f"/new?job={job.key}").text
        assert "you named it" in page
        assert "by its name, a person&#39;s id" in page
        assert "by its name, outsiders know it" in page
        assert "it seems sensitive too" in page
        assert "every cell is a number" in page  # why it has its kind
        form = {"job": job.key, "policy": job.result["policy"], "changed": "role:drug"}
        page = inside.post("/new/edit", form | {"role:drug": "quasi-identifier"}).text
        assert "it seems sensitive too" not in page
        assert "you chose this, in place of drop" in page
