"""The verifier's question answered person by person, in fractions, without the package's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from model.models import PastGroup, Person, names_held


def probabilities(
    people: Sequence[Person],
    group: Sequence[int],
    releases: Sequence[Sequence[PastGroup]],
    presence_known: bool,
    known: int = 0,
) -> dict[tuple[int, str], Fraction]:
    """The breach probability of every member and every value of its group, if this is published.

    The adversary knows ``known`` members of every group now not to hold its values; where only
    holders are left, they are certain. Past groups give the people to choose from.
    Groups in which nobody has a record are not published, and expose nobody.
    """
    found = {}
    for number in set(group):
        members = [i for i, mine in enumerate(group) if mine == number]
        present = [i for i in members if people[i].present]
        size = len(present) if presence_known else len(members)
        held = {name for i in members for name in names_held(people[i].values)}
        if not present:
            continue
        for name in held:
            count = sum(name in names_held(people[i].values) for i in members)
            for i in members:
                kept = 1 - Fraction(count, max(size - known, count))
                for release in releases:
                    for past in release:
                        if i in past.members and name in past.counts:
                            kept *= 1 - Fraction(past.counts[name], past.size)
                found[i, name] = 1 - kept
    return found


def smallest_group(people: Sequence[Person], group: Sequence[int], presence_known: bool) -> int:
    """The size of the smallest group that is published."""
    sizes = []
    for number in set(group):
        members = [person for person, mine in zip(people, group, strict=True) if mine == number]
        present = sum(person.present for person in members)
        if present:
            sizes.append(present if presence_known else len(members))
    return min(sizes)


def is_kept(found: Mapping[tuple[int, str], Fraction], thresholds: Mapping[str, Fraction]) -> bool:
    """Whether every pair is within its threshold."""
    return all(probability <= thresholds[name] for (_, name), probability in found.items())
