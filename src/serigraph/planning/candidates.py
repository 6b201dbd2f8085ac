"""The strategies that a plan compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from serigraph.policy import Policy
from serigraph.privacy.schedules import SMALLEST_CHANCE
from serigraph.privacy.strategies import ConstantRatio, Geometric, OptimalSchedule, Strategy


@dataclass(frozen=True)
class Candidate:
    """One strategy under one threshold."""

    threshold: Fraction
    strategy: Strategy
    is_policy: bool = False

    @property
    def name(self) -> str:
        own = " (the policy's)" if self.is_policy else ""
        return f"{self.strategy.describe()}, threshold {self.threshold}{own}"

    @property
    def short_name(self) -> str:
        """The name as a legend has it."""
        match self.strategy:
            case ConstantRatio(releases=releases):
                what = f"constant for {releases}"
            case Geometric(factor=factor):
                what = f"geometric {factor}"
            case OptimalSchedule(link_chances=chances):
                what = f"schedule for {len(chances)}"
        replanned = "" if self.strategy.replan else " as planned"
        return f"{what}{replanned}, threshold {self.threshold}"


def candidates(
    policy: Policy,
    in_force: Strategy,
    *,
    releases: int,
    return_rate: float,
    thresholds: Sequence[Fraction],
    lengths: Sequence[int],
    factors: Sequence[Fraction],
) -> tuple[Candidate, ...]:
    """The policy's own strategy first, then every combination that is asked for.

    Where nothing is asked for: a constant ratio for so many ``releases``, the paper's geometric
    strategy, and the schedule that is optimal if people come back at the return rate.
    """
    chances = tuple(max(return_rate**link, SMALLEST_CHANCE) for link in range(releases))
    strategies: list[Strategy] = [
        *(ConstantRatio(each) for each in (lengths or [releases])),
        *(Geometric(each) for each in (factors or [Fraction(2)])),
        OptimalSchedule(chances),
    ]
    found = [Candidate(policy.threshold, in_force, is_policy=True)]
    known = {(policy.threshold, in_force.to_text())}
    for threshold in thresholds or [policy.threshold]:
        for strategy in strategies:
            key = (threshold, strategy.to_text())
            if key not in known:
                known.add(key)
                found.append(Candidate(threshold, strategy))
    return tuple(found)
