"""What does not fit, said so that a person can act on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.errors import Infeasible
from serigraph.population import Population
from serigraph.randomness import Randomness, shuffled


@dataclass(frozen=True)
class Losses:
    """What suppression took out of a release."""

    values: int  # of people, that are in the table and not in the release
    people: int  # who have no record for that
    holders: dict[str, int]  # protected value -> people who are not published as its holders


def overfull(
    population: Population, base: NDArray[np.float64], people: int, randomness: Randomness
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Pairs (person, value) to give up where more people hold a value than any grouping of
    ``people`` bears. Who of the holders loses the value is chosen at random.

    Classes come first and one at a time, since giving one up takes values and other classes
    along: ask again until nothing is left to give up.
    """
    holders = np.bincount(population.held, minlength=len(base))
    person = np.repeat(np.arange(population.size), np.diff(population.held_start))
    persons: list[NDArray[np.int64]] = []
    values: list[NDArray[np.int32]] = []
    found = np.flatnonzero(holders * base > people * (1 + 1e-12)).tolist()
    classes = [value for value in found if population.protected[value].stands_for]
    for value in classes[:1] or found:
        excess = np.ceil(holders[value] - people / base[value] - 1e-9)
        holding = person[population.held == value]
        chosen = holding[shuffled(len(holding), randomness)[: int(excess)]]
        persons.append(chosen)
        values.append(np.full(len(chosen), value, dtype=np.int32))
    if not persons:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    return np.concatenate(persons), np.concatenate(values)


def named(population: Population, value: NDArray[np.int32]) -> Counter[str]:
    """How often each protected value is among the pairs."""
    return Counter(population.protected[v].name for v in value.tolist())


def losses(before: Population, after: Population) -> Losses:
    """What is no longer published after suppression; people keep no trace of it themselves."""
    values = len(before.protected)
    fewer = np.bincount(before.held, minlength=values) - np.bincount(after.held, minlength=values)
    return Losses(
        values=_values_shown(before) - _values_shown(after),
        people=int(before.present.sum() - after.present.sum()),
        holders={
            value.name: number
            for value, number in zip(before.protected, fewer.tolist(), strict=True)
            if number
        },
    )


def refusal(
    population: Population,
    base: NDArray[np.float64],
    people: int,
    suppressed: Mapping[str, int],
    lost: Losses,
    where: str,
) -> Infeasible:
    """The error for a release that cannot be made without suppression.

    ``suppressed`` counts the pairs that do not fit, by the value or class that is the reason.
    """
    holders = np.bincount(population.held, minlength=len(base))
    problems = []
    for number, value in enumerate(population.protected):
        if value.name not in suppressed:
            continue
        share, allowed = holders[number] / people, 1 / base[number]
        if share > allowed:
            problems.append(
                f"value {value.name!r} is held by {share:.1%} of the people; the target "
                f"{base[number]:.2f} allows {allowed:.1%}"
            )
        else:
            problems.append(
                f"value {value.name!r} does not fit {suppressed[value.name]:,} times: people whose "
                "budget for it is nearly used up have no neighbours without it"
            )
    shown = problems[:20]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown):,} more values")
    is_all = lost.people == int(population.present.sum())
    allowing = (
        "suppression would leave nobody to publish"
        if is_all
        else f"allow {lost.values:,} suppressions ({lost.people:,} people left out) with "
        "--allow-suppression"
    )
    return Infeasible(
        f"{len(problems):,} protected value{'s do' if len(problems) != 1 else ' does'} not fit "
        "under the guarantee",
        where=where,
        remedy="ask for fewer releases (releases, or a smaller factor) or a higher threshold in "
        f"the policy, add a registry, protect fewer values{'; ' if is_all else ', or '}{allowing}",
        problems=shown,
    )


def _values_shown(population: Population) -> int:
    return int(population.values.list.len().sum())
