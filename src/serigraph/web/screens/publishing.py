"""Publishing: a table, its draft, a look at it, and the label typed to make it final."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

import serigraph
from serigraph.errors import InputRefused
from serigraph.publishing.published import SingledOut, pair_of
from serigraph.reporting.draft_page import (
    attacks_section,
    differences_section,
    rows_section,
    values_section,
)
from serigraph.reporting.drafting import Draft
from serigraph.reporting.page import singled_out_notes
from serigraph.signing import SigningKey
from serigraph.web.desk import Desk, to
from serigraph.web.forms import Form
from serigraph.web.places import Place
from serigraph.web.screens.jobs import document
from serigraph.web.screens.series import the_place

_OPTIONS = ("allow_suppression", "new_people", "same_table")
_FILES = ("report.html",)


def show(desk: Desk, request: Request, form: Form) -> Response:
    """Drafts, the work under way, and the form for another draft."""
    place = the_place(desk, request)
    jobs = [desk.jobs.latest(task, place.key) for task in ("draft", "publish_draft")]
    return desk.page(
        "publish.html",
        place=place,
        tables=desk.uploads.tables(),
        jobs=sorted((each for each in jobs if each), key=lambda each: each.begun)[-1:],
        drafts=[_facts(each) for each in serigraph.drafts(place.path)],
        options=_OPTIONS,
    )


def draft(desk: Desk, request: Request, form: Form) -> Response:
    """Form and verify a release without committing it."""
    place = the_place(desk, request)
    upload = desk.uploads.get(form.text("table"))
    arguments: dict[str, Any] = {
        "table": str(upload.path),
        "series": str(place.path),
        "registry": desk.table(form.text("registry")) if form.has("registry") else None,
        "label": form.text("label").strip(),
        "assume_transient": [
            each.strip() for each in form.text("assume_transient").splitlines() if each.strip()
        ],
        **{name: form.has(name) for name in _OPTIONS},
    }
    if form.has("key"):
        _key(form)  # one that cannot be read is told at once
        arguments |= {name: form.text(name) for name in ("key", "passphrase")}
    desk.start("draft", arguments, f"Drafting from {upload.name}", place=place, writes=True)
    return to(f"/series/{place.key}/publish", request)


def approve(desk: Desk, request: Request, form: Form) -> Response:
    """Sign a draft as one of those who have to."""
    desk.require_writing()
    place = the_place(desk, request)
    serigraph.approve(place.path, _draft(place, form.text("draft")).name, _key(form))
    return to(f"/series/{place.key}/publish", request)


def _key(form: Form) -> SigningKey:
    """The private key that was chosen. It is used and forgotten: no file is made of it."""
    if not form.has("key"):
        raise InputRefused("no key was chosen", remedy="choose the file of your private key")
    return SigningKey.from_pem(
        form.text("key").encode(), "the key", form.text("passphrase").encode()
    )


def commit(desk: Desk, request: Request, form: Form) -> Response:
    """Publish a draft, if its label was typed."""
    desk.require_writing()
    place = the_place(desk, request)
    chosen = _draft(place, form.text("draft"))
    if form.text("typed") != chosen.label:
        raise InputRefused(
            "the label that was typed is not that of the draft; nothing was published",
            remedy="type the label exactly as it is shown",
        )
    desk.start(
        "publish_draft",
        {"series": str(place.path), "name": chosen.name},
        f"Publishing {chosen.label}",
        place=place,
        writes=True,
    )
    return to(f"/series/{place.key}/publish", request)


def discard(desk: Desk, request: Request, form: Form) -> Response:
    """Throw a draft away."""
    desk.require_writing()
    place = the_place(desk, request)
    serigraph.discard_draft(place.path, _draft(place, form.text("draft")).name)
    return to(f"/series/{place.key}/publish", request)


def draft_file(desk: Desk, request: Request, form: Form) -> Response:
    """The report that the public would get."""
    place = the_place(desk, request)
    chosen, name = _draft(place, request.path_params["name"]), request.path_params["file"]
    path = chosen.public / name
    if name not in _FILES or not path.is_file():
        raise InputRefused("the draft has no such file", remedy="choose one from its page")
    return document(path.read_bytes(), name)


def _draft(place: Place, name: str) -> Draft:
    for each in serigraph.drafts(place.path):
        if each.name == name:
            return each
    raise InputRefused(
        "there is no such draft any more: it was published or discarded",
        remedy="reload the page",
    )


def rows(desk: Desk, request: Request, form: Form) -> Response:
    """Some records before and after, once they are asked for."""
    chosen = _draft(the_place(desk, request), form.text("draft"))
    return desk.page(
        "sections_page.html", sections=[asdict(rows_section(chosen.before, chosen.after))]
    )


def _facts(draft: Draft) -> dict[str, Any]:
    figures = draft.figures
    sections = (
        values_section(draft.value_list),
        differences_section(draft.differences),
        attacks_section(draft.attacks),
    )
    return {
        "name": draft.name,
        "label": draft.label,
        "figures": figures,
        "worst": pair_of(figures["worst_in_release"]),
        "so_far": pair_of(figures["worst_in_series"]),
        "notes": (*singled_out_notes(SingledOut.of(figures)), *draft.notes),
        "obstacle": draft.obstacle,
        "approvals": draft.approvals,
        "approvals_asked": draft.approvals_asked,
        "sections": [asdict(each) for each in sections],
    }
