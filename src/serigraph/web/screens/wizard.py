"""A new series from its first table: look at the columns, correct the proposal, begin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from serigraph.errors import InputRefused
from serigraph.ledger import Series
from serigraph.web import policy_editing
from serigraph.web.desk import Desk, to
from serigraph.web.forms import Form
from serigraph.web.jobs import Job
from serigraph.web.screens.jobs import the_job


def show(desk: Desk, request: Request, form: Form) -> Response:
    """Ask for a table, or show what was found in one."""
    job = desk.jobs.get(request.query_params.get("job", ""))
    if job is not None and job.task != "inspect":
        job = None
    facts: dict[str, Any] = {
        "job": job,
        "tables": desk.uploads.tables(),
        "roots": desk.places.roots,
    }
    if job is None or job.state != "done" or job.result["problem"]:
        return desk.page("new.html", **facts)
    facts |= _facts(desk, job, job.result["policy"])
    return desk.page("new.html", **facts)


def inspect(desk: Desk, request: Request, form: Form) -> Response:
    """Look at a table."""
    desk.require_writing()
    upload = desk.uploads.get(form.text("table"))
    job = desk.start(
        "inspect",
        {
            "table": str(upload.path),
            "name": upload.name,
            "person": form.text("person"),
            "sensitive": form.text("sensitive"),
        },
        f"Looking at {upload.name}",
        about={"table": upload.key, "go": "/new?job="},
    )
    return to(f"/new?job={job.key}", request)


def edit(desk: Desk, request: Request, form: Form) -> Response:
    """The screen after a change of one of its controls."""
    job = _inspected(desk, form.text("job"))
    text = policy_editing.edited(form, _folder(desk, job), job.result["columns"])
    return desk.page("policy_form.html", **_facts(desk, job, text, form))


def values(desk: Desk, request: Request, form: Form) -> Response:
    """Read the values of the sensitive column under the text as it is now."""
    job = _inspected(desk, form.text("job"))
    policy_editing.refuse_invalid(form.text("policy"), _folder(desk, job))
    started = desk.start(
        "values",
        {
            "table": desk.table(job.about["table"]),
            "policy": form.text("policy"),
            "folder": str(_folder(desk, job)),
        },
        "Reading the values",
        about={"then": "/new/edit"},
    )
    return desk.job(started)


def preview(desk: Desk, request: Request, form: Form) -> Response:
    """The first rows, once they are asked for."""
    job = the_job(desk, request)
    if job.state != "done" or "preview" not in job.result:
        raise InputRefused("this table was not looked at", remedy="begin with a table")
    return desk.page("preview.html", found=job.result, is_masked=False, job=job)


def create(desk: Desk, request: Request, form: Form) -> Response:
    """Make the series with the policy as it is in the form."""
    desk.require_writing()
    job = _inspected(desk, form.text("job"))
    path = desk.places.new(form.whole("root", 0, 0, 1_000), form.text("name"))
    text = form.text("policy")
    policy_editing.refuse_invalid(text, _folder(desk, job))
    Series.create(path, {"policy.toml": text.encode(), **_files(job)})
    place = next(each for each in desk.places.all() if each.path.resolve() == path.resolve())
    return to(f"/series/{place.key}/plan", request)


def _inspected(desk: Desk, key: str) -> Job:
    job = desk.jobs.get(key)
    if job is None or job.task != "inspect" or job.state != "done" or job.result["problem"]:
        raise InputRefused("this table was not looked at", remedy="begin with a table")
    return job


def _facts(desk: Desk, job: Job, text: str, form: Form | None = None) -> dict[str, Any]:
    found = job.result
    held = desk.jobs.get(form.text("values_job")) if form else None
    values = held.result["values"] if held and held.state == "done" else found["values"]
    screen = policy_editing.screen(
        text,
        _folder(desk, job),
        before=found["policy"],
        known=found["columns"],
        reasons=found["reasons"],
    )
    return {
        "found": found,
        "job": job,
        "screen": screen,
        "values": values,
        "tables": desk.uploads.tables(),
        "chosen": job.about["table"],
        "is_masked": True,
    }


def _files(job: Job) -> Mapping[str, bytes]:
    return {path: content.encode() for path, content in job.result["files"].items()}


def _folder(desk: Desk, job: Job) -> Path:
    """Where the proposed taxonomies lie, for as long as the server runs."""
    folder = desk.uploads.folder / f"policy-{job.key}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, content in _files(job).items():
        if not (folder / name).exists():
            (folder / name).parent.mkdir(exist_ok=True, mode=0o700)
            (folder / name).write_bytes(content)
    return folder
