"""What does not fit, said so that a person can act on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.engines.plan import Plan
from serigraph.errors import Infeasible
from serigraph.population import Population, ProtectedValue
from serigraph.randomness import Randomness, shuffled


@dataclass(frozen=True)
class Losses:
    """What suppression took out of a release."""

    values: int  # of people, that are in the table and not in the release
    people: int  # who have no record for that
    holders: dict[str, int]  # protected value -> people who are not published as its holders


@dataclass(frozen=True)
class Counts:
    """The people of a release in counts."""

    protected: tuple[ProtectedValue, ...]
    holders: NDArray[np.int64]  # of each protected value
    people: int
    present: int
    values: int  # of people, that the release would show

    @staticmethod
    def of(population: Population) -> Counts:
        return Counts(
            protected=population.protected,
            holders=np.bincount(population.held, minlength=len(population.protected)),
            people=population.size,
            present=int(population.present.sum()),
            values=int(population.values.list.len().sum()),
        )


def overfull(
    population: Population, base: NDArray[np.float64], people: int, randomness: Randomness
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Pairs (person, value) to give up where more people hold a value than any grouping of
    ``people`` bears. Who of the holders loses the value is chosen at random.

    Classes come first and one at a time, since giving one up takes values and other classes
    along: ask again until nothing is left to give up.
    """
    holders = np.bincount(population.held, minlength=len(base))
    excesses = excess_holders(population.protected, holders, base, people)
    if not excesses:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    person = np.repeat(np.arange(population.size), np.diff(population.held_start))
    persons: list[NDArray[np.int64]] = []
    values: list[NDArray[np.int32]] = []
    for value, excess in excesses.items():
        holding = person[population.held == value]
        chosen = holding[shuffled(len(holding), randomness)[:excess]]
        persons.append(chosen)
        values.append(np.full(len(chosen), value, dtype=np.int32))
    return np.concatenate(persons), np.concatenate(values)


def excess_holders(
    protected: Sequence[ProtectedValue],
    holders: NDArray[np.int64],
    base: NDArray[np.float64],
    people: int,
) -> dict[int, int]:
    """The values that more people hold than any grouping of ``people`` bears, and how many more;
    the first class alone, if there is one among them."""
    found = np.flatnonzero(holders * base > people * (1 + 1e-12)).tolist()
    classes = [value for value in found if protected[value].stands_for]
    return {
        value: int(np.ceil(holders[value] - people / base[value] - 1e-9))
        for value in classes[:1] or found
    }


def named(population: Population, value: NDArray[np.int32]) -> Counter[str]:
    """How often each protected value is among the pairs."""
    return Counter(population.protected[v].name for v in value.tolist())


def losses(before: Counts, after: Counts) -> Losses:
    """What is no longer published after suppression; people keep no trace of it themselves."""
    fewer = before.holders - after.holders
    return Losses(
        values=before.values - after.values,
        people=before.present - after.present,
        holders={
            value.name: number
            for value, number in zip(before.protected, fewer.tolist(), strict=True)
            if number
        },
    )


def refusal(
    before: Counts,
    base: NDArray[np.float64],
    suppressed: Mapping[str, int],
    lost: Losses,
    plan: Plan,
    releases: int,
) -> Infeasible:
    """The error for a release that cannot be made without suppression, ``releases`` being out.

    ``suppressed`` counts the pairs that do not fit, by the value or class that is the reason.
    """
    holders, people = before.holders, before.people
    problems = []
    is_beyond_any_strategy = False
    for number, value in enumerate(before.protected):
        if value.name not in suppressed:
            continue
        is_beyond_any_strategy |= int(holders[number]) > people * value.threshold
        if holders[number] * base[number] > people:
            problems.append(
                f"value {value.name!r} is held by {holders[number]:,} of {people:,} people; the "
                f"target {base[number]:.2f} allows {int(people / base[number]):,}"
            )
        else:
            problems.append(
                f"value {value.name!r} does not fit {suppressed[value.name]:,} times: people whose "
                "budget for it is nearly used up have no neighbours without it"
            )
    shown = problems[:20]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown):,} more values")
    changes = _changes_that_help(
        "" if is_beyond_any_strategy else plan.strategy.gentler(),
        could_add_registry=not plan.is_presence_known and people == before.present,
        is_first=releases == 0,
    )
    is_all = lost.people == before.present
    if not is_all:
        changes.append(
            f"allow {lost.values:,} suppressions ({lost.people:,} people left out) with "
            "--allow-suppression"
        )
    helping = ", or ".join(filter(None, [", ".join(changes[:-1]), *changes[-1:]]))
    hopeless = ["suppression would leave nobody to publish"] if is_all else []
    return Infeasible(
        f"{len(problems):,} protected value{'s do' if len(problems) != 1 else ' does'} not fit "
        "under the guarantee",
        where=f"release {plan.label}",
        remedy="; ".join(filter(None, [helping, *hopeless])),
        problems=shown,
    )


def _changes_that_help(
    gentler_strategy: str, *, could_add_registry: bool, is_first: bool
) -> list[str]:
    """What a publisher can still change so that values fit; what a release froze is left out."""
    return [
        *([gentler_strategy] if gentler_strategy else []),
        *(["add a registry"] if could_add_registry else []),
        *(["protect fewer values", "raise the threshold"] if is_first else []),
    ]
