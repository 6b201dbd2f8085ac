"""Releases that any tool made, audited or attacked: their tables in order, and a policy to judge
them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from serigraph.errors import InputRefused
from serigraph.policy import read_policy
from serigraph.web.desk import Desk, to
from serigraph.web.forms import Form
from serigraph.web.uploads import Upload

MISFITS = ("overlaps", "missing-people", "empty-regions")
PARTS = ("unused", "release", "raw", "registry", "policy")


def show(desk: Desk, request: Request, form: Form) -> Response:
    """What was handed in, each with a place in the audit, and the latest results."""
    found = (desk.jobs.latest("audit_foreign"), desk.jobs.latest("attack"))
    jobs = sorted((each for each in found if each), key=lambda each: each.begun)
    given = jobs[-1].about if jobs else {"parts": {}, "order": {}}
    return desk.page(
        "audit.html",
        uploads=[
            (each, given["parts"].get(each.key) or _guess(each)) for each in desk.uploads.all()
        ],
        places=desk.places.all(),
        jobs=jobs[::-1],
        order=given["order"],
        misfits=MISFITS,
    )


def _guess(upload: Upload) -> str:
    """What a file seems to be, by its name."""
    name = upload.name.lower()
    if name.endswith(".toml"):
        return "policy"
    if "registry" in name or "population" in name:
        return "registry"
    return "raw" if "raw" in name else "release"


def run(desk: Desk, request: Request, form: Form) -> Response:
    """Audit the releases in the order of their numbers."""
    arguments = _chosen(desk, form)
    arguments["tolerate"] = [each for each in form.texts("tolerate") if each in MISFITS]
    desk.start("audit_foreign", arguments, "Audit", about=_as_given(form))
    return to("/audit", request)


def attack(desk: Desk, request: Request, form: Form) -> Response:
    """Attack them, in the same order."""
    arguments = _chosen(desk, form)
    if not arguments["raw"]:
        raise InputRefused(
            "without the tables nobody can tell whether an attack is right",
            remedy="drop the table that each release was made from, and mark it as one",
        )
    desk.start("attack", arguments, "Attacks", about=_as_given(form))
    return to("/audit", request)


def _as_given(form: Form) -> dict[str, Any]:
    return {"parts": form.beginning("part:"), "order": form.beginning("order:")}


def _chosen(desk: Desk, form: Form) -> dict[str, Any]:
    """The files by their parts. Two tables of one release have the same number."""
    parts = form.beginning("part:")
    order = {key: _number(text) for key, text in form.beginning("order:").items()}
    chosen: dict[str, list[Upload]] = {part: [] for part in PARTS}
    for key in sorted(parts, key=lambda each: order.get(each, 0)):
        if parts[key] not in PARTS:
            raise InputRefused("a file has no part in the audit", remedy="choose one for it")
        chosen[parts[key]].append(desk.uploads.get(key))
    if not chosen["release"]:
        raise InputRefused(
            "there is nothing to audit", remedy="drop releases, and mark them as releases"
        )
    for part in ("policy", "registry"):
        if len(chosen[part]) > 1:
            raise InputRefused(f"there is more than one {part}", remedy="mark one of them")
    policy = chosen["policy"][0].path if chosen["policy"] else None
    if policy is None and form.has("series"):
        policy = desk.places.get(form.text("series")).path / "policy.toml"
    if policy is None:
        raise InputRefused(
            "releases can only be audited against a policy",
            remedy="drop a policy file, or choose the policy of a series",
        )
    read_policy(policy)  # wrong policies are told at once
    return {
        "releases": _paired(chosen["release"], order),
        "policy": str(policy),
        "raw": [str(each.path) for each in chosen["raw"]],
        "registry": str(chosen["registry"][0].path) if chosen["registry"] else None,
    }


def _paired(releases: Sequence[Upload], order: Mapping[str, int]) -> list[str | list[str]]:
    """One path for each release, or the two paths of one of two linked tables."""
    numbered: dict[int | str, list[str]] = {}
    for each in releases:
        numbered.setdefault(order.get(each.key) or each.key, []).append(str(each.path))
    if any(len(paths) > 2 for paths in numbered.values()):
        raise InputRefused(
            "more than two tables have the number of one release",
            remedy="give each release a number of its own, and two linked tables the same",
        )
    return [paths if len(paths) == 2 else paths[0] for paths in numbered.values()]


def _number(text: str) -> int:
    return int(text[:6]) if text.isascii() and text.isdigit() else 0
