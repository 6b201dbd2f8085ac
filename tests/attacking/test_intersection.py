"""What the attack by intersection believes, against all ways to come by the counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from attacking.enumeration import Law, Release, ever_shown
from serigraph.attacking import sampled_ways
from serigraph.attacking.deduction import deduce
from serigraph.attacking.every_way import sum_every_way
from serigraph.attacking.evidence import Evidence, Seen
from serigraph.attacking.fitted_weights import fit_weights
from serigraph.attacking.intersection import Intersection, ever_published
from serigraph.attacking.links import Linked, linked_to
from serigraph.attacking.sampled_ways import sample_ways

HELD = 0.2
PERMANENT = 1 - 1e-4  # as good as: releases of values that change rule out that none ever did


def seen(release: Release) -> Seen:
    group, counts = np.array(release.group), np.array(release.shows)
    shows = np.flatnonzero(counts)
    return Seen(
        label="",
        group=group,
        size=np.bincount(group[group >= 0], minlength=len(counts)),
        recorded=np.array(release.recorded),
        shown_group=shows,
        shown_value=np.zeros(len(shows), dtype=np.int64),
        shown_count=counts[shows],
    )


def evidence(releases: list[Release]) -> Evidence:
    people = len(releases[0].group)
    return Evidence(people, ("s",), (Fraction(1, 2),), tuple(map(seen, releases)), 0)


def drawn(
    seed: int,
    size: int,
    groups: int,
    number: int,
    keeps: float,
    returns: float,
    recorded: float = 1.0,
    held: float = HELD,
) -> tuple[list[Release], NDArray[np.bool_]]:
    """Releases of a few people who hold a value by the law, and who is shown in which release. Who
    comes is in a group drawn by lot, and ``recorded`` is the share of these that has a record."""
    draw = np.random.default_rng(seed)
    people = size * groups
    gets = held * (1 - keeps) / (1 - held)
    holds = draw.random(people) < held
    found, shown = [], np.zeros((people, number), dtype=np.bool_)
    for j in range(number):
        here = draw.permutation(np.flatnonzero(draw.random(people) < returns))
        group = np.full(people, -1)
        group[here] = np.arange(len(here)) * groups // len(here)
        shown[:, j] = holds & (group >= 0) & (draw.random(people) < recorded)
        shows = np.bincount(group[shown[:, j]], minlength=groups)
        found.append(Release(group.tolist(), shows.tolist(), [recorded] * groups))
        holds = draw.random(people) < np.where(holds, keeps, gets)
    return found, shown


def all_ways(releases: list[Release], keeps: float) -> NDArray[np.float64]:
    """How probable it is that each person was shown, by counting; shares are those of counts."""
    shares = [
        sum(each.shows) / sum(each.recorded[group] for group in each.group if group >= 0)
        for each in releases
    ]
    share = min(max(sum(shares) / len(shares), 1e-6), 0.5)
    return np.array(ever_shown(releases, Law(share, keeps)))


def largest_part(releases: list[Release], keeps: float) -> Linked:
    linked = linked_to(evidence(releases), 0, keeps)
    return linked.part(int(np.argmax(np.diff(linked.first_person))))


def test_of_one_release_counts_say_everything() -> None:
    assert ever_shown([Release([0, 0, 0, 1, 1], [1, 0], [1.0, 1.0])], Law(0.3, 1.0)) == (
        pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0])
    )


def test_what_was_seen_twice_is_certain() -> None:
    """Of three and three only one is the same."""
    both = [
        Release([0, 0, 0, 1, 1], [1, 0], [1.0] * 2),
        Release([0, 1, 1, 0, 0], [1, 0], [1.0] * 2),
    ]
    assert ever_shown(both, Law(0.3, 1.0)) == pytest.approx([1, 0, 0, 0, 0])


@pytest.mark.parametrize("keeps", [PERMANENT, 0.8, 0.5])
@pytest.mark.parametrize("recorded", [1.0, 0.6])
@pytest.mark.parametrize(
    ("size", "groups", "number"), [(3, 2, 3), (4, 2, 2), (2, 4, 2), (3, 3, 2), (6, 1, 3)]
)
def test_beliefs_are_those_of_all_ways(
    size: int, groups: int, number: int, recorded: float, keeps: float
) -> None:
    for seed in range(12):
        releases, _ = drawn(seed, size, groups, number, keeps, 0.8, recorded)
        found = ever_published(evidence(releases), 0, keeps, np.random.default_rng(1))
        assert not found.error.any()
        exact = all_ways(releases, keeps) if len(found.person) else np.empty(0)
        assert found.chance == pytest.approx(exact[found.person], abs=2e-9)


def test_people_who_are_never_linked_are_left_out() -> None:
    both = [Release([0, 0, 1, 1], [1, 0], [1.0] * 2), Release([1, 0, 1, 0], [1, 0], [1.0] * 2)]
    found = ever_published(evidence(both), 0, 1.0, np.random.default_rng(1))
    assert found.person.tolist() == [0, 1, 3]


@pytest.mark.parametrize("keeps", [0.8, 0.5])
def test_draws_agree_with_sums_as_often_as_they_say(keeps: float) -> None:
    """Beliefs are off by more than twice their standard error for one person of twenty at most."""
    beyond: list[bool] = []
    errors: list[float] = []
    for size, groups, number in [(4, 10, 3), (6, 6, 3), (8, 8, 2)]:
        for seed in range(16):
            recorded = 1.0 if seed % 2 else 0.6
            releases, _ = drawn(seed, size, groups, number, keeps, 0.8, recorded)
            part = largest_part(releases, keeps)
            exact, found = sum_every_way(part), sample_ways(part, np.random.default_rng(seed))
            assert found is not None
            assert found.has_mixed
            off = np.abs(found.chance - exact)
            beyond += (off > 2 * found.error).tolist()
            errors += off.tolist()
    assert len(beyond) > 1000
    assert np.mean(beyond) <= 0.05
    assert np.mean(errors) <= 0.02


@pytest.mark.parametrize("keeps", [0.8, 0.5])
def test_it_does_not_matter_where_chains_begin(
    keeps: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains that begin with the truth stay no nearer to it than others come."""
    releases, shown = drawn(1, 13, 80, 3, keeps, 0.8, held=0.03)
    part = largest_part(releases, keeps)
    assert np.isnan(sum_every_way(part)).all()
    anywhere = sample_ways(part, np.random.default_rng(1))
    monkeypatch.setattr(sampled_ways, "_filled", lambda *_: shown[part.person].copy())
    from_truth = sample_ways(part, np.random.default_rng(2))
    assert anywhere is not None
    assert from_truth is not None
    assert anywhere.has_mixed
    assert from_truth.has_mixed
    off = np.abs(anywhere.chance - from_truth.chance)
    assert np.mean(off > 2 * np.hypot(anywhere.error, from_truth.error)) <= 0.05


