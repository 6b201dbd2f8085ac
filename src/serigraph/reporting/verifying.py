"""Checking a certificate: digests of the files, the ledger's record of them, and the guarantee."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

from serigraph.arguments import several
from serigraph.auditing.agreement import compare_files
from serigraph.auditing.cohort_agreement import compare_cohorts
from serigraph.auditing.cohorts import alike_after_releases
from serigraph.auditing.evidence import as_promised
from serigraph.auditing.figures import localised, survey
from serigraph.auditing.from_ledger import evidence_of
from serigraph.auditing.persisting import with_classes
from serigraph.errors import GuaranteeExceeded, InputRefused, LedgerDamaged, SeriesNotFound
from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.storage import digest_of
from serigraph.publishing.persistence import assumption_of
from serigraph.records import WorstPair
from serigraph.reporting.certificate import NAME, Certificate, ClosestPair, read_certificate
from serigraph.reporting.page import knowing_members
from serigraph.reporting.series_report import certificate_of_series
from serigraph.reporting.signatures import check_signatures
from serigraph.short_repr import ShortRepr
from serigraph.signing import PublicKey

_CLOSE = 1e-9  # both sides are exact for the pair that floats found largest; ties may differ


@dataclass(frozen=True, repr=False)
class Verified(ShortRepr):
    """What was checked, in words, and the recomputed guarantee.

    ``largest`` is None if only the files were checked. That does not show who wrote them: files and
    certificate may have been changed together.
    """

    certificate: Certificate
    checks: tuple[str, ...]
    largest: Fraction | None
    worst: WorstPair | None = None  # over the series up to the release; None: nobody is exposed
    signed_by: str = ""  # the fingerprint of the key that signed, if it was given
    rests_on: str = ""  # what has to be true for the promise to hold
    approved_by: tuple[str, ...] = ()  # fingerprints of the given keys that approved of the release
    caveat: str = ""  # what nobody has stated of this, or has overridden
    unchecked: tuple[str, ...] = ()  # fields that may say anything, because nothing depends on them

    @property
    def conclusion(self) -> str:
        """What the checks show, and what they do not."""
        if self.largest is None and (self.signed_by or self.approved_by):
            done = "signed with this key" if self.signed_by else "approved with these keys"
            return (
                f"The files agree with this certificate, which was {done}. Whether the guarantee "
                "holds was not checked: that needs the series."
            )
        if self.largest is None:
            return (
                "The files agree with this certificate. Whether it is the publisher's, and "
                "whether the guarantee holds, was not checked: that needs the series."
            )
        worst = f"worst probability {self.worst}" if self.worst else "nobody is exposed"
        known = knowing_members(self.certificate.known_members)
        to = f", for {known}" if known else ""
        unchecked = (
            f" (not checked: {' and '.join(self.unchecked)}; ask for a signature, and give the key "
            "with --key)"
            if self.unchecked
            else ""
        )
        only = "only if" if self.caveat else "if"
        parts = [
            f"The certificate is true{unchecked}.",
            self.caveat,
            f"Over the whole series{to}, {only} {self.rests_on}: {worst}",
        ]
        return " ".join(filter(None, parts))

    def _facts(self) -> dict[str, object]:
        return {
            "certificate": f"{self.certificate.kind} {self.certificate.label}",
            **{f"check {number}": check for number, check in enumerate(self.checks, 1)},
            "conclusion": self.conclusion,
        }


def verify_certificate(
    path: str | os.PathLike[str],
    *,
    series: str | os.PathLike[str] | None = None,
    files_only: bool = False,
    key: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
) -> Verified:
    """Check that a certificate is true and, given a public ``key`` or several, that with each of
    them it was signed, or the release approved of.

    The files of a release are those beside its certificate; the files of a series are in the
    series. ``series`` defaults to the one that contains the certificate. With ``files_only``, only
    the digests of the files are checked.
    Raises ``LedgerDamaged`` if anything differs, ``GuaranteeExceeded`` if the promise does not
    hold, ``InputRefused`` if it is not a certificate, and ``SeriesNotFound``.
    """
    given = Path(path).absolute()
    certificate = read_certificate(given)
    checks: list[str] = []
    signed = check_signatures(given, certificate, [PublicKey.read(each) for each in several(key)])
    checks += signed.checks
    opened = None if files_only else _series(given, certificate, series)
    if certificate.kind == "release":
        check_files_of(given.parent, certificate)
    elif opened is not None:
        check_files_of(opened.path / "releases", certificate)
    else:
        raise InputRefused(
            "the certificate of a series cannot be checked without the series",
            where=str(given),
            remedy="omit --files-only, or give the certificate of a release",
        )
    checks.append(f"{len(certificate.files):,} files have the digests of this certificate")
    if opened is None:
        return Verified(
            certificate,
            tuple(checks),
            None,
            signed_by=signed.signed_by,
            approved_by=signed.approved_by,
        )
    releases = opened.releases()
    record = _record(releases, certificate)
    _check_unchanged(given, certificate, opened, record)
    checks.append(f"the ledger has this as release {record.number}, {record.label}")
    concerned = [record] if certificate.kind == "release" else releases[: record.number]
    disagreeing = compare_cohorts(opened, releases[: record.number])
    for each in concerned:
        more = disagreeing.get(each.number, ())
        agreement = compare_files(opened, each).with_differences(more)
        if not agreement.agrees:
            raise LedgerDamaged(
                "the published files and the ledger disagree: " + "; ".join(agreement.differences),
                where=f"releases/{each.label}",
                remedy="restore the series from a backup",
            )
    checks.append("the published groups are those of the ledger")
    largest, worst = check_guarantee(opened, releases[: record.number], certificate)
    checks.append("the guarantee was recomputed from the ledger, and holds")
    assumption = assumption_of(releases[: record.number])
    return Verified(
        certificate,
        tuple(checks),
        largest,
        worst,
        signed.signed_by,
        assumption.rests_on(),
        signed.approved_by,
        assumption.caveat(),
        ("publisher", "made_by") if certificate.kind == "series" and not signed.signed_by else (),
    )


def _series(given: Path, certificate: Certificate, named: str | os.PathLike[str] | None) -> Series:
    if named is not None:
        return Series.open(Path(named))
    above = given.parent.parent
    nearby = above.parent if certificate.kind == "release" else above
    try:
        return Series.open(nearby)
    except SeriesNotFound:
        raise SeriesNotFound(
            "the certificate is not in a series, and checking the guarantee needs the ledger",
            where=str(given),
            remedy="give the series with --series, or check only the files with --files-only",
        ) from None


def check_files_of(folder: Path, certificate: Certificate) -> None:
    """Compare the files in a folder with the digests that a certificate gives."""
    for name, expected in certificate.files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputRefused(
                "the certificate names a file outside the release",
                where=str(folder),
                remedy="give the certificate as it was published",
            )
        if not path.is_file():
            raise LedgerDamaged(
                "a file of the release is missing",
                where=str(path),
                remedy="get the release again from its publisher",
            )
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                raise LedgerDamaged(
                    "a file of the release was changed",
                    where=str(path),
                    remedy="get the release again from its publisher",
                )
    _check_folders(folder, certificate)


def _check_folders(folder: Path, certificate: Certificate) -> None:
    """Refuse a file in a table's folder that the certificate does not name: readers would take it
    for part of the table."""
    named = {PurePosixPath(name) for name in certificate.files}
    inside = 1 if certificate.kind == "release" else 2  # a series has a folder for each release
    for table in {name.parent for name in named if len(name.parts) > inside}:
        for path in sorted((folder / table).iterdir()):
            if table / path.name not in named:
                raise LedgerDamaged(
                    "a table's folder contains a file that the certificate does not name",
                    where=str(path),
                    remedy="move it away, or get the release again from its publisher",
                )


def _record(releases: tuple[ReleaseRecord, ...], certificate: Certificate) -> ReleaseRecord:
    number = certificate.release
    record = releases[number - 1] if number <= len(releases) else None
    if record is None or record.label != certificate.label:
        raise LedgerDamaged(
            "the ledger has no such release",
            where=f"release {number}, {certificate.label}",
            remedy="give the series that the certificate belongs to",
        )
    if certificate.kind == "series":
        chain = record.chain
    else:
        chain = releases[number - 2].chain if number > 1 else ""
    check_said(certificate, record, chain)
    return record


def check_said(certificate: Certificate, record: ReleaseRecord, chain: str) -> None:
    """Compare what the certificate says of the release with what the ledger does."""
    said = {
        "follows": (certificate.follows, chain),
        "published_at": (certificate.published_at, record.published_at),
        "threshold": (Fraction(certificate.threshold), Fraction(record.threshold)),
        "adversary": (certificate.adversary, record.adversary),
        "known_members": (certificate.known_members, record.known_members),
        "strategy": (certificate.strategy, record.strategy),
        "policy": (certificate.policy, record.policy),
    }
    differing = [name for name, (claimed, known) in said.items() if claimed != known]
    if differing:
        raise LedgerDamaged(
            f"the certificate and the ledger disagree on {', '.join(differing)}",
            where=f"release {certificate.release}, {certificate.label}",
            remedy="give the series that the certificate belongs to, or restore the certificate",
        )


def _check_unchanged(
    given: Path, certificate: Certificate, series: Series, record: ReleaseRecord
) -> None:
    """Compare the certificate byte by byte with the published one, or with the series' copy."""
    content = given.read_bytes()
    if certificate.kind == "series":
        is_unchanged = series.has_issued(content)
    else:
        published = [file.sha256 for file in record.files if file.name == NAME]
        is_unchanged = digest_of(content) in published
    if not is_unchanged:
        raise LedgerDamaged(
            "the certificate was changed, or does not come from this series",
            where=str(given),
            remedy="restore it, or get it again from the publisher; 'serigraph report' makes a new "
            "certificate of a series",
        )


