"""Taxonomies of a series: built from a table, imported, and edited as a tree."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from serigraph.errors import InputRefused
from serigraph.policy import read_policy
from serigraph.web import policy_editing, taxonomy_editing
from serigraph.web.desk import Desk, to
from serigraph.web.forms import Form
from serigraph.web.inspecting import FLAT, IMPORTED, KEPT
from serigraph.web.jobs import Job
from serigraph.web.screens.series import the_place

WAYS = {
    KEPT: "as it is in the policy",
    FLAT: "all values below one root, to begin with",
    "mask": "the first characters",
    "intervals": "intervals of numbers",
    "dates": "month, quarter, year, decade",
    "order": "neighbours in an order",
    "columns": "columns of the table that hold the parents",
    IMPORTED: "a file, of ARX for example",
}


_CHOSEN = ("by", "parts", "table", "file")


def show(desk: Desk, request: Request, form: Form) -> Response:
    """The columns that may have one, and the tree that is edited."""
    place = the_place(desk, request)
    policy = read_policy(place.path / "policy.toml")
    job = desk.jobs.get(request.query_params.get("job", ""))
    if job is not None and (job.task, job.series) != ("taxonomy", place.key):
        job = None
    facts: dict[str, Any] = {
        "place": place,
        "columns": taxonomy_editing.columns(policy),
        "texts": {
            name: taxonomy_editing.beginning(policy, name)
            for name, file in taxonomy_editing.columns(policy).items()
            if file
        },
        "given": job.about if job else dict.fromkeys(("column", *_CHOSEN), ""),
        "ways": WAYS,
        "tables": desk.uploads.tables(),
        "job": job,
        "saved": request.query_params.get("saved") == "1",
    }
    if job is not None and job.state == "done":
        facts["column"] = job.about["column"]
        facts["screen"] = taxonomy_editing.screen(job.result["text"], job.result["values"])
        kept = taxonomy_editing.in_force(policy, job.about["column"])
        facts["digest"] = policy_editing.digest_of(kept)
    return desk.page("taxonomies.html", **facts)


def build(desk: Desk, request: Request, form: Form) -> Response:
    """Build a taxonomy for a column, or read the one that there is."""
    place = the_place(desk, request)
    column, by = form.text("column"), form.text("by")
    known = taxonomy_editing.columns(read_policy(place.path / "policy.toml"))
    if column not in known or by not in WAYS:
        raise InputRefused(
            "there is no such column, or no such way", remedy="choose them from their lists"
        )
    if by == KEPT and known[column] is None:
        raise InputRefused("the column has no taxonomy yet", remedy="choose a way to build one")
    parts = [each.strip() for each in form.text("parts").splitlines() if each.strip()]
    arguments = {
        "table": desk.table(form.text("table")),
        "series": str(place.path),
        "column": column,
        "by": by,
        "parts": [desk.table(form.text("file"))] if by == IMPORTED else parts,
    }
    about = {"column": column, **{name: form.text(name) for name in _CHOSEN}}
    job = desk.start("taxonomy", arguments, "Reading the column", place=place, about=about)
    return to(f"/series/{place.key}/taxonomies?job={job.key}", request)


def edit(desk: Desk, request: Request, form: Form) -> Response:
    """The tree after an edit of the text, or after values were moved; nothing is saved."""
    place = the_place(desk, request)
    job, text = _built(desk, form), form.text("text")
    if form.has("move"):
        text = taxonomy_editing.moved(text, form.texts("chosen"), form.text("parent"))
    screen = taxonomy_editing.screen(text, job.result["values"])
    return desk.page("taxonomy_form.html", place=place, screen=screen)


def save(desk: Desk, request: Request, form: Form) -> Response:
    """Put the taxonomy in force."""
    desk.require_writing()
    place = the_place(desk, request)
    column = _built(desk, form).about["column"]
    taxonomy_editing.save(place.path, column, form.text("text"), form.text("digest"))
    return to(f"/series/{place.key}/taxonomies?saved=1", request)


def _built(desk: Desk, form: Form) -> Job:
    job = desk.jobs.get(form.text("job"))
    if job is None or job.task != "taxonomy" or job.state != "done":
        raise InputRefused("this column is not read any more", remedy="read it again")
    return job
