"""Addresses of a site in this process, and its jobs."""

from __future__ import annotations

import time

from serigraph.web.jobs import Job
from web.asking import Site


def series_of(inside: Site) -> str:
    """The address of the only series."""
    return f"/series/{inside.desk.places.all()[0].key}"


def done(inside: Site) -> Job:
    """The newest job, once it has ended well."""
    job = list(inside.desk.jobs._jobs.values())[-1]
    until = time.monotonic() + 120
    while not job.is_over and time.monotonic() < until:
        time.sleep(0.05)
        job = inside.desk.jobs.get(job.key) or job
    assert job.state == "done", job.error
    return job
