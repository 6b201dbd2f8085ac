"""A job on a page: its stages and bar, a way to stop it, and what came out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from serigraph.errors import InputRefused
from serigraph.web.desk import Desk
from serigraph.web.forms import Form
from serigraph.web.guard import DOCUMENT_POLICY
from serigraph.web.jobs import Job


def show(desk: Desk, request: Request, form: Form) -> Response:
    """The fragment that shows it as it is now."""
    return desk.job(the_job(desk, request))


def cancel(desk: Desk, request: Request, form: Form) -> Response:
    """Stop it."""
    job = the_job(desk, request)
    if job.writes:
        desk.require_writing()
    desk.jobs.cancel(job.key)
    return desk.job(the_job(desk, request))


def report(desk: Desk, request: Request, form: Form) -> Response:
    """The report that it made, to keep."""
    job = the_job(desk, request)
    if job.state != "done" or "report" not in job.result:
        raise InputRefused("this job has no report", remedy="run it again")
    return document(job.result["report"].encode(), "report.html")


def document(content: bytes, name: str) -> Response:
    """A report as a page of its own, which runs nothing."""
    return Response(
        content,
        media_type="text/html",
        headers={
            "content-security-policy": DOCUMENT_POLICY,
            "content-disposition": f'inline; filename="{name}"',
        },
    )


def the_job(desk: Desk, request: Request) -> Job:
    """The job of this address."""
    job = desk.jobs.get(request.path_params["job"])
    if job is None:
        raise InputRefused(
            "this job is not known any more", remedy="reload the page and begin again"
        )
    return job
