"""What does not fit, said so that a person can act on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from serigraph.engines.interface import Plan
from serigraph.errors import Infeasible
from serigraph.model import Population, ProtectedValue


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


def excess_holders(
    protected: Sequence[ProtectedValue],
    holders: NDArray[np.int64],
    base: NDArray[np.float64],
    people: int,
    clearance: Fraction,
) -> dict[int, int]:
    """The values that more people hold than any grouping of ``people`` bears, and how many of the
    holders are left out; the first class alone, if there is one among them.

    Giving up a class takes values and other classes along: ask again until nothing is left.
    """
    found = np.flatnonzero(holders * base > people * (1 + 1e-12)).tolist()
    classes = [value for value in found if protected[value].stands_for]
    return {
        value: int(holders[value] - np.floor(people / base[value] * float(1 - clearance)))
        for value in classes[:1] or found
    }


def missing_holders(before: Counts, after: Counts) -> dict[str, int]:
    """By protected value, how many holders are not published as such after suppression."""
    fewer = before.holders - after.holders
    return {
        value.name: number
        for value, number in zip(before.protected, fewer.tolist(), strict=True)
        if number
    }


def refusal(
    before: Counts,
    base: NDArray[np.float64],
    missing: Mapping[str, int],
    plan: Plan,
    releases: int,
    hopeless: str = "",
) -> Infeasible:
    """The error for a release that cannot be made without suppression, ``releases`` being out.

    ``missing`` has the values that suppression would leave out, or did before it turned out to be
    ``hopeless``, for that reason.
    """
    holders, people = before.holders, before.people
    problems = []
    is_beyond_any_strategy = is_used_up = False
    for number, value in enumerate(before.protected):
        if value.name not in missing:
            continue
        is_beyond_any_strategy |= int(holders[number]) > people * value.threshold
        if holders[number] * base[number] > people:
            problems.append(
                f"value {value.name!r} is held by {holders[number]:,} of {people:,} people; the "
                f"target {base[number]:.2f} allows {int(people / base[number]):,}"
            )
        else:
            problems.append(
                f"value {value.name!r} does not fit: somebody has so little left of the budget for "
                "it that not even the whole table as one group would do"
            )
            is_used_up = True
    shown = problems[:20]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown):,} more values")
    changes = _changes_that_help(
        "" if is_beyond_any_strategy else plan.strategy.gentler(),
        could_add_registry=not plan.is_presence_known and people == before.present,
        is_first=releases == 0,
    )
    if is_used_up:
        changes.append("leave out the people whose budget is used up, also of the registry")
    if not hopeless:
        changes.append("leave out holders of these values with --allow-suppression")
    helping = ", or ".join(filter(None, [", ".join(changes[:-1]), *changes[-1:]]))
    return Infeasible(
        f"{len(problems):,} protected value{'s do' if len(problems) != 1 else ' does'} not fit "
        "under the guarantee",
        where=f"release {plan.label}",
        remedy="; ".join(filter(None, [helping, hopeless])),
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