def check_guarantee(
    series: Series, releases: tuple[ReleaseRecord, ...], certificate: Certificate
) -> tuple[Fraction, WorstPair | None]:
    """Recompute the probabilities up to this release: the largest of the pairs that the certificate
    covers, and the pair of the series closest to its threshold."""
    evidence = evidence_of(series, releases).of_transient()
    promised = as_promised(evidence)
    alike = alike_after_releases(series, releases)
    whole = with_classes(survey(evidence, promised), alike)
    over_all, cohorts = whole.after[-1], [each.figures for each in alike[-1:]]
    if not over_all.is_within:
        raise GuaranteeExceeded(
            f"{over_all.pairs_above:,} pairs are above their threshold",
            where=str(series.path),
            remedy="run 'serigraph audit' to see since which release",
        )
    touched = None
    if certificate.kind == "series":
        pairs, largest = over_all.pairs, over_all.largest
        _check_rest(certificate, certificate_of_series(releases, over_all, cohorts, None))
    else:
        pairs = localised(evidence, promised, len(releases) - 1).pairs
        pairs += sum(each.pairs for each in alike[-1:])
        largest, touched = whole.touched[-1], whole.touched_worst[-1]
    claimed = certificate.guarantee
    _check_worst("this release", claimed.worst_in_release, touched, certificate)
    _check_worst("the series", claimed.worst_in_series, over_all.worst, certificate)
    gap = abs(float(Fraction(claimed.largest_probability) - largest))
    if claimed.pairs != pairs or gap > _CLOSE:
        raise LedgerDamaged(
            f"the certificate claims a largest probability of {claimed.largest_probability} over "
            f"{claimed.pairs:,} pairs; the ledger gives {largest} over {pairs:,}",
            where=f"release {certificate.release}, {certificate.label}",
            remedy="restore the certificate, or the series",
        )
    return largest, over_all.worst


