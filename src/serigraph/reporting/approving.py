"""Approvals of drafts: where the policy asks for them, nothing is published without enough of them.

An approval is a signature of the draft's digest and of its certificate's. It lies beside the draft
until it is published, and beside the certificate afterwards.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from serigraph.errors import NotApproved
from serigraph.ledger import KeptDraft, Series
from serigraph.ledger.drafts import check_complete, find_draft, outdated
from serigraph.ledger.layout import Layout
from serigraph.ledger.storage import (
    ensure_folder,
    move_durably,
    storage_errors,
    sync,
    write_durably,
)
from serigraph.policy import digest_of_policy, read_policy
from serigraph.policy.sections import Signing
from serigraph.publishing.terms import policy_path
from serigraph.reporting.certificate import NAME
from serigraph.reporting.checking_drafts import obstacle_to
from serigraph.signing import Approval, SigningKey
from serigraph.tables.cells import counted

_AGAIN = "let the draft be approved with 'serigraph approve'"


def approve(
    series: str | os.PathLike[str] | Series,
    name: str,
    key: str | os.PathLike[str] | SigningKey,
    *,
    wait: float = 0.0,
) -> tuple[str, ...]:
    """Sign a draft with a private key or the file of one, as its name stands for it; returns the
    fingerprints of all keys that have approved of it.

    ``NotApproved`` if this key has approved already, or if the policy does not want its approval;
    ``DraftRefused`` if the draft cannot be published any more.
    """
    signer = SigningKey.read(key)
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    path = policy_path(opened)
    layout = Layout(opened.path)
    with opened.writing(wait) as writer:
        draft = find_draft(layout, name)
        check_complete(draft)
        digest = digest_of_policy(path)
        obstacle = obstacle_to(draft, writer.head, writer.releases, digest)
        if obstacle:
            raise outdated(draft, obstacle)
        rules = read_policy(path).signing
        if not rules.approvals:
            raise NotApproved(
                "the policy asks for no approvals",
                where=str(path),
                remedy="set approvals = 2 in its section [signing], and draft the table again",
            )
        known = approvals_of(draft, rules)
        approval = Approval.of(_certificate_digest(draft), draft.digest, signer)
        fingerprint = approval.key.fingerprint
        _check_wanted(fingerprint, rules, str(path))
        if fingerprint in known:
            raise NotApproved(
                "this key has approved of the draft already",
                where=f"drafts/{draft.name}",
                remedy="let somebody else approve of it, with another key",
            )
        with storage_errors(draft.approvals):
            ensure_folder(draft.approvals)
            unfinished = layout.staging / f"approval-{secrets.token_hex(8)}"
            write_durably(unfinished, approval.to_text().encode())
            sync(draft.folder)
            move_durably([(unfinished, draft.approvals / approval.file_name)])
    return (*known, fingerprint)


def approvals_of(draft: KeptDraft, rules: Signing) -> dict[str, Path]:
    """The files of all approvals of a draft, by the fingerprint of the key; ``NotApproved`` if one
    is not valid, is of something else, or is by a key that the policy does not know."""
    found: dict[str, Path] = {}
    with storage_errors(draft.approvals):
        paths = sorted(draft.approvals.iterdir()) if draft.approvals.is_dir() else []
        for path in paths:
            approval = Approval.read(path)
            where = f"drafts/{draft.name}/approvals/{path.name}"
            if (approval.certificate, approval.draft) != (_certificate_digest(draft), draft.digest):
                raise _not_valid("an approval is that of another draft", where)
            if not approval.is_by(approval.key):
                raise _not_valid("an approval was not signed with the key that it names", where)
            _check_wanted(approval.key.fingerprint, rules, where)
            if approval.key.fingerprint in found or path.name != approval.file_name:
                raise _not_valid("an approval is there twice, or under another name", where)
            found[approval.key.fingerprint] = path
    return found


def check_approvals(draft: KeptDraft, rules: Signing) -> dict[str, Path]:
    """The approvals of a draft, of which there have to be enough."""
    found = approvals_of(draft, rules)
    if len(found) < rules.approvals:
        raise NotApproved(
            f"the policy asks for {counted(rules.approvals, 'approval')}, and the draft has "
            f"{len(found)}",
            where=f"drafts/{draft.name}",
            remedy=_AGAIN,
        )
    return found


def _check_wanted(fingerprint: str, rules: Signing, where: str) -> None:
    if rules.keys and fingerprint not in rules.keys:
        raise NotApproved(
            f"the policy does not name the key {fingerprint} among those that may approve",
            where=where,
            remedy="approve with one that it names, or add this one to keys in its section "
            "[signing] and draft the table again",
        )


def _not_valid(what: str, where: str) -> NotApproved:
    return NotApproved(what, where=where, remedy=f"remove this file, and {_AGAIN}")


def _certificate_digest(draft: KeptDraft) -> str:
    return next((file.sha256 for file in draft.files if file.name == NAME), "")
