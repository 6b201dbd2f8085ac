"""A PostgreSQL server of its own for the tests: on loopback, in a temporary folder, not as root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

PASSWORD = "open sesame/50%"
QUOTED = "open%20sesame%2F50%25"


@dataclass(frozen=True)
class Server:
    port: int

    @property
    def address(self) -> str:
        return f"postgresql://tester:{QUOTED}@127.0.0.1:{self.port}/postgres"

    def run(self, *statements: str) -> None:
        with psycopg.connect(self.address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[arg-type]

    def fill(self, name: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
        self.run(f"drop table if exists {name}", f"create table {name} ({columns})")
        places = ", ".join(["%s"] * len(rows[0]))
        with psycopg.connect(self.address) as connection, connection.cursor() as cursor:
            cursor.executemany(f"insert into {name} values ({places})", rows)  # type: ignore[arg-type]


def _program(name: str) -> str:
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(debian[-1]) if debian else "")
    if not found and os.environ.get("CI"):
        pytest.fail(f"{name} is missing: install the package postgresql")
    if not found:
        pytest.skip(f"{name} is missing: install the package postgresql")
    return found


@contextmanager
def running_server() -> Iterator[Server]:
    initdb, postgres = _program("initdb"), _program("postgres")
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    # PostgreSQL refuses to run as root.
    other: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
    try:
        (folder / "password").write_text(PASSWORD)
        if other:
            for path in (folder, folder / "password"):
                shutil.chown(path, "nobody", "nogroup")
        subprocess.run(
            [
                *(initdb, "-D", folder / "data", "-U", "tester", "--auth=scram-sha-256"),
                *("-E", "UTF8", "--pwfile", folder / "password", "--no-sync"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            **other,
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [
                    *(postgres, "-D", folder / "data", "-p", str(port)),
                    *(part for option in options for part in ("-c", option)),
                ],
                stdout=log,
                stderr=log,
                cwd=folder,
                **other,
            )
        try:
            _wait_for(Server(port), folder / "log")
            yield Server(port)
        finally:
            server.terminate()
            server.wait()
    finally:
        shutil.rmtree(folder)


def _wait_for(server: Server, log: Path) -> None:
    for _ in range(300):
        try:
            return server.run("select 1")
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise RuntimeError(log.read_text())