def test_chains_that_get_stuck_say_nothing() -> None:
    part = largest_part(drawn(0, 10, 20, 3, 1.0, 0.8, held=0.05)[0], 1.0)
    found = sample_ways(part, np.random.default_rng(1))
    assert found is not None
    assert not found.has_mixed


@pytest.mark.parametrize(("size", "groups", "number"), [(3, 2, 3), (4, 2, 3), (3, 3, 2)])
def test_what_is_deduced_is_what_all_ways_say(size: int, groups: int, number: int) -> None:
    deduced = 0
    for seed in range(20):
        releases, _ = drawn(seed, size, groups, number, 1.0, 0.8)
        linked = linked_to(evidence(releases), 0, 1.0)
        exact = all_ways(releases, 1.0) if linked.parts else np.empty(0)
        for part in map(linked.part, range(linked.parts)):
            found = deduce(part)
            assert found == pytest.approx(exact[part.person], abs=1e-9)
            deduced += 1
    assert deduced >= 10


@pytest.mark.parametrize(
    "second",
    [
        Release([0, 0, 0, 1], [1, 0], [1.0] * 2),
        Release([0, 0, 1, 1], [1, 1], [1.0] * 2),
        Release([0, 1, 2, 2], [1, 0, 1], [1.0] * 3),
    ],
)
def test_nothing_is_deduced_from_releases_that_contradict_each_other(second: Release) -> None:
    first = Release([0, 0, 1, 1], [2, 1], [1.0] * 2)
    linked = linked_to(evidence([first, second]), 0, 1.0)
    assert None in [deduce(part) for part in map(linked.part, range(linked.parts))]


