"""Requests to a site in this process, as a browser would send them or as an attacker would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from serigraph.web.desk import Desk
from serigraph.web.entrance import Entrance
from serigraph.web.guard import CHECKS, Guard
from serigraph.web.jobs import Jobs
from serigraph.web.places import Places
from serigraph.web.site import site
from serigraph.web.uploads import Uploads

HOST, COOKIE = "127.0.0.1:8000", "serigraph-8000"
ORIGIN = f"http://{HOST}"
JOBS = Jobs()  # of all sites here: a worker takes a second to start


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Site:
    """A site with its guard, and a browser that may be inside."""

    desk: Desk
    guard: Guard
    session: str = ""
    sent: list[str] = field(default_factory=list)

    def enter(self) -> Site:
        """Use the token."""
        answer = self.post("/enter", self.desk.entrance.token.encode())
        assert answer.status == 204, answer.text
        self.session = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
        return self

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, (), **headers)

    def post(
        self, path: str, body: bytes | Mapping[str, Any] | Iterable[bytes] = b"", **headers: Any
    ) -> Answer:
        if isinstance(body, Mapping):
            body = urlencode(body, doseq=True).encode()
        chunks = (body,) if isinstance(body, bytes) else body
        return self.ask("POST", path, chunks, **{"origin": ORIGIN, **headers})

    def ask(
        self, method: str, path: str, chunks: Iterable[bytes] = (), **headers: str | None
    ) -> Answer:
        """Any request; a header that is None is not sent."""
        given = {"host": HOST, "sec-fetch-site": "same-origin"}
        if self.session:
            given["cookie"] = f"{COOKIE}={self.session}"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        raw = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in given.items()
            if value is not None
        ]
        return asyncio.run(_answered(self.guard, method, path, raw, chunks))

    def upload(self, path: Path) -> str:
        """Hand a file in; returns its key."""
        answer = self.post("/uploads", path.read_bytes(), x_name=path.name)
        assert answer.status == 201, answer.text
        return answer.text.split('"key":"')[1].split('"')[0]


async def _answered(
    guard: Guard, method: str, path: str, headers: list[Any], chunks: Iterable[bytes]
) -> Answer:
    target, _, query = path.partition("?")
    body = _messages(chunks)
    sent: list[Any] = []

    async def receive() -> Any:
        return await anext(body, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    await guard(
        {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(target),  # as a server does
            "raw_path": target.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000),
        },
        receive,
        send,
    )
    start = sent[0]
    content = b"".join(message.get("body", b"") for message in sent[1:])
    names = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], names, content)


async def _messages(chunks: Iterable[bytes]) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield {"type": "http.request", "body": chunk, "more_body": True}
    yield {"type": "http.request", "body": b"", "more_body": False}


@contextmanager
def opened(*folders: Path, read_only: bool = False, without: Any = None) -> Iterator[Site]:
    """A site over folders; ``without`` is a check of the guard to leave out."""
    desk = Desk(Places(folders), Uploads(), JOBS, Entrance(), read_only)
    guard = Guard(
        site(desk, COOKIE),
        desk.entrance,
        is_host=lambda host: host == HOST,
        cookie=COOKIE,
        checks=[each for each in CHECKS if each is not without],
    )
    try:
        yield Site(desk, guard)
    finally:
        desk.uploads.close()