def _check_rest(claimed: Certificate, found: Certificate) -> None:
    """Compare everything else that the certificate of a series says with what it should say, except
    what only the publisher knows. One of format 1 may say less."""
    is_old = claimed.format == 1
    differing = [
        name for name in ("attacks", "files") if getattr(claimed, name) != getattr(found, name)
    ]
    said, meant = claimed.guarantee.rests_on, found.guarantee.rests_on
    if said != meant and not (is_old and not said):
        differing.append("guarantee.rests_on")
    for name in sorted(claimed.figures.keys() | found.figures.keys()):
        figures = [each.figures.get(name) for each in (claimed, found)]
        if not (_are_alike(*figures) or (is_old and name not in claimed.figures)):
            differing.append(f"figures.{name}")
    if differing:
        raise LedgerDamaged(
            f"the certificate and the ledger disagree on {', '.join(differing)}",
            where=f"release {claimed.release}, {claimed.label}",
            remedy="restore the certificate, or the series; 'serigraph report' makes a new one",
        )


def _are_alike(one: Any, other: Any) -> bool:
    """Whether two figures are the same; means may differ in their last digits."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= _CLOSE
    return type(one) is type(other) and bool(one == other)


def _check_worst(
    of: str, claimed: ClosestPair | None, found: WorstPair | None, certificate: Certificate
) -> None:
    """Compare worst pairs by share: several values may be equally close to their thresholds."""
    if claimed is None and (found is None or certificate.format == 1):  # which has no worst pairs
        return
    if claimed is not None and found is not None:
        said = WorstPair.from_json(claimed.model_dump())
        if abs(float(said.share - found.share)) <= _CLOSE:
            return
    raise LedgerDamaged(
        f"the certificate and the ledger disagree on the pair of {of} that is closest to its "
        "threshold",
        where=f"release {certificate.release}, {certificate.label}",
        remedy="restore the certificate, or the series",
    )
