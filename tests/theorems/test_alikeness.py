"""Beyond the paper: people whom all releases treat alike, whatever values do, in all worlds.

P(o was ever published as a holder | everything published) = E[H | everything published] / |K| for
every law of a value over time, also where presence depends on it; and what breaks it if people of
whom a release tells different things are taken for alike, or if groups are formed by who holds.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serigraph.privacy import (
    Seen,
    crowd_probability,
    crowds,
    holder_bounds,
    most_holders,
    sight,
    smallest_crowd,
)
from serigraph.records import Exposure
from theorems import possible_worlds
from theorems.trajectories import (
    ABSENT,
    PRESENCE,
    SHOWN,
    Belief,
    Grouping,
    Law,
    World,
    Worlds,
    by_publication,
    holding_laws,
    law,
    worlds,
)

unhurried = settings(deadline=None, max_examples=25)
PEOPLE = 4


def beliefs(releases: int) -> list[Belief]:
    """Every law with every kind of presence, and mixtures that make people depend on each other."""
    pure: list[Law] = [
        law(holding, presence)
        for holding in holding_laws(releases).values()
        for presence in PRESENCE.values()
    ]
    return [*([each] for each in pure), pure[:3], pure[4:9:2], pure[2::3]]


@st.composite
def groupings(draw: st.DrawFn) -> Grouping:
    """Each person in one of two groups, or outside of the population."""
    place = [draw(st.sampled_from((0, 0, 1, 1, 2))) for _ in range(PEOPLE)]
    parts = (frozenset(p for p in range(PEOPLE) if place[p] == which) for which in (0, 1))
    return tuple(part for part in parts if part)


def sights(
    of: Worlds, grouped: Sequence[Grouping], *, presence_known: bool
) -> dict[int, list[Seen | Hashable]]:
    """What the releases tell of everybody; any world that could be true will do to see it."""
    world = next(iter(of.weights))
    told: dict[int, list[Seen | Hashable]] = {person: [] for person in range(len(world))}
    for j, grouping in enumerate(grouped):
        seen: dict[int, Seen | Hashable] = dict.fromkeys(told, Seen.AWAY)
        for group in grouping:
            here = {person for person in group if world[person][j] != ABSENT}
            shows = any(world[person][j] == SHOWN for person in group)
            choice = here if presence_known else group
            for person in choice:
                seen[person] = sight(group, shows=shows, members=len(choice), records=len(here))
        for person, what in seen.items():
            told[person].append(what)
    return told


def check(belief: Belief, people: int, grouped: Sequence[Grouping], presence_known: bool) -> int:
    """Everybody's posterior is that of the crowd; returns how many crowds were looked at."""
    looked_at = 0
    for of in by_publication(belief, people, grouped, presence_known=presence_known).values():
        for crowd in crowds(sights(of, grouped, presence_known=presence_known)):
            expected = of.mean_holders(crowd) / len(crowd)
            assert {of.probability(person) for person in crowd} == {expected}
            most = max(of.numbers_of_holders(crowd))
            assert expected <= crowd_probability(most, len(crowd))
            looked_at += len(crowd) > 1 and expected > 0
    return looked_at


@unhurried
@given(st.sampled_from(range(len(beliefs(2)))), st.tuples(groupings(), groupings()), st.booleans())
def test_two_releases_in_any_groups(
    number: int, grouped: tuple[Grouping, Grouping], presence_known: bool
) -> None:
    check(beliefs(2)[number], PEOPLE, grouped, presence_known)


@pytest.mark.parametrize("presence_known", [True, False])
@pytest.mark.parametrize("number", range(len(beliefs(3))))
def test_three_releases(number: int, presence_known: bool) -> None:
    """Three people of whom one parts from the others and meets them again, or leaves."""
    together, parted = (frozenset((0, 1, 2)),), (frozenset((0, 1)), frozenset((2,)))
    belief = beliefs(3)[number]
    assert check(belief, 3, [together, parted, together], presence_known) > 0
    if any(ABSENT in seen for seen in belief[0]):
        assert check(belief, 3, [together, parted[:1], together], presence_known) > 0


