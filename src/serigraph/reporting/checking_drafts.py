"""What is checked of a draft when it is to be published: everything, from what lies on the disk.

That it was verified when it was made counts for nothing: its files may have been changed since, and
their digests with them. The verifier reads the groups of the draft as it reads those of earlier
releases, and all probabilities are recomputed as an audit does.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from serigraph.auditing.agreement import compare_files
from serigraph.auditing.cohort_agreement import compare_cohorts
from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.errors import DraftRefused, GuaranteeExceeded, LedgerDamaged
from serigraph.ledger import KeptDraft, ReleaseRecord, Series
from serigraph.ledger.drafts import outdated
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import GROUPS, VALUES, read_part
from serigraph.ledger.release import as_json
from serigraph.policy import Policy
from serigraph.policy.classes import ProtectedClasses
from serigraph.privacy.thresholds import threshold_text
from serigraph.reporting.certificate import NAME, read_certificate
from serigraph.reporting.verifying import check_files_of, check_guarantee, check_said
from serigraph.tables import ProtectedChoice


def obstacle_to(
    draft: KeptDraft, head: str, releases: tuple[ReleaseRecord, ...], policy_digest: str
) -> str:
    """Why a draft cannot be published any more, in words; empty if nothing is known against it."""
    out = draft.release_in(releases)
    if out is not None:
        return f"it is out already, as release {out.number}"
    if draft.follows != head:
        return "the series is not at the release that the draft was made to follow"
    if draft.policy_digest != policy_digest:
        return "the policy, or a file that it names, was changed since the draft was made"
    return ""


def check_against_policy(
    draft: KeptDraft, policy: Policy, releases: tuple[ReleaseRecord, ...]
) -> None:
    """Refuse a draft whose manifest says something else of the promise than the policy does, or
    protects other values than the releases before."""
    entry = draft.entry
    said = (as_json(dict(entry.policy)), entry.threshold, entry.adversary, draft.number)
    known = (
        as_json(dict(policy.frozen())),
        threshold_text(policy.threshold),
        policy.guarantee.adversary,
        len(releases) + 1,
    )
    if said != known:
        raise outdated(draft, "the draft is not one of a release under this policy")
    if releases:
        last, this = (
            {key: said for key, said in each.protected.items() if key != "gap_survival"}
            for each in (releases[-1], entry)
        )
        if last != this:
            raise outdated(draft, "the draft protects other values than the series does")


def check_again(
    series: Series,
    earlier: tuple[ReleaseRecord, ...],
    record: ReleaseRecord,
    folder: Path,
    policy: Policy,
) -> None:
    """Check a release whose parts are in the ledger and whose public files are in a folder, neither
    committed yet; ``DraftRefused`` or ``GuaranteeExceeded`` if anything is wrong."""
    try:
        certificate = read_certificate(folder / NAME)
        if (certificate.kind, certificate.release, certificate.label, certificate.approvals) != (
            *("release", record.number, record.label),
            policy.signing.approvals,
        ):
            raise _refused("the certificate is that of another release", record)
        check_said(certificate, record, earlier[-1].chain if earlier else "")
        check_files_of(folder, certificate)
        releases = (*earlier, record)
        _check_groups(series, releases, policy)
        cohorts = compare_cohorts(series, releases).get(record.number, ())
        agreement = compare_files(series, record, folder).with_differences(cohorts)
        if not agreement.agrees:
            raise _refused("; ".join(agreement.differences), record)
        check_guarantee(series, releases, certificate)
    except LedgerDamaged as error:
        raise _refused(error.what, record) from error


def _check_groups(series: Series, releases: tuple[ReleaseRecord, ...], policy: Policy) -> None:
    """Let the verifier count the groups of all releases, the last one among them."""
    layout, record = Layout(series.path), releases[-1]
    ledger = ledger_on_disk(layout, releases)
    names = read_part(layout, record, VALUES)["value"].unique().cast(pl.String).sort()
    _check_protected(record, names.to_list())
    ledger.groups_of(ledger.people().unique().sort(), names.to_list(), lambda _done, _total: None)
    groups = read_part(layout, record, GROUPS)
    is_present_only = record.is_presence_known and not record.has_persisting_values
    counted = groups["present" if is_present_only else "size"]
    smallest = min(counted.to_list(), default=policy.guarantee.minimum_group_size)
    if smallest < policy.guarantee.minimum_group_size:
        raise GuaranteeExceeded(
            f"a group has {smallest} people, fewer than minimum_group_size "
            f"({policy.guarantee.minimum_group_size})",
            where=f"release {record.label}",
            remedy="draft the table again",
        )


def _check_protected(record: ReleaseRecord, names: list[str]) -> None:
    """Refuse parts that name a value which is not protected: they would be those of others."""
    choice = ProtectedChoice.from_json(record.protected_json)
    classes = ProtectedClasses(record.policy)
    if not all(choice.covers(name) or name in classes for name in names):
        raise _refused("the draft has a value that is not protected among those that are", record)


def _refused(what: str, record: ReleaseRecord) -> DraftRefused:
    return DraftRefused(
        f"the draft is not sound: {what}",
        where=f"release {record.label}",
        remedy="discard it, find out who can write to the series, and draft the table again",
    )
