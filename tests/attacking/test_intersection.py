"""The weights that the attack by intersection fits, against all ways to come by the counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from attacking.enumeration import Law, Release, ever_shown
from serigraph.attacking.evidence import Evidence, Seen
from serigraph.attacking.intersection import ever_published

HELD = 0.2


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


def beliefs(releases: list[Release], keeps: float) -> tuple[list[int], list[float], list[float]]:
    """Those who are linked to the value, what the attack believes of them, and what is so."""
    people = len(releases[0].group)
    limit = (Fraction(1, 2),)
    evidence = Evidence(people, ("s",), limit, tuple(map(seen, releases)), 0)
    person, believed = ever_published(evidence, 0, keeps)
    shares = [
        sum(each.shows) / sum(each.recorded[group] for group in each.group if group >= 0)
        for each in releases
    ]
    share = min(max(sum(shares) / len(shares), 1e-6), 0.5)
    exact = ever_shown(releases, Law(share, min(keeps, 1 - 1e-4)))
    return person.tolist(), believed.tolist(), [exact[each] for each in person.tolist()]


def series(
    seed: int, size: int, groups: int, number: int, keeps: float, returns: float
) -> list[Release]:
    """Releases of a few people, drawn by the law; who comes is in a group drawn by lot."""
    draw = np.random.default_rng(seed)
    people = size * groups
    gets = HELD * (1 - keeps) / (1 - HELD)
    holds = draw.random(people) < HELD
    found = []
    for _ in range(number):
        here = draw.permutation(np.flatnonzero(draw.random(people) < returns))
        group = np.full(people, -1)
        group[here] = np.arange(len(here)) * groups // len(here)
        shows = [int(holds[group == each].sum()) for each in range(groups)]
        found.append(Release(group.tolist(), shows, [1.0] * groups))
        holds = draw.random(people) < np.where(holds, keeps, gets)
    return found


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


@pytest.mark.parametrize("recorded", [1.0, 0.5])
def test_the_attack_is_exact_for_one_release(recorded: float) -> None:
    one = [Release([0, 0, 0, 0, 1, 1, 2, 2], [1, 1, 0], [recorded] * 3)]
    _, believed, exact = beliefs(one, 0.8)
    assert believed == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("keeps", [1.0, 0.8])
@pytest.mark.parametrize("returns", [1.0, 0.8])
@pytest.mark.parametrize(("size", "groups", "number"), [(3, 2, 3), (4, 2, 2), (5, 2, 2)])
def test_bets_are_about_as_good_as_the_best(
    size: int, groups: int, number: int, returns: float, keeps: float
) -> None:
    """In each group that shows the value, the member most believed in holds it about as probably as
    any; what is believed is less exact."""
    errors, chosen, best = [], 0.0, 0.0
    for seed in range(40):
        releases = series(seed, size, groups, number, keeps, returns)
        person, believed, exact = beliefs(releases, keeps)
        errors += [abs(one - other) for one, other in zip(believed, exact, strict=True)]
        for each in releases:
            for group, count in enumerate(each.shows):
                members = [i for i, who in enumerate(person) if each.group[who] == group]
                if 0 < count < len(members):
                    chosen += exact[max(members, key=lambda i: believed[i])]
                    best += max(exact[i] for i in members)
    assert best > 20
    assert chosen >= 0.95 * best
    assert sum(errors) <= 0.1 * len(errors)
