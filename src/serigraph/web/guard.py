"""The first to see a request and the last to see an answer.

Lets in only what comes from the pages of this server, in the session that the token opened, to the
name that the server was started under, and within limits of size. Every answer gets the same strict
headers, and an error that nobody foresaw is told without its message, which may quote a cell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any

from serigraph.runtime.unforeseen import as_known
from serigraph.web.entrance import Entrance

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_FORM = 1 << 22  # bytes of a form
MOST_UPLOAD = 1 << 30  # bytes of a table
UPLOADS = "/uploads"
ENTER = "/enter"
_OPEN = ("/", ENTER)  # may be seen without a session; "/" then only asks for the token
_STATIC = "/static/"
_CHANGES = "POST"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
DOCUMENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""For the reports of releases, which carry their style with them and run nothing."""

HEADERS: Mapping[str, str] = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with "no-referrer" a form's Origin would be "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class TooLarge(Exception):
    """A body grew beyond its limit while it was read."""


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered."""

    status: int
    words: str


@dataclass(frozen=True)
class Asked:
    """What the checks look at: how a request came, and whether from inside the session."""

    method: str
    path: str
    headers: Mapping[str, str]
    is_host_known: bool
    is_inside: bool

    @property
    def limit(self) -> int:
        """The most bytes that the body may have."""
        return MOST_UPLOAD if self.path == UPLOADS else MOST_FORM

    @property
    def is_foreign(self) -> bool:
        """Whether the browser says that the page of another site asks."""
        site = self.headers.get("sec-fetch-site", "same-origin")
        return site not in ("same-origin", "none")


def unknown_host(asked: Asked) -> Refusal | None:
    """A name that leads here but is not ours: DNS was rebound."""
    if asked.is_host_known:
        return None
    return Refusal(421, "This server does not answer to that name.")


def foreign_change(asked: Asked) -> Refusal | None:
    """A change that a page of ours did not ask for."""
    origin = f"http://{asked.headers.get('host', '')}"
    if asked.method != _CHANGES or asked.headers.get("origin") == origin:
        return None
    return Refusal(403, "This did not come from a page of this server.")


def foreign_page(asked: Asked) -> Refusal | None:
    """Another site that embeds, links to, or fetches what is here; the page that asks for the token
    may be opened from anywhere."""
    if not asked.is_foreign or (asked.path == "/" and asked.method != _CHANGES):
        return None
    return Refusal(403, "Another site asked for this.")


def stranger(asked: Asked) -> Refusal | None:
    """Nobody who came in by the token."""
    if asked.is_inside or asked.path in _OPEN or asked.path.startswith(_STATIC):
        return None
    return Refusal(
        401, "Open the address that 'serigraph serve' printed, or start it again for a new one."
    )


def too_large(asked: Asked) -> Refusal | None:
    """More than is taken; a body that does not say how long it is, is counted as it comes."""
    stated = asked.headers.get("content-length", "0")
    if stated.isascii() and stated.isdecimal() and int(stated[:20]) <= asked.limit:
        return None
    return _too_large(asked.limit)


CHECKS = (unknown_host, foreign_change, foreign_page, stranger, too_large)


class Guard:
    """Wraps the application; see the module."""

    def __init__(
        self,
        app: ASGIApp,
        entrance: Entrance,
        *,
        is_host: Callable[[str], bool],
        cookie: str,
        checks: Sequence[Callable[[Asked], Refusal | None]] = CHECKS,
    ) -> None:
        self._app = app
        self._entrance = entrance
        self._is_host = is_host
        self._cookie = cookie
        self._checks = checks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _headers_of(scope)
        asked = Asked(
            method=scope["method"],
            path=scope["path"],
            headers=headers,
            is_host_known=self._is_host(headers.get("host", "")),
            is_inside=self._entrance.knows(self._session(headers)),
        )
        for check in self._checks:
            refusal = check(asked)
            if refusal is not None:
                await _answer(send, refusal)
                return
        scope["state"] = {**scope.get("state", {}), "is_inside": asked.is_inside}
        begun = _Begun(send)
        try:
            await self._app(scope, _limited(receive, asked.limit), begun)
        except TooLarge:
            if not begun.has_begun:
                await _answer(send, _too_large(asked.limit))
        except Exception as error:
            known = as_known(error, is_memory_limited=False)
            print(f"serigraph serve: {type(error).__name__}, {known.where}", file=sys.stderr)
            if not begun.has_begun:
                await _answer(send, Refusal(500, "Something went wrong inside Serigraph."))

    def _session(self, headers: Mapping[str, str]) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return found.value if found else ""


class _Begun:
    """Sends an answer with the headers that all answers have, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            given = {name.decode("latin-1").lower() for name, _ in message.get("headers", ())}
            own = "content-security-policy" if "content-security-policy" in given else ""
            message["headers"] = [
                *(
                    (name, value)
                    for name, value in message.get("headers", ())
                    if name.decode("latin-1").lower() not in HEADERS.keys() - {own}
                ),
                *(_encoded(name, value) for name, value in HEADERS.items() if name != own),
            ]
        await self._send(message)


def _limited(receive: Receive, limit: int) -> Receive:
    read = 0

    async def limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > limit:
            raise TooLarge
        return message

    return limited


def _too_large(limit: int) -> Refusal:
    return Refusal(
        413,
        f"This is larger than {limit >> 20} MB. Use the command line for larger tables.",
    )


def _headers_of(scope: Scope) -> dict[str, str]:
    """The headers; one that comes twice is joined, and so fits nothing that is expected."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}; {text}" if key in found else text
    return found


def _encoded(name: str, value: str) -> tuple[bytes, bytes]:
    return name.encode("latin-1"), value.encode("latin-1")


async def _answer(send: Send, refusal: Refusal) -> None:
    start: dict[str, Any] = {
        "type": "http.response.start",
        "status": refusal.status,
        "headers": [
            _encoded("content-type", "text/plain; charset=utf-8"),
            _encoded("connection", "close"),  # what is left of a body is not read
            *(_encoded(name, value) for name, value in HEADERS.items()),
        ],
    }
    await send(start)
    await send({"type": "http.response.body", "body": f"{refusal.words}\n".encode()})
