"""The paper's study, run again on generated people."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from serigraph.web.desk import Desk, to
from serigraph.web.forms import Form

PEOPLE, ROUNDS, QUERIES = 1_000, 5, 100  # a first look


def show(desk: Desk, request: Request, form: Form) -> Response:
    """What to run, and the latest result."""
    job = desk.jobs.latest("reproduce")
    return desk.page("study.html", job=job, people=PEOPLE, rounds=ROUNDS, queries=QUERIES)


def run(desk: Desk, request: Request, form: Form) -> Response:
    """Run it; its files are kept as long as the server runs."""
    seed = form.whole("seed", 1, 0, 10**9)
    asked = {
        "people": form.whole("people", 0, 200, 100_000),
        "rounds": form.whole("rounds", 0, 2, 40),
        "queries": form.whole("queries", 0, 1, 10_000),
    }
    name = "-".join(["study", *map(str, (*asked.values(), seed))])
    arguments = {**asked, "seed": seed, "out": str(desk.uploads.folder / name)}
    desk.start("reproduce", arguments, "The study")
    return to("/study", request)