@unhurried
@given(st.tuples(groupings(), groupings()))
def test_counts_bound_the_holders_and_the_bounds_are_reached(
    grouped: tuple[Grouping, Grouping],
) -> None:
    anything = [law(holding_laws(2)["anything"], PRESENCE["everybody"])]
    whole = [g for g in grouped if len(frozenset().union(*g)) == PEOPLE]
    if len(whole) < 2:
        return
    for of in by_publication(anything, PEOPLE, whole, presence_known=True).values():
        world = next(iter(of.weights))
        for crowd in crowds(sights(of, whole, presence_known=True)):
            counts = [
                Exposure(len(group), sum(world[person][j] == SHOWN for person in group))
                for j, grouping in enumerate(whole)
                for group in grouping
                if crowd <= group and any(world[person][j] == SHOWN for person in group)
            ]
            possible = of.numbers_of_holders(crowd)
            assert holder_bounds(len(crowd), counts) == (min(possible), max(possible))


def test_a_group_that_does_not_show_the_value_clears_only_those_who_have_a_record() -> None:
    """Why not everybody who is unlinked is alike: records of other groups tell of presence."""
    belief = [law(holding_laws(2)["permanent"], PRESENCE["by chance"])]
    first, then = (frozenset(range(4)),), (frozenset((0, 1)), frozenset((2, 3)))
    found = by_publication(belief, 4, [first, then], presence_known=False)
    of = found[(4, 1), (2, 0), (1, 0)]  # all four are there; then two of two, and one of two
    assert [of.probability(person) for person in range(4)] == [0, 0, Fraction(1, 2), Fraction(1, 2)]
    told = sights(of, [first, then], presence_known=False)
    assert crowds(told) == [frozenset((0, 1)), frozenset((2, 3))]


def test_whoever_leaves_is_not_alike_to_whoever_is_cleared() -> None:
    belief = [law(holding_laws(2)["permanent"], PRESENCE["everybody"])]
    belief[0] |= {(seen, ABSENT): weight for (seen, _), weight in belief[0].items()}
    first, then = (frozenset((0, 1, 2)),), (frozenset((0, 1)),)
    of = by_publication(belief, 3, [first, then], presence_known=False)[(3, 1), (2, 0)]
    assert [of.probability(person) for person in range(3)] == [0, 0, 1]


def test_groups_that_are_formed_by_who_holds_give_holders_away() -> None:
    """Why the publication must not change when members change places."""
    belief = [law(holding_laws(1)["anything"], PRESENCE["everybody"])]
    found: dict[object, dict[World, int]] = defaultdict(dict)
    for of in by_publication(belief, 4, [(frozenset(range(4)),)], presence_known=True).values():
        for world, weight in of.weights.items():
            holders = [person for person in range(4) if SHOWN in world[person]]
            if len(holders) == 1:  # the group is the holder and the next in line
                group = frozenset((holders[0], (holders[0] + 1) % 4))
                found[group][world] = weight
    of = Worlds(found[frozenset((0, 1))])
    assert [of.probability(person) for person in (0, 1)] == [1, 0]


Way = tuple[frozenset[int], ...]  # after each release, who was ever published as a holder


def ways_to_publish(world: World, room: int) -> dict[Way, Fraction]:
    """All ways to publish a cohort that is one group in every release, with their probabilities.

    New holders beyond the room are not published as holders; chance decides which.
    """
    ways: dict[Way, Fraction] = {(): Fraction(1)}
    for j in range(len(world[0])):
        now = frozenset(person for person in range(len(world)) if world[person][j] == SHOWN)
        longer: dict[Way, Fraction] = {}
        for way, chance in ways.items():
            before = way[-1] if way else frozenset()
            new = sorted(now - before)
            chosen = list(combinations(new, min(len(new), room - len(before))))
            for each in chosen:
                longer[(*way, before | frozenset(each))] = chance / len(chosen)
        ways = longer
    return ways


