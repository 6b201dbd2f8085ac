"""Where a series stands: releases so far, budget used, and how many are close to the limit."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from serigraph.ledger import PastExposure, ReleaseRecord, Series
from serigraph.policy import read_policy
from serigraph.population import standing
from serigraph.privacy.breach import breach_probability, survival
from serigraph.publishing.worst_pairs import ClosestPairs, closest_pairs
from serigraph.short_repr import ShortRepr, at_most


@dataclass(frozen=True)
class ValueStanding:
    """One protected value: pairs that were ever linked, and pairs near or at their limit."""

    name: str
    threshold: Fraction
    pairs: int
    near_limit: int  # more than nine tenths of the budget spent
    most_links: int


@dataclass(frozen=True, repr=False)
class Status(ShortRepr):
    """What `serigraph status` shows. Counts and names of values, nothing of a person."""

    path: Path
    releases: tuple[ReleaseRecord, ...]
    threshold: Fraction
    strategy: str
    people: int
    people_exposed: int
    pairs: int
    spent: tuple[int, ...]  # pairs by tenth of the budget spent
    values: tuple[ValueStanding, ...]  # most spent first
    ratios: tuple[float, ...]  # members required per holder at the 1st, 2nd, ... exposure
    closest: tuple[ClosestPairs, ...]  # of each release, to their thresholds

    def _facts(self) -> dict[str, object]:
        return {
            "series": self.path,
            "releases": ", ".join(
                [
                    str(len(self.releases)),
                    *(f"the last {each.label}" for each in self.releases[-1:]),
                ]
            ),
            "threshold": self.threshold,
            "largest probability": self.closest[-1].in_series if self.closest else None,
            "strategy": self.strategy,
            "people": self.people,
            "people exposed": self.people_exposed,
            "pairs": self.pairs,
            "pairs near the limit": self.spent[-1],
        }


@dataclass(frozen=True, repr=False)
class PersonHistory(ShortRepr):
    """m(o, s) of the paper: every exposure of a person to a value."""

    value: str
    threshold: Fraction
    exposures: tuple[PastExposure, ...]

    @property
    def survival(self) -> Fraction:
        return survival([each.exposure for each in self.exposures])

    @property
    def probability(self) -> Fraction:
        return breach_probability([each.exposure for each in self.exposures])

    def _facts(self) -> dict[str, object]:
        return {
            "value": self.value,
            "exposures": len(self.exposures),
            "probability": at_most(self.probability, self.threshold),
        }


def status(series: str | os.PathLike[str] | Series) -> Status:
    """Where a series stands now."""
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    policy = read_policy(opened.path / "policy.toml")
    releases = opened.releases()
    names = opened.protected_names()
    past = opened.history(opened.people()["id"], names)
    stands = standing(past, [policy.threshold_of(name) for name in names])
    strategy = policy.strategy_for(opened.link_gaps)
    values = [
        ValueStanding(
            name=name,
            threshold=policy.threshold_of(name),
            pairs=int(stands.spent[number].sum()),
            near_limit=int(stands.spent[number, -1]),
            most_links=int(np.flatnonzero(stands.links[number]).max(initial=0)),
        )
        for number, name in enumerate(names)
    ]
    return Status(
        path=opened.path,
        releases=releases,
        threshold=policy.threshold,
        strategy=strategy.describe(),
        people=len(stands.largest_by_person),
        people_exposed=int((stands.largest_by_person > 0).sum()),
        pairs=stands.pairs,
        spent=tuple(int(number) for number in stands.spent.sum(axis=0)),
        values=tuple(sorted(values, key=lambda each: (-each.near_limit, -each.pairs, each.name))),
        ratios=strategy.preview(policy.threshold, 20),
        closest=closest_pairs(opened, releases),
    )


def history(
    series: str | os.PathLike[str] | Series, person: str | int, value: str
) -> PersonHistory:
    """Every exposure of a person to a protected value, over all releases."""
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    policy = read_policy(opened.path / "policy.toml")
    return PersonHistory(value, policy.threshold_of(value), opened.exposures(person, value))
