"""Checking a certificate: digests of the files, the ledger's record of them, and the guarantee."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path, PurePosixPath

from serigraph.auditing.agreement import compare_files
from serigraph.auditing.evidence import as_promised
from serigraph.auditing.figures import localised, survey
from serigraph.auditing.from_ledger import evidence_of
from serigraph.errors import GuaranteeExceeded, InputRefused, LedgerDamaged, SeriesNotFound
from serigraph.ledger import ReleaseRecord, Series, storage_errors
from serigraph.ledger.storage import digest_of
from serigraph.records import WorstPair
from serigraph.reporting.certificate import NAME, Certificate, ClosestPair, read_certificate
from serigraph.short_repr import ShortRepr
from serigraph.signing import PublicKey

_CLOSE = 1e-9  # both sides are exact for the pair that floats found largest; ties may differ


@dataclass(frozen=True, repr=False)
class Verified(ShortRepr):
    """What was checked, in words, and what the guarantee came to when it was recomputed.

    ``largest`` is None where only the files were checked. That says nothing about who wrote them:
    files, digests and certificate may have been changed together.
    """

    certificate: Certificate
    checks: tuple[str, ...]
    largest: Fraction | None
    worst: WorstPair | None = None  # of the series up to the release, if anybody is exposed
    signed_by: str = ""  # the fingerprint of the key that has signed it, if that was asked

    @property
    def conclusion(self) -> str:
        """What follows from the checks, and what does not."""
        if self.largest is None and self.signed_by:
            return (
                "The files agree with this certificate, and it was signed with this key. Whether "
                "the guarantee holds was not checked: that needs the series."
            )
        if self.largest is None:
            return (
                "The files agree with this certificate. Whether it is the publisher's, and "
                "whether the guarantee holds, was not checked: that needs the series."
            )
        worst = f"at worst {self.worst}" if self.worst else "nobody is exposed"
        return f"The certificate is true: over the whole series {worst}"

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
    key: str | os.PathLike[str] | None = None,
) -> Verified:
    """Check that a certificate is true, and, if a public ``key`` is given, that it was signed with
    it.

    The files are looked for beside the certificate of a release, and in the series for that of a
    series. The series is the one that the certificate lies in, unless it is named; without one
    (``files_only``) the digests of the files are all that can be checked.
    Raises ``LedgerDamaged`` where something differs, ``GuaranteeExceeded`` where the promise does
    not hold, ``InputRefused`` for what is no certificate, ``SeriesNotFound``.
    """
    given = Path(path).absolute()
    certificate = read_certificate(given)
    checks: list[str] = []
    signer = None if key is None else PublicKey.read(key)
    if signer is not None:
        _check_signature(given, signer)
        checks.append(f"it was signed with the key {signer.name} (SHA-256 {signer.fingerprint})")
    signed_by = signer.fingerprint if signer else ""
    opened = None if files_only else _series(given, certificate, series)
    if certificate.kind == "release":
        _check_files(given.parent, certificate)
    elif opened is not None:
        _check_files(opened.path / "releases", certificate)
    else:
        raise InputRefused(
            "the files of a series are checked together with the series only",
            where=str(given),
            remedy="leave out --files-only, or give the certificate of a release",
        )
    checks.append(f"{len(certificate.files):,} files have the digests of this certificate")
    if opened is None:
        return Verified(certificate, tuple(checks), None, signed_by=signed_by)
    releases = opened.releases()
    record = _record(releases, certificate)
    _check_unchanged(given, certificate, opened, record)
    checks.append(f"the ledger has this as release {record.number}, {record.label}")
    concerned = [record] if certificate.kind == "release" else releases[: record.number]
    for each in concerned:
        agreement = compare_files(opened, each)
        if not agreement.agrees:
            raise LedgerDamaged(
                "the published files and the ledger disagree: " + "; ".join(agreement.differences),
                where=f"releases/{each.label}",
                remedy="restore the series from a backup",
            )
    checks.append("the published groups are those of the ledger")
    largest, worst = _check_guarantee(opened, releases[: record.number], certificate)
    checks.append("the guarantee was recomputed from the ledger, and holds")
    return Verified(certificate, tuple(checks), largest, worst, signed_by)


def _series(given: Path, certificate: Certificate, named: str | os.PathLike[str] | None) -> Series:
    if named is not None:
        return Series.open(Path(named))
    above = given.parent.parent
    nearby = above.parent if certificate.kind == "release" else above
    try:
        return Series.open(nearby)
    except SeriesNotFound:
        raise SeriesNotFound(
            "the certificate does not lie in a series, and the guarantee needs its ledger",
            where=str(given),
            remedy="name the series with --series, or check the files alone with --files-only",
        ) from None


def _check_files(folder: Path, certificate: Certificate) -> None:
    for name, expected in certificate.files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputRefused(
                "the certificate names a file outside of the release",
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
    """Refuse a file in the folder of a table that the certificate does not name: readers would take
    it for a part of the table."""
    named = {PurePosixPath(name) for name in certificate.files}
    inside = 1 if certificate.kind == "release" else 2  # a series has a folder for each release
    for table in {name.parent for name in named if len(name.parts) > inside}:
        for path in sorted((folder / table).iterdir()):
            if table / path.name not in named:
                raise LedgerDamaged(
                    "a file that the certificate does not name lies in the folder of a table",
                    where=str(path),
                    remedy="move it away, or get the release again from its publisher",
                )


def _record(releases: tuple[ReleaseRecord, ...], certificate: Certificate) -> ReleaseRecord:
    number = certificate.release
    record = releases[number - 1] if number <= len(releases) else None
    if record is None or record.label != certificate.label:
        raise LedgerDamaged(
            "the ledger does not know this release",
            where=f"release {number}, {certificate.label}",
            remedy="name the series that the certificate belongs to",
        )
    if certificate.kind == "series":
        chain = record.chain
    else:
        chain = releases[number - 2].chain if number > 1 else ""
    said = {
        "follows": (certificate.follows, chain),
        "published_at": (certificate.published_at, record.published_at),
        "threshold": (Fraction(certificate.threshold), Fraction(record.threshold)),
        "adversary": (certificate.adversary, record.adversary),
        "strategy": (certificate.strategy, record.strategy),
        "policy": (certificate.policy, record.policy),
    }
    differing = [name for name, (claimed, known) in said.items() if claimed != known]
    if differing:
        raise LedgerDamaged(
            f"the certificate says something else than the ledger: {', '.join(differing)}",
            where=f"release {number}, {certificate.label}",
            remedy="name the series that the certificate belongs to, or restore the certificate",
        )
    return record


def _check_signature(given: Path, signer: PublicKey) -> None:
    signature = given.with_suffix(".sig")
    if not signature.is_file():
        raise LedgerDamaged(
            "the certificate is not signed",
            where=str(signature),
            remedy="get the signature from the publisher, or leave out the key",
        )
    with storage_errors(signature):
        is_signed = signer.has_signed(given.read_bytes(), signature.read_bytes())
    if not is_signed:
        raise LedgerDamaged(
            f"the certificate was not signed with the key {signer.name}, or was changed since",
            where=str(given),
            remedy="give the key of the publisher, or get the release again from there",
        )


def _check_unchanged(
    given: Path, certificate: Certificate, series: Series, record: ReleaseRecord
) -> None:
    """Compare the certificate, byte by byte, with what was published or what the series keeps."""
    content = given.read_bytes()
    if certificate.kind == "series":
        is_unchanged = series.has_issued(content)
    else:
        published = [file.sha256 for file in record.files if file.name == NAME]
        is_unchanged = digest_of(content) in published
    if not is_unchanged:
        raise LedgerDamaged(
            "the certificate was changed, or the series has never made it",
            where=str(given),
            remedy="restore it, or get it again from its publisher; 'serigraph report' makes a new "
            "one of a series",
        )


def _check_guarantee(
    series: Series, releases: tuple[ReleaseRecord, ...], certificate: Certificate
) -> tuple[Fraction, WorstPair | None]:
    """Recompute the probabilities of the series up to the release of the certificate: the largest
    that the certificate is about, and the pair of the series that is closest to its threshold."""
    evidence = evidence_of(series, releases)
    promised = as_promised(evidence)
    whole = survey(evidence, promised)
    over_all = whole.after[-1]
    if not over_all.is_within:
        raise GuaranteeExceeded(
            f"{over_all.pairs_above:,} pairs are above their threshold",
            where=str(series.path),
            remedy="run 'serigraph audit' to see since when",
        )
    touched = None
    if certificate.kind == "series":
        pairs, largest = over_all.pairs, over_all.largest
    else:
        pairs = localised(evidence, promised, len(releases) - 1).pairs
        largest, touched = whole.touched[-1], whole.touched_worst[-1]
    claimed = certificate.guarantee
    if certificate.format > 1:  # before, worst pairs were not told
        _check_worst("this release", claimed.worst_in_release, touched, certificate)
        _check_worst("the series", claimed.worst_in_series, over_all.worst, certificate)
    gap = abs(float(Fraction(claimed.largest_probability) - largest))
    if claimed.pairs != pairs or gap > _CLOSE:
        raise LedgerDamaged(
            f"the certificate claims {claimed.largest_probability} as the largest probability of "
            f"{claimed.pairs:,} pairs, the ledger gives {largest} of {pairs:,}",
            where=f"release {certificate.release}, {certificate.label}",
            remedy="restore the certificate, or the series",
        )
    return largest, over_all.worst


def _check_worst(
    of: str, claimed: ClosestPair | None, found: WorstPair | None, certificate: Certificate
) -> None:
    """The value may differ where several are equally close to their thresholds."""
    if claimed is None and found is None:
        return
    if claimed is not None and found is not None:
        said = WorstPair.from_json(claimed.model_dump())
        if abs(float(said.share - found.share)) <= _CLOSE:
            return
    raise LedgerDamaged(
        f"the certificate says something else than the ledger about the pair of {of} that is "
        "closest to its threshold",
        where=f"release {certificate.release}, {certificate.label}",
        remedy="restore the certificate, or the series",
    )
