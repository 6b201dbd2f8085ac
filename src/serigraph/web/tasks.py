"""What workers do: each task calls one public function of Serigraph, and makes a page of what it
returns. Arguments and results are JSON types; a result holds no id and, but for the preview that
its owner asked for, no cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from serigraph.errors import InputRefused
from serigraph.runtime.progress import Progress


def get_ready() -> None:
    """Load what most tasks need, before there is one."""
    import serigraph.planning.series_plan
    import serigraph.publishing.publication
    import serigraph.reporting  # noqa: F401


def standing(progress: Progress, *, series: str) -> dict[str, Any]:
    """Budgets, and values near their limit."""
    from serigraph import status
    from serigraph.web.result_pages import standing_sections

    progress("reading")
    return {"sections": standing_sections(status(series))}


def person(progress: Progress, *, series: str, person: str, value: str) -> dict[str, Any]:
    """What the series tells of one person and one value."""
    from serigraph import Series, history
    from serigraph.web.result_pages import person_sections

    progress("reading")
    releases = Series.open(series).releases()
    is_number = bool(releases) and releases[-1].id_type == "integer"
    if is_number and not _is_whole(person):
        raise InputRefused("ids in this series are whole numbers", remedy="correct the id")
    found = history(series, int(person) if is_number else person, value)
    return {"sections": person_sections(found)}


def _is_whole(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and len(text) < 20


def verify(progress: Progress, *, certificate: str) -> dict[str, Any]:
    """Whether a certificate is true."""
    from serigraph import verify as check

    progress("reading")
    found = check(certificate)
    return {"verdict": found.conclusion, "holds": True, "sections": [], "notes": found.checks}


def report(progress: Progress, *, series: str, out: str) -> dict[str, Any]:
    """The report and the certificate of the whole series, in a folder to take them from."""
    from serigraph.reporting import report_series

    made = report_series(series, out, progress=progress)
    return {
        "verdict": f"Report and certificate are made. The promise holds if {made.rests_on}.",
        "holds": True,
        "sections": [],
        "notes": list(made.notes),
        "files": [str(made.report), str(made.certificate)],
    }


def audit(progress: Progress, *, series: str) -> dict[str, Any]:
    """Every probability of a series, recomputed."""
    from serigraph.auditing import audit_series
    from serigraph.web.result_pages import audited

    found = audit_series(series, progress=progress).audit
    return audited(found, f"Audit of {Path(series).name}")


def audit_foreign(
    progress: Progress,
    *,
    releases: Sequence[str],
    policy: str,
    raw: Sequence[str] = (),
    registry: str | None = None,
    tolerate: Sequence[Any] = (),
) -> dict[str, Any]:
    """The same for releases that any tool made."""
    from serigraph.auditing import audit_releases
    from serigraph.tables.cells import counted
    from serigraph.web.result_pages import audited

    found = audit_releases(
        releases, policy, raw=raw, registry=registry, tolerate=tolerate, progress=progress
    ).audit
    return audited(found, f"Audit of {counted(len(releases), 'release')}")


def attack(progress: Progress, *, series: str) -> dict[str, Any]:
    """How far attacks come."""
    from serigraph import attack as attacked
    from serigraph.web.result_pages import attack_result

    return attack_result(attacked(series, progress=progress))


def inspect(
    progress: Progress, *, table: str, name: str, person: str = "", sensitive: str = ""
) -> dict[str, Any]:
    """What the columns of a table seem to be, its first rows, and the policy that this suggests."""
    from serigraph.web.inspecting import inspected

    return inspected(progress, table, name, person=person, sensitive=sensitive)


def values(progress: Progress, *, table: str, policy: str, folder: str) -> dict[str, Any]:
    """The values of a table and their holders, under the text of a policy."""
    from serigraph.web.inspecting import held_values

    progress("reading")
    return held_values(table, policy, folder)


def plan(
    progress: Progress,
    *,
    table: str,
    series: str,
    registry: str | None = None,
    releases: int,
    return_rate: float | None,
    threshold: str,
    minimum_group_size: int | None,
    most_rehearsed: int,
) -> dict[str, Any]:
    """Strategies compared on the table of the next release."""
    from serigraph import plan as planned
    from serigraph.web.result_pages import planned_outlooks

    found = planned(
        table,
        series,
        registry=registry,
        releases=releases,
        return_rate=return_rate,
        thresholds=[threshold] if threshold else (),
        minimum_group_size=minimum_group_size,
        most_rehearsed=most_rehearsed,
        progress=progress,
    )
    return planned_outlooks(found, threshold)


def draft(progress: Progress, *, table: str, series: str, **options: Any) -> dict[str, Any]:
    """A release formed, verified and attacked, but not committed."""
    from serigraph import draft as drafted

    made = drafted(table, series, progress=progress, **options)
    return {"name": made.name, "label": made.label}


def publish_draft(progress: Progress, *, series: str, name: str) -> dict[str, Any]:
    """A draft made final."""
    from serigraph import publish_draft as published

    release = published(series, name, progress=progress)
    record = release.record
    return {"number": record.number, "label": record.label, "notes": list(release.notes)}


TASKS: Mapping[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each
    for each in (
        standing,
        person,
        verify,
        report,
        audit,
        audit_foreign,
        attack,
        inspect,
        values,
        plan,
        draft,
        publish_draft,
    )
}


def stages_of(task: str) -> tuple[str, ...]:
    """What a task is made of, in order."""
    match task:
        case "draft":
            from serigraph.reporting.drafting import STAGES

            return STAGES
        case "publish_draft":
            from serigraph.reporting.drafting import PUBLISHING_STAGES

            return PUBLISHING_STAGES
        case "audit" | "report":
            from serigraph.auditing import SERIES_STAGES

            return SERIES_STAGES
        case "audit_foreign":
            from serigraph.auditing import RELEASES_STAGES

            return RELEASES_STAGES
        case "plan":
            from serigraph.planning.series_plan import STAGES as PLAN_STAGES

            return PLAN_STAGES
        case "attack":
            return "reading", "attacking"
        case "inspect":
            return "reading", "looking at columns", "proposing"
        case _:
            return ("reading",)
