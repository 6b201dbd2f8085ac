"""Defences that are not checks of the guard: each attack fails with them, and succeeds without."""

from __future__ import annotations

import io
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.responses import Response

import serigraph
from serigraph.errors import SerigraphError
from serigraph.runtime.unforeseen import as_known
from serigraph.web import guard, serving, site, uploads, worker
from serigraph.web.places import Place, Places
from serigraph.web.screens import publishing
from serigraph.web.tasks import TASKS
from web.asking import opened
from web.conftest import POLICY, SECRET
from web.waiting import series_of

Patch = pytest.MonkeyPatch


def test_a_draft_is_looked_up_and_not_opened_by_its_name(
    published: Path, monkeypatch: Patch
) -> None:
    with opened(published) as inside:
        address = series_of(inside.enter()) + "/drafts/../policy.toml"
        monkeypatch.setattr(publishing, "_FILES", ("policy.toml",))
        assert inside.get(address).status == 422
        monkeypatch.setattr(
            publishing,
            "_draft",
            lambda place, name: SimpleNamespace(public=place.path / "drafts" / name),
        )
        (published / "clinic" / "drafts").mkdir(exist_ok=True)
        assert "[person]" in inside.get(address).text  # without the defence


def test_a_series_is_looked_up_and_not_opened_by_its_key(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    outside = tmp_path / "outside"
    serigraph.Series.create(outside, {"policy.toml": POLICY.encode()})
    (outside / "data").mkdir()
    with opened(outside / "data") as inside:
        inside.enter()
        assert inside.get("/series/../policy").status == 404
        naive = lambda self, key: Place(key, key, self.roots[0] / key)  # noqa: E731
        monkeypatch.setattr(Places, "get", naive)
        assert "[person]" in inside.get("/series/../policy").text  # without the defence


def test_chunks_beyond_the_limit_are_counted(folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(guard, "MOST_UPLOAD", 1000)
    chunks = [b"a" * 600] * 3
    with opened(folder) as inside:
        assert inside.enter().post("/uploads", chunks, x_name="t.csv").status == 413
        assert not inside.desk.uploads.all()
        monkeypatch.setattr(guard, "_limited", lambda receive, limit: receive)
        assert inside.post("/uploads", chunks, x_name="t.csv").status == 201  # without the defence


def _with_words(error: BaseException, **_: Any) -> SerigraphError:
    return SerigraphError(str(error), where=str(error))


def _fail(*_: Any, **__: Any) -> Any:
    raise ValueError(f"cannot parse {SECRET}")


def test_no_cell_of_an_error_is_logged_or_shown(
    folder: Path, monkeypatch: Patch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(site.READING, "/fails", _fail)
    for known, is_told in ((as_known, False), (_with_words, True)):
        monkeypatch.setattr(guard, "as_known", known)
        with opened(folder) as inside:
            answer = inside.enter().get("/fails")
        assert (SECRET in capfd.readouterr().err) == is_told
        assert SECRET not in answer.text


def test_no_cell_of_an_error_leaves_a_worker(monkeypatch: Patch) -> None:
    monkeypatch.setitem(TASKS, "values", _fail)
    for known, is_told in ((as_known, False), (_with_words, True)):
        monkeypatch.setattr(worker, "as_known", known)
        told = worker._done({"task": "values", "arguments": {}}, io.StringIO())
        assert (SECRET in repr(told)) == is_told


def test_the_cookie_is_for_this_site_alone(folder: Path, monkeypatch: Patch) -> None:
    def flags() -> set[str]:
        with opened(folder) as inside:
            answer = inside.post("/enter", inside.desk.entrance.token.encode())
        return {each.strip().lower() for each in answer.headers["set-cookie"].split(";")[1:]}

    assert flags() >= {"httponly", "samesite=strict"}
    plain = Response.set_cookie
    monkeypatch.setattr(
        Response, "set_cookie", lambda self, name, value, **_: plain(self, name, value)
    )
    assert not flags() & {"httponly", "samesite=strict"}  # without the defence


def test_nobody_else_can_read_what_is_handed_in(
    tmp_path: Path, folder: Path, monkeypatch: Patch
) -> None:
    def open_to_others() -> bool:
        with opened(folder) as inside:
            upload = inside.desk.uploads.get(inside.enter().upload(tmp_path / "2024H1.csv"))
            way = (inside.desk.uploads.folder, upload.path.parent, upload.path)
            return all(each.stat().st_mode & 0o055 for each in way)

    assert not open_to_others()
    made = iter(range(9))

    def shared(prefix: str) -> str:
        path = tmp_path / f"{prefix}{next(made)}"
        path.mkdir(mode=0o755)
        return str(path)

    mkdir, opening = Path.mkdir, os.open
    monkeypatch.setattr(uploads.tempfile, "mkdtemp", shared)
    monkeypatch.setattr(Path, "mkdir", lambda self, mode=0, **how: mkdir(self, **how))
    monkeypatch.setattr(os, "open", lambda path, flags, mode=0, **how: opening(path, flags, 0o644))
    assert open_to_others()  # without the defence


def test_a_socket_of_another_mode_would_let_others_in(tmp_path: Path, monkeypatch: Patch) -> None:
    def mode(name: str) -> int:
        with serving._listening(0, tmp_path / name):
            return stat.S_IMODE((tmp_path / name).stat().st_mode)

    assert mode("s") == 0o600
    monkeypatch.setattr(os, "umask", lambda _mask: 0)
    assert mode("t") & 0o055  # without the defence


def test_only_this_machine_reaches_the_port(monkeypatch: Patch) -> None:
    def reached_by_another_name() -> bool:
        with serving._listening(0, None) as listening:
            port = listening.getsockname()[1]
            try:
                socket.create_connection(("127.0.0.2", port), timeout=5).close()
            except ConnectionRefusedError:
                return False
            return True

    assert not reached_by_another_name()
    monkeypatch.setattr(serving, "LOOPBACK", "0.0.0.0")
    assert reached_by_another_name()  # without the defence


def test_the_browser_gets_the_address_and_nobody_sees_it(folder: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport pathlib, sys, urllib.parse\n"
        "page = pathlib.Path(urllib.parse.unquote(sys.argv[1].removeprefix('file://')))\n"
        f"seen = pathlib.Path({str(tmp_path)!r})\n"
        "(seen / 'arguments').write_text(' '.join(sys.argv))\n"
        "(seen / 'mode').write_text(oct(page.stat().st_mode))\n"
        "(seen / 'page').write_text(page.read_text())\n"
    )
    browser.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "serigraph", "serve", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "BROWSER": f"{browser} %s"},
    )
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    port = int(address.partition("#")[0].strip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.recv(1)  # it answers after it has opened the browser
    process.terminate()
    process.communicate(timeout=60)
    assert f"url={address}" in (tmp_path / "page").read_text()
    assert (tmp_path / "mode").read_text().endswith("600")
    assert address.partition("#")[2] not in (tmp_path / "arguments").read_text()
