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
    return {
        "verdict": found.conclusion,
        "holds": None if found.caveat else True,
        "sections": [],
        "notes": found.checks,
    }


def report(progress: Progress, *, series: str, out: str) -> dict[str, Any]:
    """The report and the certificate of the whole series, in a folder to take them from."""
    from serigraph import Series
    from serigraph.publishing.persistence import assumption_of
    from serigraph.reporting import report_series
    from serigraph.reporting.page import holds as promise_holds

    made = report_series(series, out, progress=progress)
    assumption = assumption_of(Series.open(series).releases())
    return {
        "verdict": f"Report and certificate are made. {assumption.promise()}",
        "holds": promise_holds(assumption),
        "sections": [],
        "notes": list(made.notes),
        "files": [str(made.report), str(made.certificate)],
    }


def audit(progress: Progress, *, series: str, raw: Sequence[str] = ()) -> dict[str, Any]:
    """Every probability of a series, recomputed; with its tables also the holders in crowds."""
    from serigraph import Series
    from serigraph.auditing import audit_series
    from serigraph.publishing.persistence import assumption_of
    from serigraph.web.result_pages import audited

    found = audit_series(series, raw=raw, progress=progress).audit
    assumption = assumption_of(Series.open(series).releases())
    return audited(found, f"Audit of {Path(series).name}", assumption)


def audit_foreign(
    progress: Progress,
    *,
    releases: Sequence[Any],
    policy: str,
    raw: Sequence[Any] = (),
    registry: Any = None,
    tolerate: Sequence[Any] = (),
) -> dict[str, Any]:
    """The same for releases that any tool made."""
    from serigraph.auditing import audit_releases
    from serigraph.policy import read_policy
    from serigraph.publishing.persistence import assumed_of_others
    from serigraph.tables.cells import counted
    from serigraph.web.dialects import translated
    from serigraph.web.result_pages import audited

    progress("reading")
    found = audit_releases(
        translated(releases, policy),
        policy,
        raw=translated(raw, policy),
        registry=translated([registry], policy)[0],
        tolerate=tolerate,
        progress=progress,
    ).audit
    title = f"Audit of {counted(len(releases), 'release')}"
    return audited(found, title, *assumed_of_others(read_policy(policy)))


def attack(
    progress: Progress,
    *,
    series: str | None = None,
    releases: Sequence[Any] = (),
    policy: str | None = None,
    raw: Sequence[Any] = (),
    registry: Any = None,
) -> dict[str, Any]:
    """How far attacks come, on a series or on releases of any tool."""
    from serigraph import attack as attacked
    from serigraph.web.dialects import translated
    from serigraph.web.result_pages import attack_result

    if policy is not None:
        progress("reading")
        releases, raw, (registry,) = (
            translated(each, policy) for each in (releases, raw, [registry])
        )
    found = attacked(
        series, releases=releases, policy=policy, raw=raw, registry=registry, progress=progress
    )
    return attack_result(found)


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


def taxonomy(
    progress: Progress, *, table: str, series: str, column: str, by: str, parts: Sequence[str]
) -> dict[str, Any]:
    """A taxonomy for a column of a table, built or as it is, and the values that it is for."""
    from serigraph.web.inspecting import taxonomy_of

    progress("reading")
    return taxonomy_of(table, series, column, by, parts)


def plan(  # a field of the form each
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


def draft(
    progress: Progress,
    *,
    table: str,
    series: str,
    key: str = "",
    passphrase: str = "",
    **options: Any,
) -> dict[str, Any]:
    """A release formed, verified and attacked, but not committed; signed if there is a key."""
    from serigraph import draft as drafted
    from serigraph.signing import SigningKey

    sign = SigningKey.from_pem(key.encode(), "the key", passphrase.encode()) if key else None
    made = drafted(table, series, sign=sign, progress=progress, **options)
    return {"name": made.name, "label": made.label}


def publish_draft(progress: Progress, *, series: str, name: str) -> dict[str, Any]:
    """A draft made final."""
    from serigraph import publish_draft as published

    release = published(series, name, progress=progress)
    record = release.record
    return {"number": record.number, "label": record.label, "notes": list(release.notes)}


def reproduce(
    progress: Progress, *, people: int, rounds: int, queries: int, seed: int, out: str
) -> dict[str, Any]:
    """The paper's study on generated people: a page, and a file for each figure."""
    from serigraph.experiments import Extent, built_in_source
    from serigraph.experiments import reproduce as reproduced

    progress("making people")
    source = built_in_source(people, seed)

    def advance(done: int, total: int, _name: str) -> None:
        progress("publishing series", done, total)

    extent = Extent(rounds=rounds, queries=queries)
    study = reproduced(source, Path(out), seed=seed, extent=extent, advance=advance)
    claims = (*study.claims, *study.claims_of_time)
    confirmed = sum(each.is_seen for each in claims)
    return {
        "verdict": f"{confirmed} of {len(claims)} statements of the paper were confirmed.",
        "holds": None,
        "sections": [],
        "notes": [f"{study.source}, {study.people:,} people, {rounds} releases, seed {seed}"],
        "report": (Path(out) / "study.html").read_text(encoding="utf-8"),
        "files": sorted(str(each) for each in Path(out).iterdir()),
    }


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
        reproduce,
        inspect,
        values,
        taxonomy,
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
        case "reproduce":
            return "making people", "publishing series"
        case "inspect":
            return "reading", "looking at columns", "proposing"
        case _:
            return ("reading",)
