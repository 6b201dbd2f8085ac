"""The report and the certificate of a whole series, from a fresh audit of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from serigraph._version import __version__
from serigraph.auditing import Audit, audit_series
from serigraph.charts import Line, line_chart
from serigraph.errors import GuaranteeExceeded, LedgerDamaged
from serigraph.ledger import ReleaseRecord, Series, storage_errors
from serigraph.reporting.certificate import NAME, Certificate, Guaranteed
from serigraph.reporting.documents import REPORT
from serigraph.reporting.page import Page, Section, Table, render
from serigraph.reporting.wording import (
    distribution_chart,
    exact,
    files_table,
    loss_chart,
    percent,
    probability_chart,
    threat_section,
    verdict,
)
from serigraph.short_repr import ShortRepr, at_most

FOLDER = "report"


@dataclass(frozen=True, repr=False)
class SeriesReport(ShortRepr):
    """Where the documents are, and the audit that they were made from."""

    report: Path
    certificate: Path
    audit: Audit

    def _facts(self) -> dict[str, object]:
        return {
            "report": self.report,
            "certificate": self.certificate,
            "largest probability": at_most(self.audit.over_all.largest, self.audit.threshold),
        }


def report_series(
    series: str | os.PathLike[str] | Series,
    out: str | os.PathLike[str] | None = None,
    *,
    progress: Callable[[str], None] = lambda _stage: None,
) -> SeriesReport:
    """Audit a series and write ``report.html`` and ``certificate.json`` about all of it.

    They go into ``out``, or into the folder ``report`` of the series. Nothing is written if the
    files and the ledger disagree (``LedgerDamaged``) or the promise is broken
    (``GuaranteeExceeded``): then there is nothing to certify.
    """
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    audit = audit_series(opened, progress=progress).audit
    releases = opened.releases()
    _refuse_to_certify(audit, opened)
    folder = Path(out) if out is not None else opened.path / FOLDER
    files = {
        f"{release.label}/{file.name}": file.sha256
        for release in releases
        for file in release.files
    }
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        page = _page(opened, releases, audit, files)
        (folder / REPORT).write_text(render(page), encoding="utf-8")
        certificate = _certificate(releases, audit, files)
        (folder / NAME).write_text(certificate.to_text(), encoding="utf-8")
    return SeriesReport(folder / REPORT, folder / NAME, audit)


def _refuse_to_certify(audit: Audit, series: Series) -> None:
    differing = [each for each in audit.agreement if not each.agrees]
    if differing:
        raise LedgerDamaged(
            "the published files and the ledger disagree: " + "; ".join(differing[0].differences),
            where=f"releases/{differing[0].label}",
            remedy="run 'serigraph audit' to see all differences, and restore the series",
        )
    if not audit.is_within:
        raise GuaranteeExceeded(
            f"{audit.over_all.pairs_above:,} pairs are above their threshold",
            where=str(series.path),
            remedy="run 'serigraph audit' to see since when; nothing can be certified",
        )


def _certificate(
    releases: Sequence[ReleaseRecord], audit: Audit, files: dict[str, str]
) -> Certificate:
    latest = releases[-1]
    return Certificate(
        kind="series",
        made_by=f"serigraph {__version__}",
        release=latest.number,
        label=latest.label,
        published_at=latest.published_at,
        follows=latest.chain,
        threshold=latest.threshold,
        adversary="presence known" if latest.is_presence_known else "presence unknown",
        strategy=latest.strategy,
        policy=latest.policy,
        guarantee=Guaranteed(
            largest_probability=str(audit.over_all.largest), pairs=audit.over_all.pairs
        ),
        figures={
            "people": audit.people,
            "releases": latest.number,
            "mean_probability": audit.over_all.mean,
        },
        files=files,
    )


def _page(
    series: Series, releases: Sequence[ReleaseRecord], audit: Audit, files: dict[str, str]
) -> Page:
    latest = releases[-1]
    threshold = Fraction(latest.threshold)
    return Page(
        title=f"Series {series.path.name}",
        subtitle=f"{len(releases)} releases, {releases[0].published_at[:10]} to "
        f"{latest.published_at[:10]}",
        verdict=verdict(len(releases), audit.over_all.largest, latest.policy),
        holds=True,
        sections=[
            _context(releases, audit),
            threat_section(latest.adversary, latest.policy),
            _measured(releases, audit, threshold),
            _treated(releases),
            _residual(audit),
            Section(
                "Re-evaluation",
                lead="Everything above was recomputed from the ledger and compared with the "
                "published files when this report was made. Do so again with serigraph audit.",
                tables=[files_table(files)],
            ),
        ],
    )


def _context(releases: Sequence[ReleaseRecord], audit: Audit) -> Section:
    return Section(
        "Context",
        lead="The releases, and who was ever in one.",
        facts=[
            ("People ever in a release", f"{audit.people:,}"),
            ("of these ever beside a protected value", f"{audit.over_all.people:,}"),
            ("Sensitive column", str(releases[-1].policy["sensitive"]["column"])),
        ],
        tables=[
            Table(
                ["Release", "Published", "Records", "Absent members", "Groups", "Suppressed"],
                [
                    [
                        each.label,
                        each.published_at[:10],
                        f"{each.summary['present']:,}",
                        f"{each.summary['people'] - each.summary['present']:,}",
                        f"{each.summary['groups']:,}",
                        f"{each.summary['suppressed_values']:,}",
                    ]
                    for each in releases
                ],
            )
        ],
    )


def _measured(releases: Sequence[ReleaseRecord], audit: Audit, threshold: Fraction) -> Section:
    labels = [each.label for each in releases]
    means = [(float(n), each.so_far.mean) for n, each in enumerate(audit.releases, 1)]
    alone = [(float(n), each.localised.mean) for n, each in enumerate(audit.releases, 1)]
    return Section(
        "Risk measured",
        lead="The probability that an adversary who has all releases links a person to a protected "
        "value in any of them, recomputed from the ledger.",
        facts=[
            ("Largest, over all releases", exact(audit.over_all.largest)),
            ("Mean, over all releases", f"{audit.over_all.mean:.4f}"),
            (
                "Largest in one release alone",
                exact(max(each.localised.largest for each in audit.releases)),
            ),
            ("Threshold", exact(threshold)),
            ("Pairs of a person and a value", f"{audit.over_all.pairs:,}"),
            ("Pairs above their threshold", f"{audit.over_all.pairs_above:,}"),
        ],
        charts=[
            probability_chart(labels, [each.so_far.largest for each in audit.releases], threshold),
            line_chart(
                "Mean probability of a link",
                [Line("over all releases so far", means), Line("in each release alone", alone)],
                x="release",
                y="mean probability",
            ),
            distribution_chart(audit.over_all, is_sample=False),
        ],
    )


def _treated(releases: Sequence[ReleaseRecord]) -> Section:
    summaries = [each.summary for each in releases]
    widths = {
        name: sum(each["normalised_widths"][name] for each in summaries) / len(summaries)
        for name in summaries[-1]["normalised_widths"]
        if all(name in each["normalised_widths"] for each in summaries)
    }
    sizes = [
        (float(n), each["mean_size_with_protected_value"]) for n, each in enumerate(summaries, 1)
    ]
    return Section(
        "Risk treated",
        lead="How large groups were, and what precision they cost.",
        facts=[
            ("Strategy", str(summaries[-1]["strategy"])),
            ("Values suppressed", f"{sum(each['suppressed_values'] for each in summaries):,}"),
            ("People left out", f"{sum(each['people_left_out'] for each in summaries):,}"),
            (
                "Precision lost, mean of the releases",
                percent(sum(each["mean_normalised_width"] for each in summaries) / len(summaries)),
            ),
        ],
        charts=[
            line_chart(
                "Mean size of the groups with a protected value",
                [Line("people", sizes)],
                x="release",
                y="people",
            ),
            loss_chart(widths),
        ],
    )


def _residual(audit: Audit) -> Section:
    return Section(
        "Residual risk",
        lead="The figures over all releases under assumptions that the promise does not make.",
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
        notes=["Values that are not protected can be linked to a person with certainty."],
    )
