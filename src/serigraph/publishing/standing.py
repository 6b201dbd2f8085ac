"""Where a series stands: releases so far, budget spent, and pairs close to the limit."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from serigraph.errors import InputRefused
from serigraph.ledger import PastExposure, ReleaseRecord, Series, notes_on_unknown
from serigraph.model import ValueOverTime, standing
from serigraph.policy import read_policy
from serigraph.privacy.breach import breach_probability, survival
from serigraph.publishing.persistence import Assumption, notes_on_persistence
from serigraph.publishing.published import ClosestPairs, closest_pairs, threshold_left
from serigraph.short_repr import ShortRepr, at_most
from serigraph.tables import ProtectedChoice

_NAMED = 8  # protected values to list in a message


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
    """What `serigraph status` shows: counts and names of values, nothing about a person."""

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
    closest: tuple[ClosestPairs, ...]  # one per release
    over_time: tuple[ValueOverTime, ...]  # whether values persist, as far as releases tell
    notes: tuple[str, ...]  # what the publisher should attend to
    known_members: int = 0  # of every group, to the adversary; they come on top of the ratios

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
            "worst probability": self.closest[-1].in_series if self.closest else None,
            "strategy": self.strategy,
            "people": self.people,
            "people exposed": self.people_exposed,
            "pairs": self.pairs,
            "pairs near the limit": self.spent[-1],
            "notes": len(self.notes),
        }


@dataclass(frozen=True, repr=False)
class PersonHistory(ShortRepr):
    """m(o, s) of the paper: every exposure of a person to a value."""

    value: str
    threshold: Fraction
    exposures: tuple[PastExposure, ...]
    was_ever_shown: bool  # whether a group of any release held the value

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
    ledger = opened.reader()
    releases, names = ledger.releases, ledger.protected_names()
    past = ledger.history_of_all(names)
    stands = standing(past, [threshold_left(releases, policy, name) for name in names])
    strategy = policy.strategy_for(ledger.link_gaps)
    values = [
        ValueStanding(
            name=name,
            threshold=threshold_left(releases, policy, name),
            pairs=int(stands.spent[number].sum()),
            near_limit=int(stands.spent[number, -1]),
            most_links=int(np.flatnonzero(stands.links[number]).max(initial=0)),
        )
        for number, name in enumerate(names)
    ]
    kept = ledger.kept_values(names)
    over_time = kept.over_time(policy.persistence_of)
    assumption = Assumption.of(policy.frozen(), [each.summary for each in releases])
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
        over_time=over_time,
        notes=(
            *notes_on_unknown(opened.unknown_files()),
            *notes_on_persistence(assumption, kept, over_time),
        ),
        known_members=policy.guarantee.known_members,
    )


def history(
    series: str | os.PathLike[str] | Series, person: str | int, value: str
) -> PersonHistory:
    """Every exposure of a person to a protected value or class, over all releases.

    ``InputRefused`` if the value is not protected, as the ledger then has nothing about it, or if
    the ledger does not know the person. A protected value that nobody has held gives no exposures.
    """
    opened = series if isinstance(series, Series) else Series.open(Path(series))
    policy = read_policy(opened.path / "policy.toml")
    ledger = opened.reader()
    published = ledger.protected_names()
    for release in ledger.releases[-1:]:
        choice = ProtectedChoice.from_json(release.protected_json)
        classes = release.policy["protected"]["classes"]
        if not (choice.covers(value) or value in classes):
            raise _unprotected(value, choice, classes, published, str(opened.path))
    return PersonHistory(
        value=value,
        threshold=threshold_left(ledger.releases, policy, value),
        exposures=ledger.exposures(person, value),
        was_ever_shown=value in published,
    )


def _unprotected(
    value: str,
    choice: ProtectedChoice,
    classes: Collection[str],
    published: tuple[str, ...],
    where: str,
) -> InputRefused:
    names = sorted({*classes, *(choice.values if choice.rule == "only" else published)})
    near = difflib.get_close_matches(value, names, 1)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    listed = ", ".join(repr(name) for name in names[:_NAMED]) + more
    return InputRefused(
        "this value is not protected, so the ledger has nothing about it",
        where=where,
        remedy=f"did you mean {near[0]!r}?" if near else f"protected so far: {listed or 'none'}",
    )
