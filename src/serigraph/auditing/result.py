"""What an audit comes to, and the parts that all audits share."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from serigraph.auditing.agreement import Agreement
from serigraph.auditing.evidence import (
    Assumption,
    Evidence,
    as_promised,
    dependent_releases,
    members_known,
    presence_known,
)
from serigraph.auditing.exact import exposures, histories, probability
from serigraph.auditing.figures import Figures, Survey, localised, survey
from serigraph.records import Exposure


@dataclass(frozen=True)
class ReleaseFigures:
    """One release by itself, and the series up to it."""

    label: str
    people: int
    localised: Figures
    so_far: Figures


@dataclass(frozen=True)
class OtherAssumption:
    """The figures over all releases under an assumption that the promise does not make."""

    name: str
    figures: Figures


@dataclass(frozen=True)
class WorstCase:
    """One person and value with a large probability, under a pseudonym that lasts for one audit."""

    pseudonym: str
    value: str
    threshold: Fraction
    probability: Fraction
    exposures: tuple[Exposure, ...]


@dataclass(frozen=True)
class Audit:
    """Every figure of an audit; nothing in it names a person."""

    people: int
    threshold: Fraction
    releases: tuple[ReleaseFigures, ...]
    over_all: Figures
    assumptions: tuple[OtherAssumption, ...]
    worst: tuple[WorstCase, ...]
    agreement: tuple[Agreement, ...] = ()  # of files and ledger; empty for releases of other tools
    notes: tuple[str, ...] = ()

    @property
    def is_within(self) -> bool:
        """Whether no pair exceeds its threshold over all releases."""
        return self.over_all.is_within

    @property
    def files_agree(self) -> bool:
        return all(each.agrees for each in self.agreement)


@dataclass(frozen=True)
class Examined:
    """An audit, and who the pseudonyms of its worst cases stand for: to be kept like the data."""

    audit: Audit
    pseudonyms: dict[str, str | int]


def examine(
    evidence: Evidence,
    threshold: Fraction,
    *,
    known_members: int = 1,
    worst: int = 10,
    agreement: tuple[Agreement, ...] = (),
    notes: tuple[str, ...] = (),
) -> Examined:
    """Compute every figure from the evidence."""
    promised = as_promised(evidence)
    whole = survey(evidence, promised)
    cases, pseudonyms = _worst_cases(evidence, promised, whole, worst)
    others = [presence_known(evidence), dependent_releases(evidence)]
    if known_members > 0:
        others.append(members_known(evidence, known_members))
    audit = Audit(
        people=len(evidence.ids),
        threshold=threshold,
        releases=tuple(
            ReleaseFigures(
                label=label,
                people=evidence.members[number],
                localised=localised(evidence, promised, number),
                so_far=whole.after[number],
            )
            for number, label in enumerate(evidence.labels)
        ),
        over_all=whole.after[-1],
        assumptions=tuple(
            OtherAssumption(each.name, survey(evidence, each).after[-1]) for each in others
        ),
        worst=cases,
        agreement=agreement,
        notes=notes,
    )
    return Examined(audit, pseudonyms)


def _worst_cases(
    evidence: Evidence, assumption: Assumption, whole: Survey, number: int
) -> tuple[tuple[WorstCase, ...], dict[str, str | int]]:
    key = secrets.token_bytes(32)
    is_within = whole.crossing >= evidence.releases
    order = np.lexsort((-whole.largest, is_within))[:number]
    order = order[whole.largest[order] > 0]
    size, count = histories(evidence, assumption, order, whole.largest_value[order])
    cases, pseudonyms = [], {}
    for place, person in enumerate(order.tolist()):
        value = int(whole.largest_value[person])
        found = exposures(size[place].tolist(), count[place].tolist())
        identity = evidence.ids[person]
        pseudonym = hashlib.blake2b(str(identity).encode(), key=key, digest_size=5).hexdigest()
        pseudonyms[pseudonym] = identity
        cases.append(
            WorstCase(
                pseudonym=pseudonym,
                value=evidence.values[value],
                threshold=evidence.thresholds[value],
                probability=probability(found, assumption.adds),
                exposures=tuple(found),
            )
        )
    return tuple(cases), pseudonyms
