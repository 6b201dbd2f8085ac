"""All worlds of a few people over a few releases, under any belief on how values behave over time.

In a release a person is absent, clean (has a record without the value) or shown (has a record with
it). A law gives every trajectory of one person a weight. A belief is a mixture of laws: given the
law, people are independent, so that nothing tells them apart; but they depend on each other through
the law. Imports nothing under test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import prod

ABSENT, CLEAN, SHOWN = range(3)
Trajectory = tuple[int, ...]
Law = dict[Trajectory, int]
Belief = Sequence[Law]
World = tuple[Trajectory, ...]  # one trajectory a person
Grouping = tuple[frozenset[int], ...]  # people outside of all groups are not in the population
Publication = tuple[object, ...]


def law(holding: dict[tuple[bool, ...], int], presence: dict[bool, tuple[int, int]]) -> Law:
    """From the weights of who holds the value when; presence (absent, present) may depend on it."""
    found: Law = Counter()
    for held, weight in holding.items():
        for here in product((False, True), repeat=len(held)):
            seen = tuple(
                (SHOWN if holds else CLEAN) if present else ABSENT
                for holds, present in zip(held, here, strict=True)
            )
            chances = (presence[h][p] for h, p in zip(held, here, strict=True))
            found[seen] += weight * prod(chances)
    return {seen: weight for seen, weight in found.items() if weight}


def holding_laws(releases: int) -> dict[str, dict[tuple[bool, ...], int]]:
    """Ways in which a value may behave over time, by name."""
    never, always = (False,) * releases, (True,) * releases
    once = [tuple(i == j for i in range(releases)) for j in range(releases)]
    turns = [tuple((i + odd) % 2 == 0 for i in range(releases)) for odd in (0, 1)]
    markov: dict[tuple[bool, ...], int] = {}
    for held in product((False, True), repeat=releases):
        weight = 1 if held[0] else 3
        for before, now in pairwise(held):
            weight *= (1, 3)[now] if before else (7, 1)[now]
        markov[held] = weight
    return {
        "permanent": {never: 5, always: 2},
        "markov": markov,
        "periodic": {never: 4, turns[0]: 2, turns[1]: 1},
        "exclusive": {never: 5} | dict.fromkeys(once, 1),
        "anything": dict.fromkeys(product((False, True), repeat=releases), 1),
    }


PRESENCE = {
    "everybody": {False: (0, 1), True: (0, 1)},
    "by chance": {False: (1, 3), True: (1, 3)},
    "by value": {False: (1, 2), True: (4, 1)},
}


@dataclass(frozen=True)
class Worlds:
    """The worlds that could have led to one publication, with their weights."""

    weights: dict[World, int]

    def mean_holders(self, people: frozenset[int]) -> Fraction:
        """How many of these people were ever shown as holders, in the mean."""
        found = sum(
            weight * sum(SHOWN in world[person] for person in people)
            for world, weight in self.weights.items()
        )
        return Fraction(found, sum(self.weights.values()))

    def probability(self, person: int) -> Fraction:
        """P(the person was ever shown as a holder | the publication)."""
        return self.mean_holders(frozenset([person]))

    def numbers_of_holders(self, people: frozenset[int]) -> set[int]:
        return {sum(SHOWN in world[person] for person in people) for world in self.weights}

    def where(self, *, ever: frozenset[int], never: frozenset[int]) -> Worlds:
        """What is left for somebody who knows of some people whether they were ever shown."""
        return Worlds(
            {
                world: weight
                for world, weight in self.weights.items()
                if all(SHOWN in world[person] for person in ever)
                and not any(SHOWN in world[person] for person in never)
            }
        )


def worlds(belief: Belief, people: int) -> Iterator[tuple[World, int]]:
    """Every world with its weight."""
    trajectories = sorted({seen for each in belief for seen in each})
    for world in product(trajectories, repeat=people):
        weight = sum(prod(each.get(seen, 0) for seen in world) for each in belief)
        if weight:
            yield world, weight


def published(world: World, groupings: Sequence[Grouping], *, presence_known: bool) -> Publication:
    """What everybody sees: of each group how many have a record and how many of them hold."""
    told: list[object] = []
    for j, grouping in enumerate(groupings):
        for group in grouping:
            now = [world[person][j] for person in sorted(group)]
            told.append((sum(seen != ABSENT for seen in now), now.count(SHOWN)))
            if presence_known:
                told.append(tuple(seen != ABSENT for seen in now))
    return tuple(told)


def by_publication(
    belief: Belief, people: int, groupings: Sequence[Grouping], *, presence_known: bool
) -> dict[Publication, Worlds]:
    """All worlds, by what is published of them. Who is in no group has no record, publicly."""
    found: dict[Publication, dict[World, int]] = defaultdict(dict)
    members = [frozenset().union(*grouping) for grouping in groupings]
    for world, weight in worlds(belief, people):
        if all(
            world[person][j] == ABSENT
            for j, inside in enumerate(members)
            for person in range(people)
            if person not in inside
        ):
            found[published(world, groupings, presence_known=presence_known)][world] = weight
    return {told: Worlds(weights) for told, weights in found.items()}
