"""Who signed a certificate, and who approved of its release, by the public keys of the reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from serigraph.errors import LedgerDamaged, NotApproved
from serigraph.ledger import storage_errors
from serigraph.ledger.storage import digest_of
from serigraph.reporting.certificate import Certificate
from serigraph.signing import APPROVAL, Approval, PublicKey
from serigraph.tables.cells import counted

_AGAIN = "get the release again from its publisher"


@dataclass(frozen=True)
class Signed:
    """What the keys of a reader show, in words, and the fingerprints of those that were used."""

    checks: tuple[str, ...]
    signed_by: str
    approved_by: tuple[str, ...]


def check_signatures(path: Path, certificate: Certificate, keys: Sequence[PublicKey]) -> Signed:
    """Refuse, with ``LedgerDamaged``, a certificate with fewer approvals beside it than it asks
    for, or that one of these keys has neither signed nor approved."""
    content = path.read_bytes()
    approvals = _approvals(path, digest_of(content))
    if len(approvals) < certificate.approvals:
        raise LedgerDamaged(
            f"the certificate asks for {counted(certificate.approvals, 'approval')}, and "
            f"{len(approvals)} lie beside it",
            where=str(path),
            remedy=_AGAIN,
        )
    checks, signers, approvers = [], [], []
    for key in keys:
        shown = f"the key {key.name} (SHA-256 {key.fingerprint})"
        has_approved = any(each.is_by(key) for each in approvals)
        if has_approved:
            approvers.append(key.fingerprint)
            checks.append(f"it was approved with {shown}")
        if _is_signed(path, content, key):
            signers.append(key.fingerprint)
            checks.append(f"it was signed with {shown}")
        elif not has_approved:
            raise _refused(path, key, has_approvals=bool(approvals))
    if certificate.approvals:
        known = len(set(approvers))
        checks.append(
            f"of the {counted(certificate.approvals, 'approval')} that it asks for, {known} "
            f"{'was' if known == 1 else 'were'} made with keys that you gave"
        )
    return Signed(tuple(checks), signers[0] if signers else "", tuple(dict.fromkeys(approvers)))


def _approvals(path: Path, digest: str) -> list[Approval]:
    """The approvals beside a certificate, one for each key."""
    found: dict[str, Approval] = {}
    with storage_errors(path):
        for each in sorted(path.parent.glob(f"{APPROVAL}*.json")):
            try:
                approval = Approval.read(each)
            except NotApproved as error:
                raise LedgerDamaged(error.what, where=str(each), remedy=_AGAIN) from None
            if approval.certificate != digest:
                raise LedgerDamaged(
                    "an approval is that of another certificate", where=str(each), remedy=_AGAIN
                )
            found.setdefault(approval.public_key, approval)
    return list(found.values())


def _is_signed(path: Path, content: bytes, key: PublicKey) -> bool:
    """Whether there is a signature beside a certificate that was made with a key."""
    signature = path.with_suffix(".sig")
    with storage_errors(signature):
        return signature.is_file() and key.has_signed(content, signature.read_bytes())


def _refused(path: Path, key: PublicKey, *, has_approvals: bool) -> LedgerDamaged:
    signature = path.with_suffix(".sig")
    if not has_approvals and not signature.is_file():
        return LedgerDamaged(
            "the certificate is not signed",
            where=str(signature),
            remedy="get the signature from the publisher, or omit --key",
        )
    neither = " or approved of" if has_approvals else ""
    return LedgerDamaged(
        f"the certificate was not signed{neither} with the key {key.name}, or was changed "
        "afterwards",
        where=str(path),
        remedy="give the publisher's key, or get the release again from the publisher",
    )
