"""The strategies that a plan compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pydantic import ValidationError

from serigraph.arguments import exactly
from serigraph.errors import InputRefused
from serigraph.policy import Policy
from serigraph.policy.strategy import (
    AdaptiveStrategy,
    ConstantStrategy,
    GeometricStrategy,
    ScheduleStrategy,
    StrategyForm,
)
from serigraph.privacy.link_chances import LinkGaps
from serigraph.privacy.strategies import Strategy
from serigraph.privacy.thresholds import parse_threshold

Threshold = int | float | str | Fraction  # as people type it

_DIGITS = 6  # of a chance, to keep the section readable


@dataclass(frozen=True)
class Candidate:
    """One [strategy] section under one threshold, and its strategy."""

    threshold: Fraction
    section: StrategyForm
    strategy: Strategy
    is_policy: bool = False

    @property
    def name(self) -> str:
        own = " (the policy's)" if self.is_policy else ""
        return f"{self.strategy.describe()}, threshold {self.threshold}{own}"

    @property
    def short_name(self) -> str:
        """The name for a legend."""
        return f"{self.strategy.short_name()}, threshold {self.threshold}"

    @property
    def toml(self) -> str:
        """The section to put into the policy file."""
        return self.section.toml()


def candidates(
    policy: Policy,
    links: Callable[[], LinkGaps],
    shares: Mapping[str, float],
    *,
    releases: int,
    return_rate: float,
    thresholds: Sequence[Threshold],
    lengths: Sequence[int],
    factors: Sequence[int | float | str | Fraction],
) -> tuple[Candidate, ...]:
    """The policy's own strategy first, then every combination given.

    By default: the adaptive strategy and a constant ratio for all ``releases`` of the series, the
    paper's geometric strategy, and the schedule that is optimal at the return rate. ``links`` and
    ``shares`` are what the adaptive strategy looks at.
    """
    chances = [round(max(return_rate**link, 10.0**-_DIGITS), _DIGITS) for link in range(releases)]
    sections: list[StrategyForm] = [
        _section(AdaptiveStrategy, name="adaptive", releases=releases),
        *(_section(ConstantStrategy, releases=each) for each in (lengths or [releases])),
        *(
            _section(GeometricStrategy, name="geometric", factor=exactly(each))
            for each in (factors or [2])
        ),
        _section(ScheduleStrategy, name="schedule", link_chances=chances),
    ]
    in_force = policy.strategy_for(links, shares)
    found = [Candidate(policy.threshold, policy.strategy, in_force, is_policy=True)]
    known = {(policy.threshold, in_force.to_text())}
    for threshold in [_threshold(each) for each in thresholds] or [policy.threshold]:
        for section in sections:
            strategy = section.strategy(links, shares)
            key = (threshold, strategy.to_text())
            if key not in known:
                known.add(key)
                found.append(Candidate(threshold, section, strategy))
    return tuple(found)


def _threshold(given: Threshold) -> Fraction:
    """The threshold that was typed: of a float, the shortest decimal number that is this float.

    >>> _threshold(0.3), _threshold("1/3"), _threshold(3)
    (Fraction(3, 10), Fraction(1, 3), Fraction(1, 3))
    """
    try:
        return parse_threshold(exactly(given))
    except (TypeError, ValueError) as error:
        raise InputRefused(
            f"a plan cannot compare the threshold {given!r}: {error}",
            remedy="correct thresholds (--l)",
        ) from None


def _section(kind: type[StrategyForm], **given: object) -> StrategyForm:
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        (first, *_) = error.errors()
        key = ".".join(str(part) for part in first["loc"][:1])
        names = {"releases": "lengths (--k)", "factor": "factors (--alpha)"}
        raise InputRefused(
            f"a plan cannot compare {key} = {given[key]!r}: "
            + first["msg"].removeprefix("Value error, "),
            remedy=f"correct {names[key]}",
        ) from None
