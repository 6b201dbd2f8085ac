"""The list of series, and the tables handed in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from serigraph.errors import SerigraphError
from serigraph.web.desk import Desk, to
from serigraph.web.forms import Form
from serigraph.web.places import Place


def show(desk: Desk, request: Request, form: Form) -> Response:
    """The series in the folders; what each of them holds is filled in by ``cards``."""
    return desk.page("home.html", places=desk.places.all(), roots=desk.places.roots)


def cards(desk: Desk, request: Request, form: Form) -> Response:
    """What the catalog of each series says."""
    desk.jobs.warm()
    answer = desk.page("cards.html", cards=[_card(place) for place in desk.places.all()])
    Thread(target=_load_others, daemon=True).start()
    return answer


def _load_others() -> None:
    """Load the screens that come next, while somebody looks at this one."""
    for name in ("series", "policy", "taxonomies", "planning", "publishing", "audit", "wizard"):
        import_module(f"serigraph.web.screens.{name}")


def _card(place: Place) -> dict[str, Any]:
    from serigraph import Series

    try:
        releases = Series.open(place.path).releases()
    except SerigraphError as error:
        return {"place": place, "problem": error.what, "releases": ()}
    return {"place": place, "problem": "", "releases": releases}


async def upload(request: Request) -> Response:
    """Take a table: the body is the file, and a header has its name."""
    desk: Desk = request.app.state.desk
    name = unquote(request.headers.get("x-name", ""), errors="replace")[:300]

    async def chunks() -> AsyncIterator[bytes]:
        async for chunk in request.stream():
            yield chunk

    try:
        taken = await desk.uploads.take(name, chunks())
    except SerigraphError as error:
        return desk.failed(error, is_fragment=True)
    except ClientDisconnect:
        return Response(status_code=400)
    desk.jobs.warm()
    return JSONResponse({"key": taken.key, "name": taken.name, "size": taken.size}, 201)


def forget(desk: Desk, request: Request, form: Form) -> Response:
    """Delete a table that was handed in, and show the page again that it was on."""
    desk.uploads.forget(request.path_params["upload"])
    return to(_page_before(request), request)


def _page_before(request: Request) -> str:
    """The page of ours that a request came from; otherwise the first one."""
    try:
        came = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "/"
    is_ours = came.netloc == request.headers.get("host") and came.path[1:2] not in ("/", "\\")
    return (came._replace(scheme="", netloc="", fragment="").geturl() if is_ours else "") or "/"
