"""The addresses of the site. Whatever changes something is a POST."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from serigraph.web.desk import Desk, Handler, answering
from serigraph.web.guard import ENTER, UPLOADS
from serigraph.web.pages import rendered, static
from serigraph.web.screens import audit, home, jobs, planning, policy, publishing, series, wizard

_SERIES = "/series/{key}"

READING: dict[str, Handler] = {
    "/": home.show,
    "/jobs/{job}": jobs.show,
    "/jobs/{job}/report": jobs.report,
    "/new": wizard.show,
    "/audit": audit.show,
    _SERIES: series.show,
    _SERIES + "/person": series.person_form,
    _SERIES + "/releases/{number:int}/report": series.release_report,
    _SERIES + "/releases/{number:int}/zip": series.hand_over,
    _SERIES + "/policy": policy.show,
    _SERIES + "/plan": planning.show,
    _SERIES + "/publish": publishing.show,
    _SERIES + "/drafts/{name}/{file}": publishing.draft_file,
}
CHANGING: dict[str, Handler] = {
    "/jobs/{job}/cancel": jobs.cancel,
    "/uploads/{upload}/forget": home.forget,
    "/new/inspect": wizard.inspect,
    "/new/edit": wizard.edit,
    "/new/values": wizard.values,
    "/new": wizard.create,
    "/preview/{job}": wizard.preview,
    "/cards": home.cards,
    "/audit": audit.run,
    _SERIES + "/standing": series.standing,
    _SERIES + "/audit": series.audit,
    _SERIES + "/attack": series.attack,
    _SERIES + "/report": series.report,
    _SERIES + "/releases/{number:int}/verify": series.verify,
    _SERIES + "/person": series.person,
    _SERIES + "/policy/edit": policy.edit,
    _SERIES + "/policy/values": policy.values,
    _SERIES + "/policy": policy.save,
    _SERIES + "/plan/ratios": planning.ratios,
    _SERIES + "/plan/rehearse": planning.rehearse,
    _SERIES + "/plan/adopt": planning.adopt,
    _SERIES + "/publish/draft": publishing.draft,
    _SERIES + "/publish/commit": publishing.commit,
    _SERIES + "/publish/rows": publishing.rows,
    _SERIES + "/publish/discard": publishing.discard,
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
