"""The report and the certificate of a whole series, from a fresh audit.

Like that of a release, the report is ordered by the four clauses of ISO/IEC 27559.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from serigraph._version import __version__
from serigraph.arguments import several
from serigraph.auditing import SERIES_STAGES, Audit, audit_series
from serigraph.auditing.cohorts import CohortsAfter
from serigraph.auditing.figures import Figures
from serigraph.charts import Line, line_chart
from serigraph.errors import GuaranteeExceeded, LedgerDamaged
from serigraph.ledger import ReleaseRecord, Series, storage_errors
from serigraph.ledger.storage import ensure_folder, write_durably
from serigraph.policy import read_policy
from serigraph.policy.sections import Publisher
from serigraph.publishing.persistence import OVERRIDDEN, assumption_of
from serigraph.publishing.published import SingledOut
from serigraph.reporting.certificate import NAME, Certificate, ClosestPair, Guaranteed
from serigraph.reporting.crowds import crowds_section
from serigraph.reporting.documents import REPORT
from serigraph.reporting.page import (
    ALIKE,
    UNPROTECTED_VALUES,
    Page,
    Section,
    Table,
    closest,
    column_facts,
    context_section,
    exact,
    files_table,
    governance_facts,
    holds,
    lowered,
    percent,
    persistence_notes,
    render,
    singled_out_notes,
    verdict,
    width_chart,
    width_fact,
)
from serigraph.risk_charts import closeness_chart, distribution_chart
from serigraph.runtime.stages import shows_progress
from serigraph.short_repr import ShortRepr
from serigraph.signing import SIGNATURE, SigningKey

FOLDER = "report"


@dataclass(frozen=True, repr=False)
class SeriesReport(ShortRepr):
    """Where the documents are, and the audit that they were made from."""

    report: Path
    certificate: Path
    audit: Audit
    rests_on: str  # what has to be true for the promise to hold
    caveat: str  # what nobody has stated of this, or has overridden
    notes: tuple[str, ...]  # what the publisher should attend to

    def _facts(self) -> dict[str, object]:
        return {
            "report": self.report,
            "certificate": self.certificate,
            "worst probability": self.audit.over_all.worst,
        }


@shows_progress(SERIES_STAGES)
def report_series(
    series: str | os.PathLike[str] | Series,
    out: str | os.PathLike[str] | None = None,
    *,
    raw: Any = (),
    sign: str | os.PathLike[str] | SigningKey | None = None,
    progress: Callable[[str], None] = lambda _stage: None,
) -> SeriesReport:
    """Audit a series and write ``report.html`` and ``certificate.json`` about all of it.

    They go into ``out``, by default the folder ``report`` of the series, readable by their owner
    only; the series keeps a copy of the certificate. With ``raw``, the original tables of the
    releases, one or several, the report also says how many holders are identified if values
    persist. ``sign`` is the private key to sign the certificate with, or the path of one.
    Nothing is written if the files and the ledger disagree (``LedgerDamaged``) or the promise is
    broken (``GuaranteeExceeded``).
    """
    signer = None if sign is None else SigningKey.read(sign)
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    releases = opened.releases()
    one_more = releases[-1].known_members + 1 if releases else 1
    audit = audit_series(opened, raw=several(raw), known_members=one_more, progress=progress).audit
    _refuse_to_certify(audit, opened)
    folder = Path(out) if out is not None else opened.path / FOLDER
    with storage_errors(folder):
        ensure_folder(folder)
        publisher = read_policy(opened.path / "policy.toml").publisher
        made = certificate_of_series(releases, audit.over_all, audit.cohorts[-1:], publisher)
        page = render(_page(opened, releases, audit, made.files, publisher)).encode()
        certificate = made.to_text().encode()
        opened.issue(certificate)
        for name in (SIGNATURE, NAME, REPORT):
            (folder / name).unlink(missing_ok=True)
        write_durably(folder / REPORT, page)
        write_durably(folder / NAME, certificate)
        if signer is not None:
            write_durably(folder / SIGNATURE, signer.sign(certificate))
    assumption = assumption_of(releases)
    return SeriesReport(
        report=folder / REPORT,
        certificate=folder / NAME,
        audit=audit,
        rests_on=assumption.rests_on(),
        caveat=assumption.caveat(),
        notes=assumption.notes(),
    )


def _refuse_to_certify(audit: Audit, series: Series) -> None:
    differing = [each for each in audit.agreement if not each.agrees]
    if differing:
        raise LedgerDamaged(
            "the published files and the ledger disagree: " + "; ".join(differing[0].differences),
            where=f"releases/{differing[0].label}",
            remedy="run 'serigraph audit' to see all differences, then restore the series from a "
            "backup",
        )
    if not audit.is_within:
        raise GuaranteeExceeded(
            f"{audit.over_all.pairs_above:,} pairs are above their threshold",
            where=str(series.path),
            remedy="run 'serigraph audit' to see since which release; nothing was certified",
        )


def certificate_of_series(
    releases: Sequence[ReleaseRecord],
    over_all: Figures,
    cohorts: Sequence[CohortsAfter],
    publisher: Publisher | None,
    *,
    made_by: str = f"serigraph {__version__}",
) -> Certificate:
    """The certificate of a series up to the last of these releases; ``over_all`` and ``cohorts``,
    if values persist, are what an audit finds after it."""
    latest = releases[-1]
    worst = over_all.worst
    singled = SingledOut.over([each.summary for each in releases])
    assumption = assumption_of(releases)
    return Certificate(
        kind="series",
        made_by=made_by,
        release=latest.number,
        label=latest.label,
        published_at=latest.published_at,
        follows=latest.chain,
        threshold=latest.threshold,
        adversary="presence known" if latest.is_presence_known else "presence unknown",
        known_members=latest.known_members,
        strategy=latest.strategy,
        policy=latest.policy,
        publisher=publisher,
        guarantee=Guaranteed(
            largest_probability=str(over_all.largest),
            pairs=over_all.pairs,
            rests_on=assumption.rests_on(),
            worst_in_series=ClosestPair(**worst.to_json()) if worst else None,
        ),
        figures={
            "people": sum(release.newcomers for release in releases),
            "releases": latest.number,
            "mean_probability": over_all.mean,
            **(asdict(singled) if singled is not None else {}),
            **({OVERRIDDEN: list(assumption.overridden)} if assumption.overridden else {}),
            **_cohort_figures(cohorts),
        },
        files={
            f"{release.label}/{file.name}": file.sha256
            for release in releases
            for file in release.files
        },
    )


def _cohort_figures(cohorts: Sequence[CohortsAfter]) -> dict[str, Any]:
    """As in the figures of a release, if values persist."""
    return {
        key: figure
        for each in cohorts
        for key, figure in (
            ("cohorts", each.cohorts),
            ("mean_cohort_size", each.mean_size),
            ("people_retired", each.retired),
        )
    }


def _page(
    series: Series,
    releases: Sequence[ReleaseRecord],
    audit: Audit,
    files: dict[str, str],
    publisher: Publisher,
) -> Page:
    latest, assumption = releases[-1], assumption_of(releases)
    return Page(
        title=f"Series {series.path.name}",
        subtitle=f"{len(releases)} releases, {releases[0].published_at[:10]} to "
        f"{latest.published_at[:10]}",
        verdict=verdict(len(releases), audit.over_all.worst, assumption, latest.known_members),
        holds=holds(assumption),
        sections=[
            context_section(publisher, latest.adversary, assumption, latest.known_members),
            _data(releases, audit),
            Section(
                "Identifiability assessment and mitigation",
                parts=[
                    _measured(releases, audit),
                    _mitigated(releases, audit),
                    _residual(releases, audit),
                    crowds_section(audit.crowds),
                ],
            ),
            Section(
                "Governance",
                lead="Who answers for the series. When this report was made, every probability "
                "above was recomputed from the ledger, and the ledger was compared with the "
                "published files. To repeat this, run serigraph audit.",
                facts=governance_facts(publisher),
                tables=[files_table(files)],
            ),
        ],
    )


def _data(releases: Sequence[ReleaseRecord], audit: Audit) -> Section:
    policy = releases[-1].policy
    return Section(
        "Data assessment",
        lead="The releases, and the people in them.",
        facts=[
            ("People ever in a release", f"{audit.people:,}"),
            ("Ever exposed to a protected value", f"{audit.over_all.people:,}"),
            ("Quasi-identifiers", ", ".join(policy["quasi_identifiers"])),
            *column_facts(list(releases[-1].sensitive_columns), list(policy.get("plain", ()))),
        ],
        tables=[
            Table(
                [
                    "Release",
                    "Published",
                    "Records",
                    "Without a record",
                    "Groups",
                    "People alone",
                    "Unique rows",
                    "Suppressed",
                ],
                [
                    [
                        each.label,
                        each.published_at[:10],
                        f"{each.summary['present']:,}",
                        f"{each.summary['people'] - each.summary['present']:,}",
                        f"{each.summary['groups']:,}",
                        *_singled_out(each),
                        f"{each.summary['suppressed_values']:,}",
                    ]
                    for each in releases
                ],
            )
        ],
    )


def _singled_out(release: ReleaseRecord) -> tuple[str, str]:
    singled = SingledOut.of(release.summary)
    if singled is None:
        return "not counted", "not counted"
    return f"{singled.people_alone:,}", percent(float(singled.share))


def _measured(releases: Sequence[ReleaseRecord], audit: Audit) -> Section:
    labels = [each.label for each in releases]
    means = [(float(n), each.so_far.mean) for n, each in enumerate(audit.releases, 1)]
    alone = [(float(n), each.localised.mean) for n, each in enumerate(audit.releases, 1)]
    return Section(
        "Measured",
        lead="The probability that an adversary who has all releases links a person to a protected "
        "value in any of them, recomputed from the ledger.",
        facts=[
            ("Worst over all releases", closest(audit.over_all.worst)),
            ("Mean over all releases", f"{audit.over_all.mean:.4f}"),
            (
                "Largest in one release alone",
                exact(max(each.localised.largest for each in audit.releases)),
            ),
            ("Pairs of a person and a value", f"{audit.over_all.pairs:,}"),
            ("Pairs above their threshold", f"{audit.over_all.pairs_above:,}"),
        ],
        charts=[
            closeness_chart(labels, [each.so_far.worst for each in audit.releases]),
            line_chart(
                "Mean probability of a link",
                [
                    Line("over all releases so far, of all pairs so far", means),
                    Line("in each release alone, of its pairs", alone),
                ],
                x="release",
                y="mean probability",
            ),
            distribution_chart(audit.over_all.by_share_of_threshold, is_sample=False),
        ],
        tables=[_classes(each) for each in audit.cohorts[-1:]],
        notes=[
            *([ALIKE] if audit.cohorts else []),
            "The mean may fall, because new pairs start with small probabilities; that of a pair "
            "never does.",
            *lowered([audit.over_all.worst], releases[-1].policy),
        ],
    )


def _classes(after: CohortsAfter) -> Table:
    """The classes of each value that persists, after the latest release."""
    return Table(
        [
            "Value that persists",
            "Over time",
            "Threshold",
            "Holders ever published",
            "Classes with a holder",
            "Largest share",
        ],
        [
            [
                each.value,
                each.persistence,
                str(each.threshold),
                f"{each.holders:,}",
                f"{each.classes:,}",
                exact(each.largest),
            ]
            for each in after.values
        ],
    )


def _mitigated(releases: Sequence[ReleaseRecord], audit: Audit) -> Section:
    summaries = [each.summary for each in releases]
    forms = {each["form"] for each in summaries}
    generalised = [each for each in summaries if each["form"] == "generalised"]
    shown, form = (generalised, "generalised") if generalised else (summaries, "bucketised")
    widths = {
        name: sum(each["normalised_widths"][name] for each in shown) / len(shown)
        for name in shown[-1]["normalised_widths"]
        if all(name in each["normalised_widths"] for each in shown)
    }
    mean_width = sum(each["mean_normalised_width"] for each in shown) / len(shown)
    has_transient = assumption_of(releases).has_transient
    what = "Holders of transient values left out" if audit.cohorts else "Holders left out"
    left_out = sum(each["suppressed_values"] for each in summaries)
    sizes = [
        (float(n), each["mean_size_with_protected_value"]) for n, each in enumerate(summaries, 1)
    ]
    return Section(
        "Mitigated",
        lead="How large groups were, and how much precision was lost.",
        facts=[
            *([("Strategy", str(summaries[-1]["strategy"]))] if has_transient else []),
            *_cohort_facts(audit),
            *([(what, f"{left_out:,}")] if has_transient else []),
            width_fact(mean_width, form),
        ],
        charts=[
            line_chart(
                "Mean size of the groups with a protected value",
                [Line("people", sizes)],
                x="release",
                y="people",
            ),
            width_chart(widths, form),
        ],
        notes=["Widths and precision are means of the generalised releases."]
        if len(forms) > 1
        else ["Widths and precision are means of the releases."],
    )


def _cohort_facts(audit: Audit) -> list[tuple[str, str]]:
    return [
        fact
        for each in audit.cohorts[-1:]
        for fact in (
            ("Cohorts", f"{each.cohorts:,}"),
            ("Mean size of a cohort", f"{each.mean_size:.1f} people"),
            ("People ever in a cohort", f"{each.people:,}"),
            ("People retired from cohorts", f"{each.retired:,}"),
        )
    ]


def _residual(releases: Sequence[ReleaseRecord], audit: Audit) -> Section:
    singled = SingledOut.over([each.summary for each in releases])
    notes = [f"Summed over the releases: {words}" for words in singled_out_notes(singled)]
    notes += [*persistence_notes(assumption_of(releases)), UNPROTECTED_VALUES]
    if audit.cohorts and not any(each.figures.pairs for each in audit.assumptions):
        return Section("Residual risk", lead="What the promise does not cover.", notes=notes)
    return Section(
        "Residual risk",
        lead="Figures over all releases, under assumptions that the promise does not make."
        + (" They are about transient values." if audit.cohorts else ""),
        tables=[
            Table(
                ["Assumption", "Largest", "Mean", "Pairs above", "People above"],
                [
                    [
                        each.name,
                        exact(each.figures.largest),
                        f"{each.figures.mean:.4f}",
                        f"{each.figures.pairs_above:,}",
                        f"{each.figures.people_above:,}",
                    ]
                    for each in audit.assumptions
                ],
            )
        ],
        notes=notes,
    )
