"""The report and the certificate of a release, written before it is committed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from serigraph._version import __version__
from serigraph.attacking.draft import refuse_leaks
from serigraph.ledger import storage_errors
from serigraph.ledger.storage import digest_tree, write_durably
from serigraph.privacy.thresholds import threshold_text
from serigraph.publishing import Published, Unpublished, publish
from serigraph.reporting.certificate import NAME, Certificate, Guaranteed
from serigraph.reporting.page import render
from serigraph.reporting.release_page import release_page
from serigraph.reporting.risk import attacked, measure_risk, risk_of
from serigraph.signing import SIGNATURE

REPORT = "report.html"

Options = ParamSpec("Options")


def write_documents(release: Unpublished) -> None:
    """Write ``report.html`` and ``certificate.json`` beside the tables of a release, and the
    certificate's signature if there is a signer. Refuses a release that attacks have got too far
    with; nothing that they found is in a document."""
    refuse_leaks(attacked(release), release.policy.attacks.highest_lift, release.label)
    with storage_errors(release.folder):
        files = digests_of(release.folder)
        report = render(release_page(release, risk_of(release), files)).encode()
        write_durably(release.folder / REPORT, report)
        files[REPORT] = hashlib.sha256(report).hexdigest()
        certificate = certificate_of(release, files).to_text().encode()
        write_durably(release.folder / NAME, certificate)
        if release.signer is not None:
            write_durably(release.folder / SIGNATURE, release.signer.sign(certificate))


def _with_documents(function: Callable[Options, Published]) -> Callable[Options, Published]:
    @wraps(function)
    def with_documents(*args: Options.args, **options: Options.kwargs) -> Published:
        options.setdefault("documents", write_documents)
        options.setdefault("measure", measure_risk)
        return function(*args, **options)

    return with_documents


# The public entry point: publishes with both documents unless the caller passes others.
publish_with_report = _with_documents(publish)


def certificate_of(release: Unpublished, files: Mapping[str, str]) -> Certificate:
    """The certificate of a release with these files."""
    policy = release.policy
    figures: dict[str, Any] = dict(release.summary)
    return Certificate(
        kind="release",
        made_by=f"serigraph {__version__}",
        release=release.number,
        label=release.label,
        published_at=release.published_at.astimezone(UTC).isoformat(timespec="seconds"),
        follows=release.earlier[-1].chain if release.earlier else "",
        threshold=threshold_text(policy.threshold),
        adversary=policy.guarantee.adversary,
        known_members=policy.guarantee.known_members,
        approvals=policy.signing.approvals,
        strategy=release.strategy.to_text(),
        policy=dict(policy.frozen()),
        publisher=policy.publisher,
        guarantee=Guaranteed(
            largest_probability=str(figures["largest_probability"]),
            pairs=figures["pairs_checked"],
            rests_on=release.assumption.rests_on(),
            worst_in_release=figures["worst_in_release"],
            worst_in_series=figures["worst_in_series"],
        ),
        figures=figures,
        files=dict(files),
    )


def digests_of(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file below a folder."""
    return {file.name: file.sha256 for file in digest_tree(folder)}
