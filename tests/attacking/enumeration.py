"""Who was published as a holder, by counting every way in which the counts could have come about.

Plain Python, for a few people: the reference for the attack by intersection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from math import prod

Shown = tuple[bool, ...]  # of one person, release by release


@dataclass(frozen=True)
class Release:
    """The group of each person, or -1; how many holders each group shows; and with which chance a
    member of it has a record."""

    group: Sequence[int]
    shows: Sequence[int]
    recorded: Sequence[float]


@dataclass(frozen=True)
class Law:
    """A value that this share of the people hold, who keep it with a chance; as many get it anew as
    lose it."""

    share: float
    keeps: float

    def chance(self, holds: Shown) -> float:
        found = self.share if holds[0] else 1 - self.share
        gets = self.share * (1 - self.keeps) / (1 - self.share)
        for before, now in pairwise(holds):
            kept = self.keeps if before else gets
            found *= kept if now else 1 - kept
        return found


def ever_shown(releases: Sequence[Release], law: Law) -> list[float]:
    """How probable it is that each person was published as a holder in some release."""
    people = range(len(releases[0].group))
    weights = [_weights(person, releases, law) for person in people]
    total, found = 0.0, [0.0 for _ in people]
    for way in product(*(list(_ways(release)) for release in releases)):
        shown = [tuple(person in holders for holders in way) for person in people]
        weight = prod(weights[person][shown[person]] for person in people)
        total += weight
        for person in people:
            found[person] += weight * any(shown[person])
    return [each / total for each in found]


def _ways(release: Release) -> Iterator[frozenset[int]]:
    """Every set of holders with the counts that a release shows."""
    members = [
        [person for person, group in enumerate(release.group) if group == number]
        for number in range(len(release.shows))
    ]
    chosen = [combinations(own, count) for own, count in zip(members, release.shows, strict=True)]
    for way in product(*chosen):
        yield frozenset(person for own in way for person in own)


def _weights(person: int, releases: Sequence[Release], law: Law) -> dict[Shown, float]:
    """How probable it is that a person is shown like this, whatever it holds besides."""
    found: dict[Shown, float] = {}
    of_person = []
    for release in releases:
        group = release.group[person]
        of_person.append(0.0 if group < 0 else release.recorded[group])
    for shown in product([False, True], repeat=len(releases)):
        found[shown] = 0.0
        for holds in product([False, True], repeat=len(releases)):
            seen = 1.0
            for is_shown, does_hold, recorded in zip(shown, holds, of_person, strict=True):
                if does_hold:
                    seen *= recorded if is_shown else 1 - recorded
                elif is_shown:
                    seen = 0.0
            found[shown] += seen * law.chance(holds)
    return found
