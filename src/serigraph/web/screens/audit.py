"""An audit of releases that any tool made: their tables in order, and a policy to judge them by."""

from __future__ import annotations

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
    """What was handed in, each with a place in the audit, and the latest result."""
    job = desk.jobs.latest("audit_foreign")
    parts = job.about["parts"] if job else {}
    return desk.page(
        "audit.html",
        uploads=[(each, parts.get(each.key) or _guess(each)) for each in desk.uploads.all()],
        places=desk.places.all(),
        job=job,
        parts=PARTS,
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
    parts = form.beginning("part:")
    order = form.beginning("order:")
    chosen: dict[str, list[Upload]] = {part: [] for part in PARTS}
    for key in sorted(parts, key=lambda each: _number(order.get(each, ""))):
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
    arguments: dict[str, Any] = {
        "releases": [str(each.path) for each in chosen["release"]],
        "policy": str(policy),
        "raw": [str(each.path) for each in chosen["raw"]],
        "registry": str(chosen["registry"][0].path) if chosen["registry"] else None,
        "tolerate": [each for each in form.texts("tolerate") if each in MISFITS],
    }
    desk.start("audit_foreign", arguments, "Audit", about={"parts": parts})
    return to("/audit", request)


def _number(text: str) -> int:
    return int(text[:6]) if text.isascii() and text.isdigit() else 0
