"""The addresses of the site. Whatever changes something is a POST."""

from __future__ import annotations

from importlib import import_module

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from serigraph.web.desk import Desk, Handler, answering
from serigraph.web.forms import Form
from serigraph.web.guard import ENTER, UPLOADS
from serigraph.web.pages import rendered, static
from serigraph.web.screens import home

_SERIES = "/series/{key}"


def _later(name: str) -> Handler:
    """A handler whose module is imported when it is first needed: most of them load the whole
    library, and the first page need not wait for that."""

    def handler(desk: Desk, request: Request, form: Form) -> Response:
        module, _, function = name.partition(".")
        found = getattr(import_module(f"serigraph.web.screens.{module}"), function)
        answer: Response = found(desk, request, form)
        return answer

    return handler


READING: dict[str, Handler] = {
    "/": home.show,
    "/jobs/{job}": _later("jobs.show"),
    "/jobs/{job}/report": _later("jobs.report"),
    "/jobs/{job}/files": _later("jobs.files"),
    "/study": _later("study.show"),
    "/new": _later("wizard.show"),
    "/audit": _later("audit.show"),
    _SERIES: _later("series.show"),
    _SERIES + "/person": _later("series.person_form"),
    _SERIES + "/releases/{number:int}/report": _later("series.release_report"),
    _SERIES + "/releases/{number:int}/zip": _later("series.hand_over"),
    _SERIES + "/policy": _later("policy.show"),
    _SERIES + "/taxonomies": _later("taxonomies.show"),
    _SERIES + "/plan": _later("planning.show"),
    _SERIES + "/publish": _later("publishing.show"),
    _SERIES + "/drafts/{name}/{file}": _later("publishing.draft_file"),
}
CHANGING: dict[str, Handler] = {
    "/jobs/{job}/cancel": _later("jobs.cancel"),
    "/uploads/{upload}/forget": home.forget,
    "/new/inspect": _later("wizard.inspect"),
    "/new/edit": _later("wizard.edit"),
    "/new/values": _later("wizard.values"),
    "/new": _later("wizard.create"),
    "/preview/{job}": _later("wizard.preview"),
    "/cards": home.cards,
    "/audit": _later("audit.run"),
    "/study": _later("study.run"),
    "/audit/attack": _later("audit.attack"),
    _SERIES + "/standing": _later("series.standing"),
    _SERIES + "/audit": _later("series.audit"),
    _SERIES + "/attack": _later("series.attack"),
    _SERIES + "/report": _later("series.report"),
    _SERIES + "/releases/{number:int}/verify": _later("series.verify"),
    _SERIES + "/person": _later("series.person"),
    _SERIES + "/policy/edit": _later("policy.edit"),
    _SERIES + "/policy/values": _later("policy.values"),
    _SERIES + "/policy": _later("policy.save"),
    _SERIES + "/taxonomies/build": _later("taxonomies.build"),
    _SERIES + "/taxonomies/edit": _later("taxonomies.edit"),
    _SERIES + "/taxonomies": _later("taxonomies.save"),
    _SERIES + "/plan/ratios": _later("planning.ratios"),
    _SERIES + "/plan/rehearse": _later("planning.rehearse"),
    _SERIES + "/plan/adopt": _later("planning.adopt"),
    _SERIES + "/publish/draft": _later("publishing.draft"),
    _SERIES + "/publish/approve": _later("publishing.approve"),
    _SERIES + "/publish/commit": _later("publishing.commit"),
    _SERIES + "/publish/rows": _later("publishing.rows"),
    _SERIES + "/publish/discard": _later("publishing.discard"),
}


def site(desk: Desk, cookie: str) -> Starlette:
    """The application, without its guard."""

    async def enter(request: Request) -> Response:
        session = desk.entrance.enter((await request.body())[:200].decode("latin-1"))
        if not session:
            return PlainTextResponse("This address was used before, or is wrong.\n", 403)
        answer = Response(status_code=204)
        answer.set_cookie(cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    async def first(request: Request) -> Response:
        if request.scope["state"]["is_inside"]:
            return await answering(home.show)(request)
        return Response(rendered("enter.html"), 200, media_type="text/html")

    async def asset(request: Request) -> Response:
        found = static(request.path_params["name"])
        if found is None:
            return PlainTextResponse("There is no such file.\n", 404)
        return Response(found[0], media_type=found[1])

    async def nothing(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 404)
        if status == 405:
            return PlainTextResponse("This address is for changes: it takes POST.\n", 405)
        return desk.page("missing.html", status=404)

    async def leave_to_the_guard(request: Request, error: Exception) -> Response:
        raise error

    routes = [
        Route("/", first, methods=["GET"]),
        Route(ENTER, enter, methods=["POST"]),
        Route("/static/{name}", asset, methods=["GET"]),
        Route(UPLOADS, home.upload, methods=["POST"]),
        *(
            Route(path, answering(handler), methods=["GET"])
            for path, handler in READING.items()
            if path != "/"
        ),
        *(Route(path, answering(handler), methods=["POST"]) for path, handler in CHANGING.items()),
    ]
    made = Starlette(
        routes=routes,
        exception_handlers={404: nothing, 405: nothing, Exception: leave_to_the_guard},
    )
    made.state.desk = desk
    return made
