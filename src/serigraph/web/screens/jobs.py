"""A job on a page: its stages and bar, a way to stop it, and what came out."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

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


def files(desk: Desk, request: Request, form: Form) -> Response:
    """The files that it made, as a zip."""
    job = the_job(desk, request)
    if job.state != "done" or not job.result.get("files"):
        raise InputRefused("this job made no files", remedy="run it again")
    made = [Path(each) for each in job.result["files"]]
    return zipped({each.name: each.read_bytes() for each in made}, job.task)


_QUICK = 1  # a release of a million people takes 0.4 s and 8 MB; by default 1.6 s and 6.5 MB


def zipped(contents: Mapping[str, bytes], name: str) -> Response:
    """Files as a zip to keep."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=_QUICK) as archive:
        for path, content in contents.items():
            archive.writestr(path, content)
    return Response(
        packed.getvalue(),
        media_type="application/zip",
        headers={"content-disposition": f'attachment; filename="{name}.zip"'},
    )


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
