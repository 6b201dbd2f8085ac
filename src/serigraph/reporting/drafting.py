"""Drafts: a release is formed, verified, attacked and written, and then looked at before it is
committed, approved of by others if the policy asks for it, or discarded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import polars as pl

from serigraph.attacking import Finding
from serigraph.engines import Local, engine_for
from serigraph.engines.choosing import no_drafts
from serigraph.engines.one_machine import TablesOnDisk
from serigraph.errors import AlreadyPublished, DraftNotFound, SerigraphError
from serigraph.ledger import KeptDraft, ReleaseRecord, Series
from serigraph.ledger.drafts import (
    MANIFEST,
    bring_back,
    changed,
    check_complete,
    drafts_of,
    find_draft,
    head_of,
    keep_draft,
    outdated,
    remove_draft,
)
from serigraph.ledger.layout import Layout
from serigraph.ledger.storage import storage_errors, write_durably
from serigraph.policy import digest_of_policy, read_policy
from serigraph.publishing import Published
from serigraph.publishing.differences import Differences, differences
from serigraph.publishing.publication import Ready, ending_with, release
from serigraph.publishing.published import pair_of
from serigraph.publishing.terms import policy_in_force, policy_path
from serigraph.reporting.approving import approvals_of, check_approvals
from serigraph.reporting.checking_drafts import check_again, check_against_policy, obstacle_to
from serigraph.reporting.documents import write_documents
from serigraph.reporting.draft_page import draft_report
from serigraph.reporting.sample import DraftRisk, Row, measure_draft
from serigraph.runtime.progress import Progress, no_progress
from serigraph.short_repr import ShortRepr
from serigraph.tables.value_list import ListedValue, ValueList

REPORT, SAMPLE = "report.html", "sample.json"
STAGES = (
    *("reading", "preparing", "recalling", "ordering", "forming groups", "verifying"),
    *("recoding", "writing", "drafting"),
)
PUBLISHING_STAGES = ("reading", "verifying", "committing")


@dataclass(frozen=True, repr=False)
class Preview(ShortRepr):
    """A release as it would be; for the publisher alone, as attacks and differences depend on who
    holds what."""

    label: str
    number: int
    made_at: str  # ISO 8601, UTC: the time that the release would have
    figures: Mapping[str, Any]
    notes: tuple[str, ...]
    value_list: ValueList
    attacks: tuple[Finding, ...]
    differences: Differences | None  # from the last release; None: there is none

    def _facts(self) -> dict[str, object]:
        return {
            "release": f"{self.number}, {self.label}",
            "people": self.figures["present"],
            "groups": self.figures["groups"],
            "worst probability": pair_of(self.figures["worst_in_release"]),
            "over the series": pair_of(self.figures["worst_in_series"]),
            "notes": len(self.notes),
        }


@dataclass(frozen=True, repr=False)
class Draft(Preview):
    """A release that was drafted, and is neither published nor discarded."""

    name: str
    folder: Path
    approvals: tuple[str, ...]  # fingerprints of the keys
    approvals_asked: int
    obstacle: str  # why it cannot be published any more; empty: nothing is known against it

    @property
    def report(self) -> Path:
        """The report for the publisher."""
        return self.folder / REPORT

    @property
    def public(self) -> Path:
        """The folder of the files that the public would get."""
        return self.folder / "public"

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """What the public would get, each read when it is asked for."""
        return TablesOnDisk(self.public)

    @property
    def before(self) -> tuple[Row, ...]:
        """Some records as the table has them."""
        return self._sample("before")

    @property
    def after(self) -> tuple[Row, ...]:
        """What the release would show of the same records."""
        return self._sample("after")

    def _sample(self, which: str) -> tuple[Row, ...]:
        with storage_errors(self.folder):
            return tuple(json.loads((self.folder / SAMPLE).read_bytes())[which])

    def _facts(self) -> dict[str, object]:
        return {
            "draft": self.name,
            **super()._facts(),
            "approvals": f"{len(self.approvals)} of {self.approvals_asked}",
            **({"cannot be published": self.obstacle} if self.obstacle else {}),
            "folder": self.folder,
        }


def _preview(ready: Ready) -> Preview:
    """What is shown of a release that is not committed."""
    entry, writer = ready.entry, ready.writer
    figures = dict(entry.summary)
    since = None
    if writer.releases:
        parts = ready.staged.encoded()
        since = differences(ready.series, writer.releases[-1], parts, figures)
    return Preview(
        label=entry.label,
        number=len(writer.releases) + 1,
        made_at=entry.published_at_utc,
        figures=figures,
        notes=ready.notes,
        value_list=ready.value_list,
        attacks=ready.attacks,
        differences=since,
    )


def _measured(ready: Ready) -> DraftRisk:
    (measured,) = (each for each in ready.staged.measured if isinstance(each, DraftRisk))
    return measured


def _keep(ready: Ready) -> Draft:
    """Keep a release as a draft."""
    ready.progress("drafting")
    preview, measured = _preview(ready), _measured(ready)
    report = draft_report(
        preview.label,
        preview.number,
        preview.figures,
        preview.differences,
        preview.attacks,
        (measured.before, measured.after),
        preview.value_list,
        preview.notes,
    )
    sample = json.dumps({"before": measured.before, "after": measured.after}).encode()
    kept = keep_draft(
        ready.writer,
        ready.staged.encoded(),
        ready.entry,
        policy_digest=ready.policy_digest,
        beside={REPORT: report, SAMPLE: sample},
        about={
            "notes": list(preview.notes),
            "value_list": asdict(preview.value_list),
            "attacks": [asdict(each) for each in preview.attacks],
            "differences": preview.differences and asdict(preview.differences),
        },
    )
    return _draft_of(kept, {}, ready.policy.signing.approvals, "")


def _draft_of(
    kept: KeptDraft, approvals: Mapping[str, Path], approvals_asked: int, obstacle: str
) -> Draft:
    """The draft as it is shown, with what its manifest keeps for the publisher."""
    try:
        return _shown(kept, tuple(approvals), approvals_asked, obstacle)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise changed(kept.folder, MANIFEST) from None


def _shown(
    kept: KeptDraft, approvals: tuple[str, ...], approvals_asked: int, obstacle: str
) -> Draft:
    about, listed = kept.about, kept.about["value_list"]

    def values(known: list[dict[str, Any]]) -> tuple[ListedValue, ...]:
        return tuple(ListedValue(**each) for each in known)

    since = about["differences"]
    return Draft(
        label=kept.entry.label,
        number=kept.number,
        made_at=kept.entry.published_at_utc,
        figures=kept.entry.summary,
        notes=tuple(about["notes"]),
        value_list=ValueList(
            values(listed["protected"]),
            {name: values(members) for name, members in listed["classes"].items()},
            values(listed["unprotected"]),
        ),
        attacks=tuple(Finding(**each) for each in about["attacks"]),
        differences=Differences.from_json(since) if since else None,
        name=kept.name,
        folder=kept.folder,
        approvals=approvals,
        approvals_asked=approvals_asked,
        obstacle=obstacle,
    )


Options = ParamSpec("Options")
Made = TypeVar("Made")


def _on_this_machine(make: Callable[Options, Made]) -> Callable[Options, Made]:
    """With what a draft is measured by, and refused on a cluster before anything is read."""

    @wraps(make)
    def made(*args: Options.args, **options: Options.kwargs) -> Made:
        table = args[0] if args else options.get("table")
        engine: Any = options.get("engine", Local())
        if not isinstance(engine_for(engine, table), Local):
            raise no_drafts()
        options.setdefault("documents", write_documents)
        options.setdefault("measure", measure_draft)
        return make(*args, **options)

    return made


draft = _on_this_machine(
    ending_with(
        _keep,
        release,
        "draft",
        "Form, verify, attack and write the next release of a series, and keep it as a draft.\n",
    )
)
dry_run = _on_this_machine(
    ending_with(
        _preview, release, "dry_run", "What `publish` would publish; nothing of it is kept.\n"
    )
)


def drafts(series: str | os.PathLike[str] | Series) -> tuple[Draft, ...]:
    """The drafts of a series that are neither published nor discarded, by name."""
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    layout, path = Layout(opened.path), policy_path(opened)
    releases, head, digest = opened.releases(), head_of(layout), digest_of_policy(path)
    rules = read_policy(path).signing
    found = []
    for kept in drafts_of(layout):
        obstacle, approvals = obstacle_to(kept, head, releases, digest), {}
        try:
            approvals = approvals_of(kept, rules)
        except SerigraphError as error:
            obstacle = obstacle or error.what
        found.append(_draft_of(kept, approvals, rules.approvals, obstacle))
    return tuple(found)


def one_draft(series: str | os.PathLike[str] | Series, name: str) -> Draft:
    """The draft with this name, or with the only name that begins like this."""
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    wanted = find_draft(Layout(opened.path), name).name
    return next(each for each in drafts(opened) if each.name == wanted)


def discard_draft(series: str | os.PathLike[str] | Series, name: str, *, wait: float = 0.0) -> str:
    """Remove a draft, and return its name; the beginning of it will do if no other begins like
    this."""
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    layout = Layout(opened.path)
    with opened.writing(wait):
        draft = find_draft(layout, name)
        remove_draft(layout, draft)
    return draft.name


def publish_draft(
    series: str | os.PathLike[str] | Series,
    name: str,
    *,
    wait: float = 0.0,
    after: str | None = None,
    progress: Progress = no_progress,
) -> Published:
    """Publish exactly the files of a draft, as they were seen under its name.

    Everything is checked again from the disk. ``DraftRefused`` if the draft, the series or the
    policy is not what it was when the draft was made, ``NotApproved`` if approvals are missing,
    ``AlreadyPublished`` if it is out. The draft is gone afterwards. ``wait`` and ``after`` are
    those of `publish`.
    """
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    layout, path = Layout(opened.path), policy_path(opened)
    with opened.writing(wait) as writer:
        progress("reading")
        writer.ensure_follows(after)
        kept = _found(layout, name, writer.releases)
        digest = digest_of_policy(path)
        policy = policy_in_force(opened, writer.releases)
        obstacle = obstacle_to(kept, writer.head, writer.releases, digest)
        if obstacle:
            raise outdated(kept, obstacle)
        check_complete(kept)
        check_against_policy(kept, policy, writer.releases)
        approvals = check_approvals(kept, policy.signing)
        found = _draft_of(kept, approvals, policy.signing.approvals, "")
        more = {"draft": kept.name, **({"approved_by": list(approvals)} if approvals else {})}
        entry = replace(kept.entry, summary={**kept.entry.summary, **more})
        written = bring_back(writer, kept)
        with storage_errors(writer.staging):
            for approval in approvals.values():
                write_durably(writer.staging / approval.name, approval.read_bytes())

        def check(record: ReleaseRecord) -> None:
            progress("verifying")
            check_again(opened, writer.releases, record, writer.staging, policy)
            progress("committing")

        record = writer.commit_written(written, entry, check)
        with suppress(SerigraphError):  # it is out; the next writer removes it
            remove_draft(layout, kept)
    folder = layout.published(record.label)
    return Published(
        record, folder, TablesOnDisk(folder), found.notes, found.value_list, found.attacks
    )


def _found(layout: Layout, name: str, releases: tuple[ReleaseRecord, ...]) -> KeptDraft:
    """The draft to publish; ``AlreadyPublished`` if it is out, and was removed since."""
    try:
        return find_draft(layout, name)
    except DraftNotFound:
        for each in releases:
            if name and str(each.summary.get("draft", "")).startswith(name):
                raise AlreadyPublished(
                    "this draft is out already",
                    where=f"release {each.number}, {each.label}",
                    remedy="nothing is left to do",
                ) from None
        raise
