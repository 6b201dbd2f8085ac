"""The audit of releases of other tools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from serigraph.auditing.alikeness import crowds_of_releases
from serigraph.auditing.crowds import CrowdsAfter
from serigraph.auditing.from_releases import Tolerated, first_choice, gather_evidence, match_release
from serigraph.auditing.known_people import know_people
from serigraph.auditing.reading import read_release
from serigraph.auditing.result import Examined, examine, notes_on_known_members
from serigraph.errors import InputRefused
from serigraph.policy import Policy, read_policy
from serigraph.runtime.stages import shows_progress
from serigraph.tables import read_table

RELEASES_STAGES = ("reading", "matching people", "computing")


@shows_progress(RELEASES_STAGES)
def audit_releases(
    releases: Sequence[Any],
    policy: str | Path | Policy,
    *,
    raw: Sequence[Any] = (),
    registry: Any = None,
    tolerate: Collection[Tolerated] = (),
    known_members: int = 1,
    worst: int = 10,
    progress: Callable[[str], None] = lambda _stage: None,
) -> Examined:
    """Audit releases of any tool against a policy.

    A release is a generalised table, or two tables linked by groups; paths or data frames. People
    are found by matching ``raw`` (the tables that the releases were made from, in order) or a
    ``registry`` against the regions; a release that shows ids needs neither. Raw tables with the
    sensitive column also give the holders in each crowd.
    ``tolerate`` names the misfits to accept: overlapping regions (a person is charged for the worst
    of their regions), people in no region (not charged), regions without people (left out).
    """
    if not releases:
        raise InputRefused("there is nothing to audit", remedy="give one or more releases")
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    progress("reading")
    read = [read_release(source, rules, number) for number, source in enumerate(releases, 1)]
    names = [each.label for each in read]
    if len(set(names)) < len(names):
        read = [
            replace(each, label=f"{each.label} ({number})") for number, each in enumerate(read, 1)
        ]
    tables = [read_table(source, rules.reading) for source in raw]
    everybody = know_people(read, rules, tables, registry)
    choice = first_choice(read[0], rules)
    progress("matching people")
    matched = [
        match_release(release, people, rules, choice, frozenset(tolerate))
        for release, people in zip(read, everybody.of_release, strict=True)
    ]
    evidence = gather_evidence(matched, rules)
    progress("computing")
    crowds, notes = crowds_of_releases(
        read, matched, evidence, tables, rules, choice, known_members
    )
    judged = crowds
    granted = rules.guarantee.known_members
    if rules.has_persisting_values and granted != known_members:
        judged, _ = crowds_of_releases(read, matched, evidence, tables, rules, choice, granted)
    return examine(
        evidence,
        rules.threshold,
        known_members=known_members,
        worst=worst,
        notes=(
            *notes_on_known_members(rules.guarantee.known_members),
            *(note for each in matched for note in each.notes),
            *notes,
        ),
        crowds=crowds,
        above_in_crowds=_above(judged, rules),
    )


def _above(crowds: Sequence[CrowdsAfter], policy: Policy) -> int | None:
    """How many pairs of a person and a value that persists are in crowds above the threshold,
    against an adversary who knows the members that ``crowds`` say; None if that is not known."""
    found, is_known = 0, True
    for each in crowds[-1].values if crowds else ():
        if policy.persistence_of(each.value) == "transient":
            continue
        figures = each.figures
        if figures.held is not None:
            found += figures.held.above_if_known
        else:
            found += figures.surely_above
            is_known = is_known and figures.surely_above == figures.possibly_above
    return found if found or is_known else None
