"""``serigraph serve``: one server on this machine, for the holder of its address."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from serigraph.errors import InputRefused, MissingExtra, SeriesNotFound
from serigraph.web.entrance import Entrance
from serigraph.web.guard import HEADERS, Guard
from serigraph.web.jobs import Jobs
from serigraph.web.places import Places
from serigraph.web.uploads import Uploads

if TYPE_CHECKING:
    import uvicorn

LOOPBACK = "127.0.0.1"
_NAMES = (LOOPBACK, "localhost")


def serve(
    folders: Sequence[str | os.PathLike[str]] = (),
    *,
    read_only: bool = False,
    port: int = 0,
    unix_socket: str | os.PathLike[str] | None = None,
    open_browser: bool = True,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve the series in these folders, by default the current one, until it is interrupted.

    Listens on the loopback interface alone, at ``port`` or a random one, or on a ``unix_socket``
    that only its owner may use. ``tell`` gets the address, whose token works once; that of a
    socket lacks the port that it is forwarded to. With
    ``read_only`` nothing can be made, published or changed.
    """
    roots = [Path(each) for each in folders] or [Path()]
    for each in roots:
        if not each.is_dir():
            raise SeriesNotFound(
                "there is no such folder", where=str(each), remedy="give an existing folder"
            )
    with _ended_in_order(), _listening(port, unix_socket) as listening:
        at = port if unix_socket else listening.getsockname()[1]
        uploads, jobs, entrance = Uploads(), Jobs(), Entrance()
        try:
            server = _server(Places(roots), uploads, jobs, entrance, read_only, at, unix_socket)
            where = f"{LOOPBACK}:{at}" if unix_socket is None else "localhost"
            address = f"http://{where}/#{entrance.token}"
            tell(address)
            if open_browser and unix_socket is None:
                _open(address, uploads.folder)
            with suppress(KeyboardInterrupt):
                server.run(sockets=[listening])
        finally:
            jobs.close()
            uploads.close()
            if unix_socket is not None:
                Path(unix_socket).unlink(missing_ok=True)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """A signal that ends the process lets it delete what was handed in first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, _leave) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _listening(port: int, unix_socket: str | os.PathLike[str] | None) -> socket.socket:
    """The socket: on loopback, or one of mode 600."""
    if unix_socket is not None:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            made.bind(os.fspath(unix_socket))
            made.listen()
        except OSError as error:
            made.close()
            raise _refused(error, os.fspath(unix_socket)) from None
        finally:
            os.umask(before)
        return made
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((LOOPBACK, port))
        made.listen()  # who reads the address is answered, if not at once
    except (OSError, OverflowError) as error:
        made.close()
        raise _refused(error, f"port {port}") from None
    return made


def _refused(error: Exception, where: str) -> InputRefused:
    said = getattr(error, "strerror", None) or str(error)
    return InputRefused(
        f"the server cannot listen there ({said})",
        where=where,
        remedy="give another port (--port), or none for a random one",
    )


def _server(
    places: Places,
    uploads: Uploads,
    jobs: Jobs,
    entrance: Entrance,
    read_only: bool,
    port: int,
    unix_socket: str | os.PathLike[str] | None,
) -> uvicorn.Server:
    try:
        import uvicorn

        from serigraph.web.desk import Desk
        from serigraph.web.site import site
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise MissingExtra(
            "the server needs packages that are not installed",
            remedy="install them with: pip install 'serigraph[web]'",
        ) from None
    desk = Desk(places, uploads, jobs, entrance, read_only)
    cookie = f"serigraph-{port}"  # browsers share cookies among the ports of a host
    guarded = Guard(
        site(desk, cookie),
        entrance,
        is_host=is_loopback if unix_socket else lambda host: host in allowed,
        cookie=cookie,
    )
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    allowed = {f"{name}:{port}" for name in _NAMES} | (set(_NAMES) if port == 80 else set())
    return uvicorn.Server(
        uvicorn.Config(
            guarded,
            log_config=None,  # nothing is logged: an address or an error might tell something
            access_log=False,
            log_level="critical",
            server_header=False,
            date_header=False,
            headers=[],
            lifespan="off",
            ws="none",
            http=_protocol(),
            timeout_graceful_shutdown=1,
        )
    )


def is_loopback(host: str) -> bool:
    """Whether a Host header names this machine, at any port: a socket may be forwarded.

    >>> is_loopback("localhost:8080"), is_loopback("127.0.0.1"), is_loopback("evil.example:80")
    (True, True, False)
    """
    name, _, port = host.partition(":")
    return name in _NAMES and (not port or port.isdecimal())


def _protocol() -> type:
    """HTTP as uvicorn speaks it, with our headers also on its answer to what is no HTTP."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        def send_400_response(self, msg: str) -> None:
            lines = ["HTTP/1.1 400 Bad Request", "content-length: 0", "connection: close"]
            lines += [f"{name}: {value}" for name, value in HEADERS.items()]
            self.transport.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
            self.transport.close()

    return Protocol


def _open(address: str, folder: Path) -> None:
    """Open the browser. The address goes through a private file: other users of this machine can
    see the arguments of a browser, but not this."""
    page = folder / "open.html"
    page.touch(mode=0o600)
    page.write_text(
        f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={escape(address)}">'
        "<title>Serigraph</title>",
        encoding="utf-8",
    )
    webbrowser.open(page.as_uri())
