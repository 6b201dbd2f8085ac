"""Attacks on every release before it is committed, on a sample of its groups if it is large.

These look at the draft alone; `serigraph attack` compares releases, too. Their figures depend on
who holds what, and go to the publisher only. The public may know which attacks ran, on which share
of the people and with which limit: that does not depend on anybody's values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from serigraph.attacking.definetti import DeFinetti
from serigraph.attacking.downcoding import Downcoding
from serigraph.attacking.evidence import NOBODY, Evidence, Seen, Truth
from serigraph.attacking.scoring import Attack, Finding, combined, run
from serigraph.engines import Plan, VerifiedRelease
from serigraph.errors import Leaking

ON_DRAFTS: tuple[Attack, ...] = (
    DeFinetti(),
    Downcoding("downcoding, middle", is_middle=True),
    Downcoding("downcoding, edge", is_middle=False),
)
_MOST_PEOPLE = 12_000  # in whole groups, drawn by lot
MOST_VALUES = 4  # drawn by lot from those that the groups show
_CHANCE = 1e-6  # of a refusal if no attack comes further than the limit


@dataclass(frozen=True)
class DraftAttacked:
    """What the attacks on a draft, or on the part that one task made, have found. ``share`` is how
    much of its people they were expected to look at; ``findings`` are for the publisher alone."""

    people: int
    share: Fraction
    findings: tuple[Finding, ...]


def attack_draft(
    made: VerifiedRelease, plan: Plan, most_people: int = _MOST_PEOPLE
) -> DraftAttacked:
    """Attack a verified release, or the part that one task made."""
    draw = np.random.default_rng()
    people = len(made.proof.ids)
    share = min(Fraction(most_people, max(people, 1)), Fraction(1))
    truth = _truth(made, plan, float(share), draw)
    findings = tuple(run(each, truth.evidence, truth, draw, worlds=0) for each in ON_DRAFTS)
    return DraftAttacked(people, share, findings)


def as_one(parts: Sequence[DraftAttacked]) -> DraftAttacked:
    """What was found in all parts of a draft."""
    people = sum(each.people for each in parts)
    seen = sum((each.share * each.people for each in parts), Fraction(0))
    findings = zip(*(each.findings for each in parts), strict=True)
    return DraftAttacked(
        people, seen / people if people else Fraction(1), tuple(map(combined, findings))
    )


def refuse_leaks(findings: Sequence[Finding], highest_lift: float | None, label: str) -> None:
    """``Leaking`` if some attack is surely above the limit.

    A refusal rules out the worlds that it would have been made in. So it must hardly ever happen by
    chance: with the chance p, whatever the promise says of the other worlds grows by 1/(1 - p).
    """
    leaks = [each for each in findings if highest_lift and each.exceeds(highest_lift, _CHANCE)]
    if leaks:
        raise Leaking(
            f"attacks on the release come further than {highest_lift:g} times what is claimed",
            where=f"release {label}",
            remedy="drop or coarsen quasi-identifiers that say much about the value, raise "
            "minimum_group_size, or accept more with highest_lift in [attacks]",
            problems=[each.in_words() for each in leaks],
        )


def _truth(made: VerifiedRelease, plan: Plan, share: float, draw: np.random.Generator) -> Truth:
    """Whole groups, drawn by lot, with about this share of the people, and a few values."""
    proof, groups = made.proof, len(made.proof.size)
    chosen = draw.random(groups) < share
    number = np.append(np.where(chosen, np.cumsum(chosen) - 1, NOBODY), NOBODY)
    counts = proof.present | (not plan.is_presence_known)
    group = number[np.where(counts, proof.group, groups)]
    kept = np.flatnonzero(group >= 0)
    place = {name: at for at, name in enumerate(proof.protected_names)}
    shows = proof.value_name.cast(pl.String).replace_strict(place, return_dtype=pl.Int64)
    every = shows.cast(pl.Int64).to_numpy().astype(np.int64)
    values = np.unique(every[chosen[proof.value_group]])
    if len(values) > MOST_VALUES:
        values = np.sort(draw.choice(values, MOST_VALUES, replace=False))
    asked = np.full(len(proof.protected_names), NOBODY, dtype=np.int64)
    asked[values] = np.arange(len(values))
    value = asked[every]
    shown = np.flatnonzero(chosen[proof.value_group] & (value >= 0))
    shown = shown[np.argsort(value[shown], kind="stable")]
    size = proof.present_size if plan.is_presence_known else proof.size
    seen = Seen(
        label=plan.label,
        group=group[kept],
        size=size[chosen].astype(np.int64),
        recorded=(proof.present_size / np.maximum(size, 1))[chosen],
        shown_group=number[proof.value_group[shown]],
        shown_value=value[shown],
        shown_count=proof.value_count[shown],
    )
    names = tuple(proof.protected_names[each] for each in values.tolist())
    limits = {each.name: each.threshold for each in made.population.protected}
    places = made.population.ids.search_sorted(proof.ids.gather(kept)).to_numpy()
    evidence = Evidence(
        people=len(kept),
        values=names,
        thresholds=tuple(limits.get(name, Fraction(1)) for name in names),
        releases=(seen,),
        known_members=plan.known_members,
        codes=made.population.codes[:, places].astype(np.int64),
    )
    person = np.full(len(proof.ids), NOBODY, dtype=np.int64)
    person[kept] = np.arange(len(kept))
    holder, held = person[proof.holder], asked[proof.held]
    pairs = evidence.pairs(holder, held)[(holder >= 0) & (held >= 0)]
    return Truth(evidence, (np.sort(pairs),), (proof.present[kept],))
