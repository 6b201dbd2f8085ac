"""The server as a process: where it listens, what it prints, what it leaves."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from serigraph.errors import InputRefused, MissingExtra, SeriesNotFound
from serigraph.web import serve
from serigraph.web.guard import HEADERS
from serigraph.web.uploads import Uploads, plain_name
from web.browsing import Server
from web.conftest import SECRET


def _ask(server: Server, raw: bytes) -> bytes:
    host, _, port = server.home.removeprefix("http://").strip("/").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_it_listens_on_this_machine_alone_and_tells_nothing(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = Server(published)
    port = int(server.home.rpartition(":")[2].strip("/"))
    listening = [
        line.split()[1]
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and int(line.split()[1].rpartition(":")[2], 16) == port
    ]
    assert listening == [f"0100007F:{port:04X}"]
    asked = f"GET /series/{SECRET}?{SECRET} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    answers = [_ask(server, asked), _ask(server, f"{SECRET}\r\n\r\n".encode())]
    assert [each.split()[1] for each in answers] == [b"401", b"400"]
    for answer in answers:
        for name, value in HEADERS.items():
            assert f"{name}: {value}".encode() in answer
        assert b"uvicorn" not in answer.lower()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    token = server.address.partition("#")[2]
    connection.request("POST", "/enter", token, {"Origin": f"http://127.0.0.1:{port}"})
    cookie = connection.getresponse().headers["set-cookie"].partition(";")[0]
    connection.close()
    connection.request(
        "POST",
        "/uploads",
        SECRET,
        {"Origin": f"http://127.0.0.1:{port}", "Cookie": cookie, "X-Name": f"{SECRET}.csv"},
    )
    assert connection.getresponse().status == 201
    connection.close()
    (folder,) = tmp_path.glob("serigraph-serve-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    printed = server.stop()
    assert server.process.returncode == 0
    assert SECRET not in printed
    assert printed.count("\n") == 2
    assert not folder.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_tables_are_deleted_however_the_server_ends(
    number: signal.Signals, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = Server(folder)
    (left,) = tmp_path.glob("serigraph-serve-*")
    server.process.send_signal(number)
    server.process.communicate(timeout=60)
    if number == signal.SIGKILL:
        monkeypatch.setattr("tempfile.tempdir", None)
        Uploads().close()  # as the next server does
    assert not left.exists()


def test_a_socket_is_for_its_owner_alone(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    server = Server(folder, options=("--socket", str(path)))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(path))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost:8000\r\nConnection: close\r\n\r\n")
        assert connection.recv(100).split()[1] == b"200"
    server.stop()
    assert not path.exists()


def test_a_port_that_is_taken_and_a_folder_that_is_missing_are_told(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputRefused, match="cannot listen"):
            serve([folder], port=taken.getsockname()[1], open_browser=False)
    with pytest.raises(SeriesNotFound, match="no such folder"):
        serve([folder / "missing"])


def test_without_the_extra_its_name_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"serigraph\[web\]"):
        serve([folder], open_browser=False)


def test_machines_get_the_address(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "serigraph", "serve", str(folder), "--no-browser", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    told = "".join(iter(process.stdout.readline, "}\n")) + "}"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert json.loads(told)["address"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("../../etc/passwd", "passwd"),
        ("a" * 300 + ".csv", "a" * 20 + ".csv"),
        ("\0\n<b>.parquet", "_b_.parquet"),
        ("...", "table"),
        ("Ärzte 2024.csv", "Ärzte 2024.csv"),
    ],
)
def test_a_file_gets_a_plain_name(name: str, plain: str) -> None:
    assert plain_name(name) == plain
