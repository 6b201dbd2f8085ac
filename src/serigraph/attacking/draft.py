"""Attacks on a release before it is committed, on a sample of its groups if it is large.

These look at the draft alone; `serigraph attack` compares releases, too. Their figures depend on
who holds what, and go to the publisher only. What the public may know is that the release came
out: then no attack was above the limit, in every world that was published.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from serigraph.attacking.definetti import DeFinetti
from serigraph.attacking.downcoding import Downcoding
from serigraph.attacking.evidence import NOBODY, Evidence, Seen, Truth
from serigraph.attacking.scoring import Attack, Finding, run
from serigraph.engines import Plan, VerifiedRelease
from serigraph.errors import Leaking

ON_DRAFTS: tuple[Attack, ...] = (
    DeFinetti(),
    Downcoding("downcoding, middle", is_middle=True),
    Downcoding("downcoding, edge", is_middle=False),
)
_MOST_PEOPLE = 20_000


def attack_draft(
    made: VerifiedRelease, plan: Plan, most_people: int = _MOST_PEOPLE
) -> tuple[Finding, ...]:
    """Attack a verified release, or the part that one task made."""
    draw = np.random.default_rng()
    truth = _truth(made, plan, most_people, draw)
    return tuple(run(each, truth.evidence, truth, draw) for each in ON_DRAFTS)


def refuse_leaks(findings: Sequence[Finding], highest_lift: float | None, label: str) -> None:
    """``Leaking`` if some attack is surely above the limit."""
    leaks = [each for each in findings if highest_lift and each.exceeds(highest_lift)]
    if leaks:
        raise Leaking(
            f"attacks on the release come further than {highest_lift:g} times what is claimed",
            where=f"release {label}",
            remedy="drop or coarsen quasi-identifiers that say much about the value, raise "
            "minimum_group_size, or accept more with highest_lift in [attacks]",
            problems=[
                f"{each.attack}: right {each.lift:.2f} times as often as claimed "
                f"({each.lowest:.2f} to {each.highest:.2f})"
                for each in leaks
            ],
        )


def _truth(made: VerifiedRelease, plan: Plan, most_people: int, draw: np.random.Generator) -> Truth:
    """Whole groups, drawn by lot, with about as many people as asked."""
    proof, groups = made.proof, len(made.proof.size)
    chosen = draw.random(groups) * len(proof.ids) < most_people
    number = np.append(np.where(chosen, np.cumsum(chosen) - 1, NOBODY), NOBODY)
    counts = proof.present | (not plan.is_presence_known)
    group = number[np.where(counts, proof.group, groups)]
    kept = np.flatnonzero(group >= 0)
    names = proof.value_name.cast(str).to_list()
    index = {name: place for place, name in enumerate(proof.protected_names)}
    value = np.array([index[name] for name in names], dtype=np.int64)
    shown = np.flatnonzero(chosen[proof.value_group])
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
    limits = {each.name: each.threshold for each in made.population.protected}
    places = made.population.ids.search_sorted(proof.ids.gather(kept)).to_numpy()
    evidence = Evidence(
        people=len(kept),
        values=proof.protected_names,
        thresholds=tuple(limits.get(name, Fraction(1)) for name in proof.protected_names),
        releases=(seen,),
        known_members=plan.known_members,
        codes=made.population.codes[:, places].astype(np.int64),
    )
    person = np.full(len(proof.ids), NOBODY, dtype=np.int64)
    person[kept] = np.arange(len(kept))
    holder = person[proof.holder]
    pairs = evidence.pairs(holder, proof.held.astype(np.int64))[holder >= 0]
    return Truth(evidence, (np.sort(pairs),), (proof.present[kept],))
