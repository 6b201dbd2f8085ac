"""Releases that any tool made, audited or attacked: their tables in order, and a policy to judge
them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from serigraph.errors import InputRefused, SerigraphError
from serigraph.policy import Policy, read_policy
from serigraph.web.desk import Desk, to
from serigraph.web.dialects import DECIMALS, DELIMITERS, Dialect, header_of, source_of
from serigraph.web.forms import Form
from serigraph.web.jobs import Job
from serigraph.web.uploads import Upload, seems

MISFITS = ("overlaps", "missing-people", "empty-regions")
PARTS = ("unused", "release", "raw", "registry", "policy")


def show(desk: Desk, request: Request, form: Form) -> Response:
    """What was handed in, each with a place in the audit, and the latest results."""
    found = (desk.jobs.latest("audit_foreign"), desk.jobs.latest("attack"))
    jobs = sorted((each for each in found if each and "parts" in each.about), key=_begun)
    given = jobs[-1].about if jobs else _as_given(Form([]))
    files = [(each, given["parts"].get(each.key) or _guess(each)) for each in desk.uploads.all()]
    policy = _known_policy(desk, files, given["series"])
    return desk.page(
        "audit.html",
        files=[
            {"upload": each, "part": part, **_dialect_facts(each, part, policy, given)}
            for each, part in files
        ],
        places=desk.places.all(),
        jobs=jobs[::-1],
        given=given,
        misfits=MISFITS,
        delimiters=DELIMITERS,
        decimals=DECIMALS,
    )


def _begun(job: Job) -> datetime:
    return job.begun


def _known_policy(desk: Desk, files: Sequence[tuple[Upload, str]], series: str) -> Policy | None:
    """The policy that an audit would take now, if it can be read."""
    paths = [each.path for each, part in files if part == "policy"]
    if not paths and series:
        paths = [each.path / "policy.toml" for each in desk.places.all() if each.key == series]
    try:
        return read_policy(paths[0]) if len(paths) == 1 else None
    except SerigraphError:
        return None


def _dialect_facts(
    upload: Upload, part: str, policy: Policy | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The columns of a file and those that the policy needs in it, with what was chosen."""
    signs = {name: given[name].get(upload.key, "") for name in ("delimiter", "decimal", "missing")}
    if policy is None or part not in ("release", "raw", "registry"):
        return {"needed": {}, "header": (), "lacking": (), **signs}
    header = header_of(upload.path, DELIMITERS.get(signs["delimiter"], ""))
    needed = [
        *([policy.person.id] if part != "release" else ()),
        *policy.quasi_identifiers,
        *(policy.sensitive_columns if part != "registry" else ()),
    ]
    chosen = {name: given["columns"].get(f"{upload.key}:{name}", "") for name in needed}
    lacking = [name for name in needed if header and (chosen[name] or name) not in header]
    return {"needed": chosen, "header": header, "lacking": lacking, **signs}


def _guess(upload: Upload) -> str:
    """The part that a file seems to have, by its name."""
    if "raw" in upload.name.lower():
        return "raw"
    found = seems(upload.name)
    return "release" if found == "table" else found


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
    """What the form says, to be shown again."""
    by_file = {
        "parts": "part:",
        "order": "order:",
        "columns": "column:",
        "delimiter": "delimiter:",
        "decimal": "decimal:",
        "missing": "missing:",
    }
    return {
        **{name: form.beginning(start) for name, start in by_file.items()},
        "series": form.text("series"),
        "tolerate": form.texts("tolerate"),
    }


def _source(form: Form, upload: Upload) -> Any:
    """A file, and what it says in other words than the policy."""
    columns = form.beginning(f"column:{upload.key}:")
    missing = form.text(f"missing:{upload.key}").split(",")
    dialect = Dialect(
        columns={own: theirs for own, theirs in columns.items() if theirs and theirs != own},
        delimiter=DELIMITERS.get(form.text(f"delimiter:{upload.key}"), ""),
        decimal=DECIMALS.get(form.text(f"decimal:{upload.key}"), ""),
        missing=[each.strip() for each in missing if each.strip()],
    )
    return source_of(upload.path, dialect)


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
        "releases": _paired(form, chosen["release"], order),
        "policy": str(policy),
        "raw": [_source(form, each) for each in chosen["raw"]],
        "registry": _source(form, chosen["registry"][0]) if chosen["registry"] else None,
    }


def _paired(form: Form, releases: Sequence[Upload], order: Mapping[str, int]) -> list[Any]:
    """One table for each release, or the two of one of two linked tables."""
    numbered: dict[int | str, list[Any]] = {}
    for each in releases:
        numbered.setdefault(order.get(each.key) or each.key, []).append(_source(form, each))
    if any(len(paths) > 2 for paths in numbered.values()):
        raise InputRefused(
            "more than two tables have the number of one release",
            remedy="give each release a number of its own, and two linked tables the same",
        )
    return [paths if len(paths) == 2 else paths[0] for paths in numbered.values()]


def _number(text: str) -> int:
    return int(text[:6]) if text.isascii() and text.isdigit() else 0
