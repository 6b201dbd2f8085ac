"""The two documents that every release gets, written before it is committed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from serigraph._version import __version__
from serigraph.ledger import storage_errors
from serigraph.privacy.thresholds import threshold_text
from serigraph.publishing import Published, Unpublished, publish
from serigraph.reporting.certificate import NAME, Certificate, Guaranteed
from serigraph.reporting.page import render
from serigraph.reporting.release_page import release_page
from serigraph.reporting.risk import risk_of

REPORT = "report.html"

Options = ParamSpec("Options")


def write_documents(release: Unpublished) -> None:
    """Write ``report.html`` and ``certificate.json`` beside the tables of a release."""
    with storage_errors(release.folder):
        files = digests_of(release.folder)
        report = render(release_page(release, risk_of(release), files)).encode()
        (release.folder / REPORT).write_bytes(report)
        files[REPORT] = hashlib.sha256(report).hexdigest()
        text = certificate_of(release, files).to_text()
        (release.folder / NAME).write_text(text, encoding="utf-8")


def _with_documents(function: Callable[Options, Published]) -> Callable[Options, Published]:
    @wraps(function)
    def with_documents(*args: Options.args, **options: Options.kwargs) -> Published:
        options.setdefault("documents", write_documents)
        return function(*args, **options)

    return with_documents


# What everybody calls: publishing as such, with both documents unless the caller brings others.
publish_with_report = _with_documents(publish)


def certificate_of(release: Unpublished, files: Mapping[str, str]) -> Certificate:
    """What the release says about itself."""
    policy = release.policy
    return Certificate(
        kind="release",
        made_by=f"serigraph {__version__}",
        release=release.number,
        label=release.label,
        published_at=release.published_at.astimezone(UTC).isoformat(timespec="seconds"),
        follows=release.earlier[-1].chain if release.earlier else "",
        threshold=threshold_text(policy.threshold),
        adversary=policy.guarantee.adversary,
        strategy=release.strategy.to_text(),
        policy=policy.frozen(),
        guarantee=Guaranteed(
            largest_probability=str(release.made.proof.largest), pairs=release.made.proof.pairs
        ),
        figures=dict(release.summary),
        files=dict(files),
    )


def digests_of(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file in a folder."""
    found = {}
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