def test_of_many_overlapping_groups_everybody_is_deduced() -> None:
    """The attack is exact where releases leave one way, however many groups overlap."""
    releases, shown = drawn(1, 13, 230, 3, 1.0, 1.0, held=0.03)
    part = largest_part(releases, 1.0)
    assert np.isnan(sum_every_way(part)).all()
    found = ever_published(evidence(releases), 0, 1.0, np.random.default_rng(1))
    assert not found.error.any()
    assert found.chance.tolist() == shown.any(axis=1)[found.person].tolist()


def test_too_many_ways_are_drawn_and_those_of_a_value_that_stays_are_approximated() -> None:
    told = evidence(drawn(1, 13, 80, 3, 0.8, 0.8, held=0.03)[0])
    drawn_by_lot = Intersection("", keeps=0.8).guess(told, np.random.default_rng(1))
    fitted = Intersection("", keeps=1.0).guess(told, np.random.default_rng(1))
    assert not isinstance(drawn_by_lot, str)
    assert not isinstance(fitted, str)
    assert drawn_by_lot.error is not None
    assert fitted.error is not None
    assert 0 < drawn_by_lot.error.max() <= 0.1
    assert np.isnan(fitted.error).any()


def test_overlapping_regions_are_approximated() -> None:
    """Of ten people who may be in a group with two holders, five are known: one of them holds."""
    told = evidence([Release([0] * 5 + [1] * 5, [2, 1], [1.0] * 2)])
    known = replace(told.releases[0], size=np.array([10, 5]))
    found = ever_published(replace(told, releases=(known,)), 0, 1.0, np.random.default_rng(1))
    assert np.isnan(found.error[:5]).all()
    assert found.chance.tolist() == pytest.approx([1 / 5] * 10)


@pytest.mark.parametrize("recorded", [1.0, 0.5])
def test_fitted_weights_are_exact_for_one_release(recorded: float) -> None:
    one = [Release([0, 0, 0, 0, 1, 1, 2, 2], [1, 1, 0], [recorded] * 3)]
    linked = linked_to(evidence(one), 0, 0.8)
    assert fit_weights(linked) == pytest.approx(all_ways(one, 0.8)[linked.person], abs=1e-6)


@pytest.mark.parametrize("keeps", [PERMANENT, 0.8])
@pytest.mark.parametrize("returns", [1.0, 0.8])
@pytest.mark.parametrize(("size", "groups", "number"), [(3, 2, 3), (4, 2, 2), (5, 2, 2)])
def test_fitted_weights_bet_about_as_well_as_all_ways(
    size: int, groups: int, number: int, returns: float, keeps: float
) -> None:
    """In each group that shows the value, the member most believed in holds it about as probably as
    any; what is believed is less exact."""
    errors, chosen, best = [], 0.0, 0.0
    for seed in range(40):
        releases, _ = drawn(seed, size, groups, number, keeps, returns)
        linked = linked_to(evidence(releases), 0, keeps)
        if not linked.parts:
            continue
        exact, believed = all_ways(releases, keeps), np.zeros(size * groups)
        believed[linked.person] = fit_weights(linked)
        errors += np.abs(believed - exact)[linked.person].tolist()
        for each in releases:
            for group, count in enumerate(each.shows):
                members = np.flatnonzero(np.array(each.group) == group)
                if 0 < count < len(members):
                    chosen += exact[members[np.argmax(believed[members])]]
                    best += exact[members].max()
    assert best > 20
    assert chosen >= 0.95 * best
    assert np.mean(errors) <= 0.1