@pytest.mark.parametrize(("size", "threshold"), [(4, Fraction(1, 2)), (3, Fraction(1, 3))])
@pytest.mark.parametrize("number", range(len(beliefs(2))))
def test_a_cohort_with_room_for_its_holders_reaches_the_threshold_and_no_more(
    number: int, size: int, threshold: Fraction
) -> None:
    room = most_holders(size, threshold)
    linked: dict[tuple[int, ...], dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    total: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for world, weight in worlds(beliefs(2)[number], size):
        for way, chance in ways_to_publish(world, room).items():
            told = tuple(len(ever) for ever in way)  # how many so far, release by release
            total[told] += weight * chance
            for person in way[-1]:
                linked[told][person] += weight * chance
    worst = Fraction(0)
    for told, weight in total.items():
        for person in range(size):
            probability = linked[told][person] / weight
            assert probability == crowd_probability(told[-1], size) <= threshold
            worst = max(worst, probability)
    assert worst == threshold


@pytest.mark.parametrize("known", [1, 2])
@pytest.mark.parametrize("number", range(len(beliefs(2))))
def test_known_members(number: int, known: int) -> None:
    """Who knows c members of a crowd chooses among the others: (H - b) / (|K| - c)."""
    everybody = [(frozenset(range(PEOPLE)),)] * 2
    strangers = frozenset(range(known, PEOPLE))
    reached = False
    for of in by_publication(beliefs(2)[number], PEOPLE, everybody, presence_known=False).values():
        for holders in of.numbers_of_holders(frozenset(range(PEOPLE))):
            exactly = Worlds(
                {
                    world: weight
                    for world, weight in of.weights.items()
                    if sum(SHOWN in each for each in world) == holders
                }
            )
            worst = crowd_probability(holders, PEOPLE, known)
            for held in range(known + 1):
                acquainted = frozenset(range(held)), frozenset(range(held, known))
                left = exactly.where(ever=acquainted[0], never=acquainted[1])
                if not left.weights:
                    continue
                found = {left.probability(person) for person in strangers}
                assert found == {Fraction(holders - held, PEOPLE - known)}
                assert max(found) <= worst
                reached |= 0 < worst == max(found) < 1
    assert reached


@pytest.mark.parametrize(("size", "count", "known"), [(4, 1, 1), (5, 2, 2), (3, 2, 1), (4, 3, 2)])
def test_known_members_of_one_group(size: int, count: int, known: int) -> None:
    """n_s / (n - c), by the possible worlds of Definition 2 that agree with what is known."""
    people = tuple("opqrt"[:size])
    group = possible_worlds.Group(people, ("s",) * count + ("-",) * (size - count))
    left = [
        world
        for (world,) in possible_worlds.worlds(((group,),))
        if all(world[person] != "s" for person in people[: min(known, size - count)])
    ]
    share = Fraction(sum(world[people[-1]] == "s" for world in left), len(left))
    assert share == crowd_probability(count, size, known)


def test_with_the_number_of_holders_published_it_is_the_probability_of_the_paper() -> None:
    """Definition 2 on the possible worlds of Definition 1 that agree with the published H."""
    group = possible_worlds.Group(tuple("opqr"), ("s", "-", "-", "-"))
    possible = list(possible_worlds.worlds(((group,), (group,), (group,))))
    for holders in (1, 2, 3):
        agreeing = [
            world
            for world in possible
            if sum(any(table[o] == "s" for table in world) for o in "opqr") == holders
        ]
        linked = sum(any(table["o"] == "s" for table in world) for world in agreeing)
        assert Fraction(linked, len(agreeing)) == crowd_probability(holders, 4)


@given(st.integers(1, 60), st.fractions("1/60", "59/60", max_denominator=60), st.integers(0, 5))
def test_room_and_size_are_exact(size: int, threshold: Fraction, known: int) -> None:
    room = most_holders(size, threshold, known)
    assert crowd_probability(room, size, known) <= threshold
    if room < size:
        assert crowd_probability(room + 1, size, known) > threshold
    needed = smallest_crowd(room, threshold, known)
    assert needed <= size
    assert needed == 1 or room > most_holders(needed - 1, threshold, known)


@pytest.mark.parametrize(
    ("holders", "size", "known"), [(-1, 3, 0), (4, 3, 0), (0, 0, 0), (1, 3, -1)]
)
def test_impossible_crowds_are_refused(holders: int, size: int, known: int) -> None:
    with pytest.raises(ValueError, match="a crowd needs"):
        crowd_probability(holders, size, known)


def test_simulated_cohorts_hold_as_often_as_the_bound_says() -> None:
    """Chronic values over ten releases: of the members of cohorts at the bound, just 1/2 hold."""
    draw = random.Random(22)
    size, threshold = 4, Fraction(1, 2)
    right, guesses = 0, 0
    for _ in range(4_000):
        ever: set[int] = set()
        for _release in range(10):
            new = [person for person in range(size) if person not in ever and draw.random() < 0.03]
            draw.shuffle(new)
            ever.update(new[: most_holders(size, threshold) - len(ever)])
        if crowd_probability(len(ever), size) == threshold:
            right += draw.randrange(size) in ever
            guesses += 1
    assert guesses > 500
    assert abs(right / guesses - threshold) < 4 * (0.25 / guesses) ** 0.5
