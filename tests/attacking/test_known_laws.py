"""The posterior that the benchmark computes from counts is the one that all worlds give."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from benchmarks.persistence_law import Belief, Rules, Told, posteriors

from serigraph.cohorts import Rules as CohortRules
from theorems.cohort_worlds import Mechanism, Publication, believed, law

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
ALWAYS, OFTEN = (0, 1), (1, 3)  # weights of being absent and present
FOR_LIFE = {"share": 2 / 7, "keeps": 1.0, "gets": 0.0}
CHANGING = {"share": 1 / 4, "keeps": 3 / 4, "gets": 1 / 8}


def holding(releases: int, values: dict[str, float]) -> dict[tuple[str, ...], int]:
    """The same chances as whole weights of all ways to hold the value."""
    first = round(28 * values["share"])
    found = {("s",): first, ("",): 28 - first}
    for _ in range(releases - 1):
        found = {
            (*before, now): weight * (holds if now else 8 - holds)
            for before, weight in found.items()
            for holds in [round(8 * values["keeps" if before[-1] else "gets"])]
            for now in ("", "s")
        }
    return {held: weight for held, weight in found.items() if weight}


def sights(registries: Sequence[Sequence[int]], publication: Publication) -> list[Told]:
    """What the releases tell of the only cohort that there is."""
    found, before = [], set(registries[0])
    for registry, groups in zip(registries, publication, strict=True):
        ((members, records, values),) = groups or (((), 0, ()),)
        left = len(before - set(registry))
        companions = len(before - set(members)) - left
        found.append(Told(records, dict(values).get("s", 0), left, companions))
        before = set(members)
    return found


def retirements(registries: Sequence[Sequence[int]], publication: Publication) -> dict[int, int]:
    """By person the place of the release that it is missing from first, or their number."""
    members = [{i for each in groups for i in each[0]} for groups in publication]
    return {
        person: next((k for k, here in enumerate(members) if person not in here), len(members))
        for person in registries[0]
    }


@pytest.mark.parametrize(
    ("registries", "values", "presence", "threshold", "worst"),
    [
        ([range(4)] * 2, FOR_LIFE, OFTEN, HALF, 1 / 2),
        ([range(4)] * 2, CHANGING, ALWAYS, THIRD, 1 / 4),
        ([range(3)] * 2, CHANGING, OFTEN, THIRD, 1 / 3),
        ([range(3)] * 3, CHANGING, ALWAYS, THIRD, 1 / 3),
        ([range(4), range(1, 4)], FOR_LIFE, OFTEN, HALF, 1 / 2),
        ([range(5), range(2, 5)], CHANGING, ALWAYS, HALF, 2 / 5),
        ([range(4), range(1, 4), range(2, 4)], CHANGING, ALWAYS, HALF, 1 / 2),
    ],
)
def test_the_posterior_is_that_of_all_worlds(
    registries: Sequence[range],
    values: dict[str, float],
    presence: tuple[int, int],
    threshold: Fraction,
    worst: float,
) -> None:
    members = len(registries[0])
    mechanism = Mechanism(CohortRules(members, 0, 2, {"s": threshold}))
    worlds = law(holding(len(registries), values), (presence, presence))
    belief = Belief(**values, present=presence[1] / sum(presence))
    highest = 0.0
    for publication, each in believed(mechanism, registries, [worlds]).items():
        told = sights(registries, publication)
        chances = posteriors(belief, Rules(threshold), members, told)
        for person, retires in retirements(registries, publication).items():
            exact = float(each.probability((person, "s")))
            assert chances[retires] == pytest.approx(exact, abs=1e-9)
            highest = max(highest, exact)
    assert highest == pytest.approx(worst)
