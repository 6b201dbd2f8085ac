"""The policy of a series: roles, protected values, the file itself, and what is locked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from serigraph.web import policy_editing
from serigraph.web.desk import Desk, to
from serigraph.web.forms import Form
from serigraph.web.places import Place
from serigraph.web.policy_editing import Screen
from serigraph.web.screens.series import the_place


def show(desk: Desk, request: Request, form: Form) -> Response:
    """The policy in force."""
    place = the_place(desk, request)
    text = in_force(place)
    return desk.page(
        "policy.html",
        place=place,
        screen=_screen(place, text, text),
        tables=desk.uploads.tables(),
        chosen="",
        values=None,
        saved=request.query_params.get("saved") == "1",
    )


def edit(desk: Desk, request: Request, form: Form) -> Response:
    """The screen after a change of one of its controls; nothing is saved."""
    place = the_place(desk, request)
    known, values = _known(desk, form)
    text = policy_editing.edited(form, place.path, known)
    return desk.page(
        "policy_form.html",
        place=place,
        screen=_screen(place, text, in_force(place), known),
        tables=desk.uploads.tables(),
        chosen=form.text("table"),
        values=values,
    )


def values(desk: Desk, request: Request, form: Form) -> Response:
    """Read the values of a table, to pick the protected ones from."""
    place = the_place(desk, request)
    upload = desk.uploads.get(form.text("table"))
    job = desk.start(
        "values",
        {"table": str(upload.path), "policy": form.text("policy"), "folder": str(place.path)},
        "Reading the values",
        place=place,
        about={"then": f"/series/{place.key}/policy/edit"},
    )
    return desk.job(job)


def save(desk: Desk, request: Request, form: Form) -> Response:
    """Put the text in force."""
    desk.require_writing()
    place = the_place(desk, request)
    policy_editing.save(place.path, form.text("policy"), form.text("digest"))
    return to(f"/series/{place.key}/policy?saved=1", request)


def in_force(place: Place) -> str:
    """The text of the policy file."""
    return (place.path / "policy.toml").read_text(encoding="utf-8-sig")


def _screen(place: Place, text: str, before: str, known: Sequence[Any] = ()) -> Screen:
    frozen = policy_editing.frozen_of(place.path)
    return policy_editing.screen(text, place.path, before=before, frozen=frozen, known=known)


def _known(desk: Desk, form: Form) -> tuple[Sequence[Any], Sequence[Any] | None]:
    """What a job has found out about the columns and the values of a table."""
    job = desk.jobs.get(form.text("values_job"))
    if job is None or job.state != "done":
        return (), None
    return job.result.get("columns", ()), job.result.get("values")
