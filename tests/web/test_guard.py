"""Every defence of the site: the attack fails with it, and succeeds without it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import serigraph
from serigraph.web import guard, places, site
from serigraph.web.entrance import Entrance
from serigraph.web.places import Places
from serigraph.web.screens import home, publishing
from web.asking import HOST, Answer, Site, opened
from web.conftest import table_of

Attack = Callable[[Site], Answer]


def _series(site: Site) -> str:
    return f"/series/{site.desk.places.all()[0].key}"


ATTACKS: dict[str, tuple[Any, int, bool, Attack]] = {
    # what is left out, the refusal, whether the attacker rides on a session, and the attack
    "no token": (guard.stranger, 401, False, lambda site: site.get(_series(site))),
    "wrong session": (
        guard.stranger,
        401,
        False,
        lambda site: site.get(_series(site), cookie="serigraph-8000=guess"),
    ),
    "upload without token": (
        guard.stranger,
        401,
        False,
        lambda site: site.post("/uploads", b"a,b", x_name="t.csv"),
    ),
    "rebound name": (
        guard.unknown_host,
        421,
        True,
        lambda site: site.get("/audit", host="evil.example:8000"),
    ),
    "foreign form": (
        guard.foreign_change,
        403,
        True,
        lambda site: site.post("/cards", origin="http://evil.example", sec_fetch_site=None),
    ),
    "form of no origin": (
        guard.foreign_change,
        403,
        True,
        lambda site: site.post("/cards", origin=None, sec_fetch_site=None),
    ),
    "other port": (
        guard.foreign_change,
        403,
        True,
        lambda site: site.post("/cards", origin="http://127.0.0.1:9999", sec_fetch_site=None),
    ),
    "foreign frame": (
        guard.foreign_page,
        403,
        True,
        lambda site: site.get("/audit", sec_fetch_site="cross-site"),
    ),
    "huge form": (
        guard.too_large,
        413,
        True,
        lambda site: site.post("/cards", b"", content_length=str(guard.MOST_FORM + 1)),
    ),
    "upload of 2 GB": (
        guard.too_large,
        413,
        True,
        lambda site: site.post("/uploads", b"", x_name="t.csv", content_length=str(2 << 30)),
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_and_succeeds_without_the_defence(name: str, folder: Path) -> None:
    defence, status, is_riding, attack = ATTACKS[name]
    for without in (None, defence):
        with opened(folder, without=without) as site:
            if is_riding:
                site.enter()
            answer = attack(site)
        if without is None:
            assert answer.status == status
            assert "<form" not in answer.text
        else:
            assert answer.status != status


def test_a_token_works_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(folder) as site:
        assert site.post("/enter", b"guess").status == 403
        site.enter()
        site.session = ""
        again = site.post("/enter", site.desk.entrance.token.encode())
        assert (again.status, "set-cookie" in again.headers) == (403, False)
    monkeypatch.setattr(Entrance, "enter", lambda self, token: "session" * (token == self.token))
    with opened(folder) as site:
        site.enter().enter()  # without the defence


def _page_addresses(site_: Site) -> dict[str, str]:
    key = site_.desk.places.all()[0].key
    filled = {"key": key, "job": "none", "name": "none", "file": "report.html", "upload": "none"}
    return {
        path: re.sub(r"\{(\w+)(:\w+)?\}", lambda found: filled.get(found[1], "1"), path)
        for path in [*site.READING, *site.CHANGING]
    }


def test_nothing_changes_by_get(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changing = [path for path in site.CHANGING if path not in site.READING]
    with opened(folder) as inside:
        inside.enter()
        addresses = _page_addresses(inside)
        assert inside.ask("DELETE", "/audit").status == 405
        for path in [*changing, "/uploads", "/enter"]:
            assert inside.get(addresses.get(path, path)).status == 405, path
        key = inside.upload(folder.parent / "2024H1.csv")
        inside.get(f"/uploads/{key}/forget")
        assert inside.desk.uploads.all()
    # Without the defence, a link would delete it.
    monkeypatch.setitem(site.READING, "/uploads/{upload}/forget", home.forget)
    with opened(folder) as inside:
        key = inside.enter().upload(folder.parent / "2024H1.csv")
        inside.get(f"/uploads/{key}/forget")
        assert not inside.desk.uploads.all()


def test_every_answer_has_every_header(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("a cell")

    monkeypatch.setitem(site.READING, "/fails", fail)
    with opened(folder) as inside:
        answers = [inside.get("/"), inside.get("/audit"), inside.post("/enter", b"guess")]
        inside.enter()
        answers += [inside.get(path) for path in _page_addresses(inside).values()]
        answers += [inside.post(path) for path in _page_addresses(inside).values()]
        answers += [
            inside.get("/static/style.css"),
            inside.get("/static/none.js"),
            inside.get("/none"),
            inside.get("/fails"),
            inside.get("/", host="evil.example"),
            inside.post("/cards", b"x" * (guard.MOST_FORM + 1)),
        ]
    assert {200, 401, 403, 404, 405, 413, 421, 422, 500} <= {each.status for each in answers}
    for answer in answers:
        for name, value in guard.HEADERS.items():
            assert answer.headers[name] == value or (
                name == "content-security-policy" and answer.headers[name] == guard.DOCUMENT_POLICY
            )
    assert "unsafe" not in guard.HEADERS["content-security-policy"]
    expected = set(guard.HEADERS)
    monkeypatch.setattr(guard, "HEADERS", {})
    with opened(folder) as inside:  # without the defence
        assert not expected & inside.get("/").headers.keys()


def test_no_file_of_a_draft_but_its_report_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = serigraph.draft(table_of(240), folder / "clinic", label="2024H1")
    with opened(folder) as inside:
        address = f"{_series(inside.enter())}/drafts/{draft.name}"
        assert inside.get(f"{address}/report.html").status == 200
        assert inside.get(f"{address}/table.csv").status == 422
        monkeypatch.setattr(publishing, "_FILES", ("report.html", "table.csv"))
        assert inside.get(f"{address}/table.csv").status == 200  # without the defence


def test_what_nobody_foresaw_is_told_without_its_words(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("Zebra-4711")

    monkeypatch.setitem(site.READING, "/fails", fail)
    with opened(folder) as inside:
        answer = inside.enter().get("/fails")
    told = capfd.readouterr()
    assert answer.status == 500
    assert "ValueError" in told.err
    assert "Zebra" not in answer.text + told.out + told.err


def test_a_body_that_does_not_say_its_length_is_counted(folder: Path) -> None:
    def endless() -> Any:
        for _ in range(guard.MOST_FORM // 2**16 + 10):
            yield b"x" * 2**16

    with opened(folder) as inside:
        answer = inside.enter().post("/cards", endless())
    assert answer.status == 413


def test_an_upload_beyond_the_limit_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MOST_UPLOAD", 1000)
    with opened(folder) as inside:
        answer = inside.enter().post("/uploads", [b"x" * 600] * 3, x_name="t.csv")
        assert answer.status == 413
        assert not inside.desk.uploads.all()
        assert not list(inside.desk.uploads.folder.iterdir())


def test_uploads_are_private_and_deleted_at_the_end(folder: Path) -> None:
    with opened(folder) as inside:
        key = inside.enter().upload(folder.parent / "2024H1.csv")
        upload = inside.desk.uploads.get(key)
        for path, mode in ((inside.desk.uploads.folder, 0o700), (upload.path, 0o600)):
            assert path.stat().st_mode & 0o777 == mode
    assert not inside.desk.uploads.folder.exists()


@pytest.mark.parametrize("name", ["../outside", "/etc/x", "..", ".hidden", "a/b", "a\0b", "", " a"])
def test_no_series_is_made_outside(name: str, folder: Path) -> None:
    from serigraph.errors import InputRefused

    with pytest.raises(InputRefused):
        Places([folder]).new(0, name)


def test_without_a_check_of_its_name_a_series_is_made_outside(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_NAME", re.compile(".*", re.DOTALL))
    for name in ("a/../../outside", "/etc/x"):
        assert not Places([folder]).new(0, name).resolve().is_relative_to(folder)


def test_a_link_that_leads_out_is_not_followed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = tmp_path / "apart"
    (folder / "clinic").rename(apart)
    (folder / "linked").symlink_to(apart)
    assert Places([folder]).all() == ()
    monkeypatch.setattr(Places, "_is_series", lambda self, path: (path / "catalog.sqlite").exists())
    assert len(Places([folder]).all()) == 1  # without the defence


@pytest.mark.parametrize(
    "path",
    [
        "/series/{key}/releases/1/..%2f..%2fpolicy.toml",
        "/series/{key}/drafts/..%2f..%2fledger/report.html",
        "/series/{key}/drafts/../../policy.toml",
        "/series/../../etc/passwd",
        "/static/../guard.py",
        "/static/..%2fguard.py",
        "/jobs/../../etc/passwd",
    ],
)
def test_no_address_leads_to_another_file(path: str, published: Path) -> None:
    with opened(published) as inside:
        inside.enter()
        answer = inside.get(path.format(key=inside.desk.places.all()[0].key))
    assert answer.status in (404, 422)
    assert "[person]" not in answer.text
    assert "root:" not in answer.text


def test_for_looking_only_nothing_can_be_made(folder: Path) -> None:
    with opened(folder, read_only=True) as inside:
        series = _series(inside.enter())
        table = inside.upload(folder.parent / "2024H1.csv")
        for path, form in {
            "/new/inspect": {"table": table},
            "/new": {"name": "x", "root": "0"},
            series + "/policy": {"policy": "x"},
            series + "/plan/adopt": {"job": "x"},
            series + "/publish/draft": {"table": table},
            series + "/publish/approve": {"draft": "x"},
            series + "/publish/commit": {"draft": "x"},
            series + "/publish/discard": {"draft": "x"},
            series + "/report": {},
        }.items():
            assert inside.post(path, form).status == 403, path
        assert inside.get(series + "/policy").status == 200
    with opened(folder) as inside:
        series = _series(inside.enter())
        assert inside.post(series + "/publish/discard", {"draft": "x"}).status == 422


def test_the_host_must_be_ours(folder: Path) -> None:
    with opened(folder) as inside:
        assert inside.enter().get("/", host=HOST).status == 200
