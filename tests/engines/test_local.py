"""Releases made from random people with random pasts keep the promise, by brute force."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.models import (
    WIDTHS,
    PastGroup,
    Person,
    crowds,
    history_of,
    id_of,
    pasts,
    population_of,
    protected_names,
)
from model.settings import about
from serigraph.engines import Plan, VerifiedRelease, make_release
from serigraph.engines.earlier_releases import remembered
from serigraph.errors import Infeasible, PromiseError
from serigraph.privacy.strategies import ConstantRatio, Geometric, OptimalSchedule, Strategy
from serigraph.runtime.randomness import SeededRandomness
from serigraph.verification import RememberedReleases
from verification.brute_force import is_kept, probabilities

PLAN = Plan(
    label="r1",
    strategy=ConstantRatio(3),
    form="generalised",
    method="top-down",
    minimum_size=1,
    is_presence_known=False,
    allows_suppression=True,
    sensitive="s",
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    strategies: list[Strategy] = [
        ConstantRatio(3),
        ConstantRatio(3, replan=False),
        Geometric(Fraction(3, 2)),
        Geometric(Fraction(2), replan=False),
        OptimalSchedule((1.0, 0.5, 0.25)),
    ]
    return replace(
        PLAN,
        strategy=draw(st.sampled_from(strategies)),
        form=draw(st.sampled_from(["generalised", "bucketised"])),
        method=draw(st.sampled_from(["top-down", "bottom-up"])),
        is_presence_known=draw(st.booleans()),
    )


def made(
    people: list[Person], releases: list[list[PastGroup]], plan: Plan, seed: int = 1
) -> VerifiedRelease:
    names = protected_names(people)
    thresholds = {name: Fraction(2, 3) if name == "b" else Fraction(1, 2) for name in names}
    population = population_of(people, names, thresholds)
    history = history_of(len(people), names, releases)
    earlier = remembered(population.ids, names, history)
    return make_release(population, history, earlier, plan, SeededRandomness(seed))


def within_budget(releases: list[list[PastGroup]], people: int) -> list[list[PastGroup]]:
    """Only the releases that nobody's budget was exceeded by."""
    kept: list[list[PastGroup]] = []
    for release in releases:
        survived = [
            all(
                np.prod(
                    [
                        1 - g.counts[name] / g.size
                        for r in [*kept, release]
                        for g in r
                        if i in g.members and name in g.counts
                    ]
                )
                >= 0.5
                for name in "abckm"
            )
            for i in range(people)
        ]
        if all(survived):
            kept.append(release)
    return kept


@about(100)
@given(crowds(largest=40), plans(), st.integers(0, 9), st.data())
def test_whatever_is_made_is_within_the_guarantee(
    people: list[Person], plan: Plan, seed: int, data: st.DataObject
) -> None:
    releases = within_budget(data.draw(pasts(len(people))), len(people))
    try:
        release = made(people, releases, plan, seed)
    except Infeasible:
        return  # nobody would be left
    proof = release.proof
    # The people as they are after suppression, those known to be absent aside.
    place = {id_of(number): number for number in range(len(people))}
    places = [place[each] for each in release.population.ids]
    records = release.population.records().tolist()
    values = dict(zip(records, release.population.values.to_list(), strict=True))
    shown = [
        Person(people[number].cells, entry in values, frozenset(values.get(entry, ())))
        for entry, number in enumerate(places)
    ]
    number_of = dict(zip(proof.ids, proof.group.tolist(), strict=True))
    unpublished = len(proof.size)
    group = [number_of.get(each, unpublished) for each in release.population.ids]
    mine = {old: new for new, old in enumerate(places)}
    past = [
        [
            PastGroup(frozenset(mine[i] for i in g.members if i in mine), g.size, g.counts)
            for g in each
        ]
        for each in releases
    ]
    found = probabilities(shown, group, past, plan.is_presence_known)
    thresholds = {value.name: value.threshold for value in release.population.protected}
    assert is_kept(found, thresholds)
    assert proof.largest == max(found.values(), default=0)
    # Nothing was taken but protected values, and the figures say how much.
    lost = 0
    for number, person in enumerate(people):
        kept = shown[mine[number]].values if number in mine else frozenset()
        assert kept <= person.values
        assert "d" in kept or "d" not in person.values or not kept
        lost += len(person.values - kept)
    names = {value.name for value in release.population.protected if not value.stands_for}
    assert sum(gap.missing for gap in proof.gaps if gap.value in names) == lost
    assert release.figures()["present"] == sum(person.present for person in shown)


def test_a_plan_without_suppression_is_refused_where_it_would_be_needed() -> None:
    people = [Person((i % WIDTHS[0], 0), True, frozenset("a" if i < 9 else "d")) for i in range(20)]
    people += [Person((i % WIDTHS[0], 0), False, frozenset()) for i in range(10)]
    with pytest.raises(Infeasible, match="--allow-suppression"):
        made(people, [], replace(PLAN, allows_suppression=False))
    release = made(people, [], PLAN)
    missing = {gap.value: gap.missing for gap in release.proof.gaps}
    assert missing.keys() == {"a", "k"}
    assert len({*missing.values()}) == 1
    assert all(gap.risk == Fraction(gap.missing, 10 + gap.missing) for gap in release.proof.gaps)


def test_a_floor_that_cannot_be_kept_is_refused() -> None:
    people = [Person((0, 0), True, frozenset("d"))] * 3
    for form in ("generalised", "bucketised"):
        with pytest.raises(PromiseError, match="minimum_group_size"):
            made(people, [], replace(PLAN, minimum_size=4, form=form))


def test_progress_is_told_in_order() -> None:
    told: dict[str, list[float]] = {}

    def tell(stage: str, done: int = 0, total: int = 1, /) -> None:
        told.setdefault(stage, []).append(done / total)

    people = [Person((0, 0), True, frozenset("d"))] * 3
    population = population_of(people, [])
    nothing = history_of(3, [], []), RememberedReleases()
    make_release(population, *nothing, PLAN, SeededRandomness(1), tell)
    assert list(told) == ["ordering", "forming groups", "verifying", "recoding"]
    assert all(parts == sorted(parts) for parts in told.values())
    assert told["verifying"][-1] == 1.0


def test_whether_the_past_is_looked_at_does_not_depend_on_who_holds() -> None:
    """A plan for more releases than the last one spent: some pasts exceed it. With everybody as the
    holder in turn, the same groups come out for all members of a group."""
    draw = np.random.default_rng(3)
    for _ in range(4):
        cells = [tuple(draw.integers(0, width) for width in WIDTHS) for _ in range(48)]
        spent = frozenset(draw.choice(48, 12, replace=False).tolist())
        past = [[PastGroup(spent, 4, {"a": 1})]]
        shared = []
        for holder in range(48):
            people = [
                Person(at, True, frozenset("a" if i == holder else "d"))
                for i, at in enumerate(cells)
            ]
            plan = replace(PLAN, strategy=ConstantRatio(6, replan=False), allows_suppression=False)
            try:
                proof = made(people, past, plan).proof
            except Infeasible:
                shared.append(frozenset())
                continue
            number = proof.group[holder]
            shared.append(frozenset(np.flatnonzero(proof.group == number).tolist()))
        for members in set(shared) - {frozenset()}:
            possible = [holder for holder in range(48) if shared[holder] == members]
            assert len(possible) == len(members)
