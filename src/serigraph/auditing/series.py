"""The audit of a series: its ledger, its files, and whether they agree."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from serigraph.arguments import refuse_name
from serigraph.auditing.auditor import Auditing, ThisMachine
from serigraph.auditing.result import Examined, audit_of, notes_on_known_members
from serigraph.errors import SeriesError
from serigraph.ledger import Series, notes_on_unknown
from serigraph.privacy.thresholds import parse_threshold
from serigraph.runtime.stages import shows_progress

SERIES_STAGES = ("checking digests", "comparing files", "reading the ledger", "computing")


@shows_progress(SERIES_STAGES)
def audit_series(
    series: str | os.PathLike[str] | Series,
    *,
    raw: Sequence[Any] = (),
    known_members: int = 1,
    worst: int = 10,
    engine: Auditing = ThisMachine(),  # noqa: B008 - a frozen record without fields
    progress: Callable[[str], None] = lambda _stage: None,
) -> Examined:
    """Recompute every probability of a series from its ledger, and compare its files with it.

    ``LedgerDamaged`` if a part of the ledger or a public file was changed or is missing; other
    differences between files and ledger are in the audit's ``agreement``. ``raw`` are the tables
    that the releases were made from, which give the holders in each crowd. ``engine`` says where to
    run.
    """
    refuse_name(engine)
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    releases = opened.releases()
    if not releases:
        opened.check()
        raise SeriesError(
            "there is nothing to audit: no release is out",
            where=str(opened.path),
            remedy="publish a release first",
        )
    with engine.auditor(opened) as auditor:
        progress("checking digests")
        auditor.check()
        progress("comparing files")
        agreement = auditor.compare(releases)
        found, (crowds, notes) = auditor.tally(
            releases, raw, known_members=known_members, worst=worst, progress=progress
        )
    return audit_of(
        found,
        people=sum(release.newcomers for release in releases),
        threshold=parse_threshold(releases[-1].threshold),
        labels=[release.label for release in releases],
        members=[release.members for release in releases],
        agreement=agreement,
        notes=(
            *notes_on_known_members(releases[-1].known_members),
            *notes_on_unknown(opened.unknown_files()),
            *notes,
        ),
        crowds=crowds,
    )
