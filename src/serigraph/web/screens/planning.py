"""The plan of a series: what a threshold and a strategy cost, now and over all releases."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from serigraph.charts import Line, line_chart
from serigraph.errors import InputRefused
from serigraph.ledger import Series
from serigraph.planning.candidates import candidates
from serigraph.policy import Policy, read_policy
from serigraph.policy.strategy import MOST_RELEASES
from serigraph.privacy.link_chances import LinkGaps
from serigraph.privacy.thresholds import parse_threshold
from serigraph.web import policy_editing
from serigraph.web.desk import Desk, to
from serigraph.web.forms import Form
from serigraph.web.jobs import Job
from serigraph.web.places import Place
from serigraph.web.policy_text import PolicyText
from serigraph.web.screens.policy import in_force
from serigraph.web.screens.series import the_place

_RETURNING = 80  # percent, until a table tells
_SHOWN = 20  # exposures in the table of ratios
REHEARSED = 600  # people of the sample: a rehearsal takes about a second


def show(desk: Desk, request: Request, form: Form) -> Response:
    """The sliders, at the policy's own values."""
    place = the_place(desk, request)
    policy, releases = read_policy(place.path / "policy.toml"), Series.open(place.path).releases()
    job = _rehearsed(desk, place)
    if desk.uploads.all():
        desk.jobs.warm()
    return desk.page(
        "plan.html",
        place=place,
        policy=policy,
        asked=job.about["asked"] if job else _asked_by(policy),
        least=len(releases) + 1,
        is_frozen=bool(releases),
        tables=desk.uploads.tables(),
        job=job,
        saved=request.query_params.get("saved") == "1",
    )


def _asked_by(policy: Policy) -> dict[str, Any]:
    """Where the sliders are before they are moved."""
    planned = getattr(policy.strategy, "releases", 20)
    return {
        "threshold": str(policy.threshold),
        "releases": planned if isinstance(planned, int) else 20,
        "return_rate": _RETURNING,
        "minimum_group_size": policy.guarantee.minimum_group_size,
    }


def _rehearsed(desk: Desk, place: Place) -> Job | None:
    """The latest rehearsal, unless the policy has changed since."""
    job = desk.jobs.latest("plan", place.key)
    if job is None or job.about["digest"] != policy_editing.digest_of(in_force(place)):
        return None
    return job


def ratios(desk: Desk, request: Request, form: Form) -> Response:
    """What each strategy asks of groups; arithmetic alone, so it answers at once."""
    place = the_place(desk, request)
    policy = read_policy(place.path / "policy.toml")
    threshold, releases = _threshold(form, policy), _releases(form)
    compared = candidates(
        policy,
        LinkGaps,
        {},
        releases=releases,
        return_rate=float(form.share("return_rate") or Fraction(_RETURNING, 100)),
        thresholds=[threshold],
        lengths=(),
        factors=(),
    )
    shown = [each for each in compared if each.threshold == threshold]
    previews = [(each, each.strategy.preview(threshold, max(releases, 2))) for each in shown]
    return desk.page(
        "ratios.html",
        place=place,
        infinity=float("inf"),
        threshold=threshold,
        chart=line_chart(
            "Members required per holder",
            [
                Line(each.strategy.short_name(), [(float(n), r) for n, r in enumerate(ratios, 1)])
                for each, ratios in previews
            ],
            x="exposure",
            y="members per holder",
            is_log=True,
        ),
        rows=[(each.strategy.short_name(), ratios[:_SHOWN]) for each, ratios in previews],
    )


def rehearse(desk: Desk, request: Request, form: Form) -> Response:
    """Rehearse the releases ahead with a table."""
    place = the_place(desk, request)
    policy = read_policy(place.path / "policy.toml")
    rate = form.share("return_rate")
    arguments: dict[str, Any] = {
        "table": desk.table(form.text("table")),
        "series": str(place.path),
        "registry": desk.table(form.text("registry")) if form.has("registry") else None,
        "releases": _releases(form),
        "return_rate": None if rate is None else float(rate),
        "threshold": str(_threshold(form, policy)),
        "minimum_group_size": form.whole(
            "minimum_group_size", policy.guarantee.minimum_group_size, 1, 10_000
        ),
        "most_rehearsed": REHEARSED,
    }
    if (other := desk.jobs.latest("plan", place.key)) is not None:
        desk.jobs.cancel(other.key)  # its sliders have moved on
    asked = {name: arguments[name] for name in ("threshold", "releases", "minimum_group_size")}
    about = {
        "asked": {**asked, "return_rate": _RETURNING if rate is None else round(float(100 * rate))},
        "table": form.text("table"),
        "digest": policy_editing.digest_of(in_force(place)),
    }
    return desk.job(desk.start("plan", arguments, "Rehearsing", place=place, about=about))


def adopt(desk: Desk, request: Request, form: Form) -> Response:
    """Write a strategy that was rehearsed into the policy."""
    desk.require_writing()
    place = the_place(desk, request)
    job = desk.jobs.get(form.text("job"))
    named = form.text("outlook")
    if job is None or job.state != "done" or job.task != "plan" or job.series != place.key:
        raise InputRefused("this plan is not known any more", remedy="rehearse again")
    found = [each for each in job.result["outlooks"] if each["name"] == named]
    if not found:
        raise InputRefused("the plan has no such strategy", remedy="choose one of its tabs")
    before = in_force(place)
    policy, edit = read_policy(place.path / "policy.toml"), PolicyText(before)
    edit.replace(("strategy",), found[0]["section"].splitlines()[1:])
    if Fraction(found[0]["threshold"]) != policy.threshold:
        edit.set(("guarantee",), {"threshold": found[0]["threshold"], "l": None})
    if (size := job.about["asked"]["minimum_group_size"]) != policy.guarantee.minimum_group_size:
        edit.set(("guarantee",), {"minimum_group_size": size})
    policy_editing.save(place.path, str(edit), form.text("digest"))
    return to(f"/series/{place.key}/plan?saved=1", request)


def _threshold(form: Form, policy: Policy) -> Fraction:
    given = form.text("threshold").strip()
    if not given:
        return policy.threshold
    try:
        return parse_threshold(given)
    except (TypeError, ValueError) as error:
        raise InputRefused(f"threshold: {error}", remedy="write it like 1/3") from None


def _releases(form: Form) -> int:
    return form.whole("releases", 20, 1, MOST_RELEASES)
