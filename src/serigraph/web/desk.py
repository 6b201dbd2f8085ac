"""What a running server knows, and how it answers: the series, the tables handed in, the jobs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from serigraph.errors import ReadOnly, SeriesBusy, SeriesNotFound, SerigraphError
from serigraph.runtime.unforeseen import as_known
from serigraph.web.entrance import Entrance
from serigraph.web.forms import Form
from serigraph.web.jobs import Job, Jobs
from serigraph.web.pages import rendered
from serigraph.web.places import Place, Places
from serigraph.web.tasks import stages_of
from serigraph.web.uploads import Uploads
from serigraph.web.worker import told_of


@dataclass(frozen=True)
class Desk:
    """Everything that handlers share."""

    places: Places
    uploads: Uploads
    jobs: Jobs
    entrance: Entrance
    is_read_only: bool = False

    def page(self, template: str, *, status: int = 200, **facts: Any) -> Response:
        """A whole page."""
        shared = {"read_only": self.is_read_only, "place": None, "desk": self}
        return HTMLResponse(rendered(template, **{**shared, **facts}), status)

    def job(self, job: Job) -> Response:
        """The fragment of a page that shows a job."""
        return self.page("job.html", job=job)

    def start(
        self,
        task: str,
        arguments: Mapping[str, Any],
        title: str,
        *,
        place: Place | None = None,
        writes: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> Job:
        """Start a job; one that writes is refused where the server only reads."""
        if writes:
            self.require_writing()
        return self.jobs.start(
            task,
            arguments,
            title=title,
            stages=stages_of(task),
            series=place.key if place else "",
            writes=writes,
            about=about,
        )

    def require_writing(self) -> None:
        """``ReadOnly`` if the server was started with --read-only."""
        if self.is_read_only:
            raise ReadOnly(
                "this server was started for looking only",
                remedy="ask the publisher, or start it without --read-only",
            )

    def table(self, key: str) -> str:
        """The path of a table that was handed in."""
        return str(self.uploads.get(key).path)

    def failed(self, error: SerigraphError, *, is_fragment: bool) -> Response:
        """An error as it is shown: in place, or as a page."""
        return self.page(
            "error.html" if is_fragment else "error_page.html",
            status=_status(error),
            error=told_of(error),
        )


def _status(error: SerigraphError) -> int:
    if isinstance(error, SeriesNotFound):
        return 404
    if isinstance(error, ReadOnly):
        return 403
    return 409 if isinstance(error, SeriesBusy) else 422


Handler = Callable[[Desk, Request, Form], Response | Awaitable[Response]]


def answering(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler as an endpoint: reads the form, runs outside of the event loop, shows errors.

    Every error that is not Serigraph's own is shown without its message, which may quote a cell.
    """

    async def endpoint(request: Request) -> Response:
        desk: Desk = request.app.state.desk
        try:
            form = await Form.of(request) if request.method == "POST" else Form([])
            if inspect.iscoroutinefunction(handler):
                answer = await handler(desk, request, form)
            else:
                answer = await run_in_threadpool(handler, desk, request, form)
        except SerigraphError as error:
            return desk.failed(error, is_fragment="x-fragment" in request.headers)
        except OSError as error:
            known = as_known(error, is_memory_limited=False)
            return desk.failed(known, is_fragment="x-fragment" in request.headers)
        response: Response = answer
        return response

    return endpoint


def to(address: str, request: Request) -> Response:
    """Send the browser to another page, by a header that scripts can follow as well."""
    if "x-fragment" in request.headers:
        return Response(status_code=204, headers={"x-go": address})
    return RedirectResponse(address, 303)
