"""The result of an audit, and the parts that all audits share."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from serigraph.auditing.agreement import Agreement
from serigraph.auditing.cohorts import CohortsAfter
from serigraph.auditing.crowds import CrowdsAfter
from serigraph.auditing.evidence import Evidence
from serigraph.auditing.figures import Figures
from serigraph.auditing.tally import OtherAssumption, Tally, tally
from serigraph.charts import figure
from serigraph.records import Exposure
from serigraph.risk_charts import closeness_chart, distribution_chart
from serigraph.short_repr import ShortRepr


@dataclass(frozen=True)
class ReleaseFigures:
    """One release alone, and the series up to it."""

    label: str
    people: int
    localised: Figures
    so_far: Figures


@dataclass(frozen=True)
class WorstCase:
    """One person and value with a large probability, under a pseudonym for this audit only."""

    pseudonym: str
    value: str
    threshold: Fraction
    probability: Fraction
    exposures: tuple[Exposure, ...]


@dataclass(frozen=True, repr=False)
class Audit(ShortRepr):
    """Every figure of an audit; nothing in it names a person."""

    people: int
    threshold: Fraction
    releases: tuple[ReleaseFigures, ...]
    over_all: Figures
    assumptions: tuple[OtherAssumption, ...]
    worst: tuple[WorstCase, ...]
    agreement: tuple[Agreement, ...] = ()  # of files and ledger; empty for releases of other tools
    notes: tuple[str, ...] = ()
    crowds: tuple[CrowdsAfter, ...] = ()  # after each release; not computed on Spark
    cohorts: tuple[CohortsAfter, ...] = ()  # after each release, if values persist
    above_in_crowds: int | None = 0  # releases of other tools: pairs of values that persist, in
    # crowds above the threshold; None if counts alone do not tell

    @property
    def is_within(self) -> bool:
        """Whether no pair exceeds its threshold over all releases, as far as it can be told."""
        return self.over_all.is_within and not self.above_in_crowds

    @property
    def files_agree(self) -> bool:
        return all(each.agrees for each in self.agreement)

    def _facts(self) -> dict[str, object]:
        return {
            "people": self.people,
            "releases": len(self.releases),
            "worst probability": self.over_all.worst,
            "pairs above": f"{self.over_all.pairs_above:,} of {self.over_all.pairs:,}",
            "files agree": "yes" if self.files_agree else "no",
            "notes": len(self.notes),
        }

    def _pictures(self) -> str:
        labels = [each.label for each in self.releases]
        worst = [each.so_far.worst for each in self.releases]
        shares = self.over_all.by_share_of_threshold
        return figure([closeness_chart(labels, worst), distribution_chart(shares, is_sample=False)])


@dataclass(frozen=True)
class Examined:
    """An audit, and the ids behind its pseudonyms, to be protected like the data."""

    audit: Audit
    pseudonyms: dict[str, str | int] = field(repr=False)


def notes_on_known_members(number: int) -> tuple[str, ...]:
    """The note on an adversary who knows members of groups."""
    if not number:
        return ()
    known = "1 other member" if number == 1 else f"{number} other members"
    return (
        f"the promise is made against an adversary who knows {known} of every group: probabilities "
        f"are n_s/(n - {number})",
    )


def examine(
    evidence: Evidence,
    threshold: Fraction,
    *,
    known_members: int = 1,
    worst: int = 10,
    agreement: tuple[Agreement, ...] = (),
    notes: tuple[str, ...] = (),
    crowds: tuple[CrowdsAfter, ...] = (),
    above_in_crowds: int | None = 0,
) -> Examined:
    """Compute every figure from the evidence."""
    found = tally(evidence, known_members=known_members, worst=worst)
    examined = audit_of(
        found,
        people=len(evidence.ids),
        threshold=threshold,
        labels=evidence.labels,
        members=evidence.members,
        agreement=agreement,
        notes=notes,
        crowds=crowds,
    )
    return replace(examined, audit=replace(examined.audit, above_in_crowds=above_in_crowds))


def audit_of(
    found: Tally,
    *,
    people: int,
    threshold: Fraction,
    labels: Sequence[str],
    members: Sequence[int],
    agreement: tuple[Agreement, ...] = (),
    notes: tuple[str, ...] = (),
    crowds: tuple[CrowdsAfter, ...] = (),
) -> Examined:
    """The audit from a tally of everybody, with new pseudonyms."""
    key = secrets.token_bytes(32)
    pseudonyms: dict[str, str | int] = {}
    cases = []
    for each in found.worst:
        pseudonym = hashlib.blake2b(str(each.person).encode(), key=key, digest_size=5).hexdigest()
        pseudonyms[pseudonym] = each.person
        cases.append(
            WorstCase(pseudonym, each.value, each.threshold, each.probability, each.exposures)
        )
    audit = Audit(
        people=people,
        threshold=threshold,
        releases=tuple(
            ReleaseFigures(label, number, localised, so_far)
            for label, number, localised, so_far in zip(
                labels, members, found.localised, found.so_far, strict=True
            )
        ),
        over_all=found.so_far[-1],
        assumptions=found.assumptions,
        worst=tuple(cases),
        agreement=agreement,
        notes=notes,
        crowds=crowds,
        cohorts=found.cohorts,
    )
    return Examined(audit, pseudonyms)
