"""One series: its releases, its budget, its documents, and what it tells about one person."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from serigraph.charts import Line, line_chart
from serigraph.errors import InputRefused, LedgerDamaged
from serigraph.ledger import ReleaseRecord, Series
from serigraph.records import WorstPair
from serigraph.reporting.certificate import NAME
from serigraph.reporting.documents import REPORT
from serigraph.reporting.page import exact
from serigraph.web.desk import Desk
from serigraph.web.forms import Form
from serigraph.web.places import Place
from serigraph.web.screens.jobs import document, zipped


def the_place(desk: Desk, request: Request) -> Place:
    """The series of this address."""
    return desk.places.get(request.path_params["key"])


def show(desk: Desk, request: Request, form: Form) -> Response:
    """Its timeline, at once from the catalog; budgets are a job."""
    place = the_place(desk, request)
    releases = Series.open(place.path).releases()
    return desk.page(
        "series.html",
        place=place,
        releases=[_row(each) for each in releases],
        chain=releases[-1].chain if releases else "",
        chart=_timeline(releases),
        tables=desk.uploads.tables(),
        jobs=[
            job
            for task in ("audit", "attack", "report", "verify")
            if (job := desk.jobs.latest(task, place.key))
        ],
        writer=desk.jobs.writer_of(place.key),
    )


def _row(release: ReleaseRecord) -> dict[str, Any]:
    summary = release.summary
    pair = summary.get("worst_in_series")
    return {
        "number": release.number,
        "label": release.label,
        "published": release.published_at[:10],
        "people": summary["present"],
        "groups": summary["groups"],
        "smallest": summary.get("smallest_size"),
        "alone": summary.get("people_alone"),
        "suppressed": summary["suppressed_values"],
        "worst": WorstPair.from_json(pair) if pair else None,
    }


def _timeline(releases: tuple[ReleaseRecord, ...]) -> str:
    """The largest probability so far, against its threshold."""
    if not releases:
        return ""
    pairs = [(float(each.number), each.summary.get("worst_in_series")) for each in releases]
    return line_chart(
        "Largest probability so far",
        [
            Line(
                "worst pair of the series",
                [(n, float(Fraction(pair["probability"])) if pair else 0.0) for n, pair in pairs],
                [exact(pair["probability"]) if pair else "nobody is exposed" for _, pair in pairs],
            )
        ],
        labels={float(each.number): each.label for each in releases},
        x="release",
        y="probability",
        limit=float(Fraction(releases[-1].threshold)),
        limit_name="threshold",
    )


def standing(desk: Desk, request: Request, form: Form) -> Response:
    """Budgets and values near the limit: computed once for each state of the series."""
    place = the_place(desk, request)
    releases = Series.open(place.path).releases()
    state = releases[-1].chain if releases else ""
    policy = hashlib.sha256((place.path / "policy.toml").read_bytes()).hexdigest()
    known = desk.jobs.latest("standing", place.key)
    if known is None or known.about["of"] != [state, policy] or known.state in _AGAIN:
        known = desk.start(
            "standing",
            {"series": str(place.path)},
            "Reading the budgets",
            place=place,
            about={"of": [state, policy]},
        )
    return desk.job(known)


_AGAIN = ("failed", "cancelled")


def audit(desk: Desk, request: Request, form: Form) -> Response:
    """Recompute every probability."""
    place = the_place(desk, request)
    arguments = {"series": str(place.path), "raw": _raw(desk, place, form)}
    return desk.job(desk.start("audit", arguments, "Audit", place=place))


def attack(desk: Desk, request: Request, form: Form) -> Response:
    """Attack it; without the tables, as far as the ledger alone tells who holds what."""
    place = the_place(desk, request)
    arguments = {
        "series": str(place.path),
        "raw": _raw(desk, place, form),
        "registry": desk.table(form.text("registry")) if form.has("registry") else None,
    }
    return desk.job(desk.start("attack", arguments, "Attacks", place=place))


def _raw(desk: Desk, place: Place, form: Form) -> list[str]:
    """The tables that the releases were made from: one for each, or none."""
    raw = [desk.table(key) for key in form.texts("raw")]
    if raw and len(raw) != len(Series.open(place.path).releases()):
        raise InputRefused(
            "some releases have a table and some have none",
            remedy="choose the table of each release",
        )
    return raw


def report(desk: Desk, request: Request, form: Form) -> Response:
    """Make the report and the certificate of the series."""
    place = the_place(desk, request)
    out = str(place.path / "report")
    arguments = {"series": str(place.path), "out": out}
    return desk.job(desk.start("report", arguments, "Series report", place=place, writes=True))


def verify(desk: Desk, request: Request, form: Form) -> Response:
    """Check the certificate of a release."""
    place = the_place(desk, request)
    release = _release(place, request)
    path = place.path / "releases" / release.label / NAME
    title = f"Verifying {release.label}"
    return desk.job(desk.start("verify", {"certificate": str(path)}, title, place=place))


def person_form(desk: Desk, request: Request, form: Form) -> Response:
    """Ask before a person is looked up."""
    return desk.page("person.html", place=the_place(desk, request))


def person(desk: Desk, request: Request, form: Form) -> Response:
    """Look up a person, if a reason is confirmed."""
    place = the_place(desk, request)
    if not form.has("sure"):
        raise InputRefused(
            "nobody was looked up",
            remedy="confirm that you are allowed to look this person up",
        )
    arguments = {
        "series": str(place.path),
        "person": form.text("person").strip(),
        "value": form.text("value").strip(),
    }
    return desk.job(desk.start("person", arguments, "Looking up a person", place=place))


def release_report(desk: Desk, request: Request, form: Form) -> Response:
    """The report of a release, as it was published."""
    place = the_place(desk, request)
    release = _release(place, request)
    return document(public_file(place, release, REPORT), REPORT)


def hand_over(desk: Desk, request: Request, form: Form) -> Response:
    """A zip of what may be handed over: the public files of a release, each as it was published."""
    place = the_place(desk, request)
    release = _release(place, request)
    shown = "".join(each if each.isascii() and each.isalnum() else "-" for each in release.label)
    return zipped(
        {
            f"{release.label}/{file.name}": public_file(place, release, file.name)
            for file in release.files
        },
        shown,
    )


def public_file(place: Place, release: ReleaseRecord, name: str) -> bytes:
    """A public file of a release; ``LedgerDamaged`` if it is not what was published."""
    digest = {file.name: file.sha256 for file in release.files}.get(name)
    path = place.path / "releases" / release.label / name
    content = path.read_bytes() if digest and path.is_file() else b""
    if hashlib.sha256(content).hexdigest() != digest:
        raise LedgerDamaged(
            "a file of the release is missing, or is not what was published",
            where=f"releases/{release.label}/{name}",
            remedy="restore the series from a backup",
        )
    return content


def _release(place: Place, request: Request) -> ReleaseRecord:
    releases = Series.open(place.path).releases()
    number: int = request.path_params["number"]
    if not 1 <= number <= len(releases):
        raise InputRefused("the series has no such release", remedy="choose one from its list")
    return releases[number - 1]
