"""What does not fit, said so that a person can act on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from serigraph.errors import Infeasible
from serigraph.population import Population
from serigraph.randomness import Randomness, shuffled


def overfull(
    population: Population, base: NDArray[np.float64], people: int, randomness: Randomness
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The (person, value) pairs to give up where more people hold a value than any grouping of
    ``people`` bears. Who of the holders loses the value is chosen at random."""
    holders = np.bincount(population.held, minlength=len(base))
    person = np.repeat(np.arange(population.size), np.diff(population.held_start))
    persons: list[NDArray[np.int64]] = []
    values: list[NDArray[np.int32]] = []
    for value in np.flatnonzero(holders * base > people * (1 + 1e-12)).tolist():
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


def refusal(
    population: Population,
    base: NDArray[np.float64],
    people: int,
    suppressed: Mapping[str, int],
    left_out: int,
    where: str,
) -> Infeasible:
    """The error for a release that cannot be made without suppression."""
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
    total = sum(suppressed.values())
    return Infeasible(
        f"{len(problems):,} protected value{'s do' if len(problems) != 1 else ' does'} not fit "
        "under the guarantee",
        where=where,
        remedy="ask for fewer releases (releases, or a smaller factor) or a higher threshold in "
        "the policy, add a registry, protect fewer values, or allow "
        f"{total:,} suppressions ({left_out:,} people left out) with --allow-suppression",
        problems=shown,
    )
