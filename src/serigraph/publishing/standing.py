"""Where a series stands: releases so far, budget spent, and pairs close to the limit."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from serigraph.charts import figure
from serigraph.errors import InputRefused
from serigraph.ledger import PastExposure, Reader, ReleaseRecord, Series, notes_on_unknown
from serigraph.ledger.parts import COHORTS, has_part
from serigraph.model import ValueOverTime, standing
from serigraph.policy import Persistence, Policy, read_policy
from serigraph.policy.classes import ProtectedClasses
from serigraph.privacy.alikeness import crowd_probability
from serigraph.privacy.breach import breach_probability
from serigraph.publishing.persistence import Assumption, notes_on_persistence
from serigraph.publishing.published import ClosestPairs, closest_pairs, threshold_left
from serigraph.risk_charts import budget_chart, closeness_chart
from serigraph.short_repr import ShortRepr, at_most
from serigraph.tables import ProtectedChoice

if TYPE_CHECKING:
    from serigraph.auditing.cohorts import CohortsAfter

_NAMED = 8  # protected values to list in a message


@dataclass(frozen=True)
class ValueStanding:
    """One transient value: pairs that were ever linked, and pairs near or at their limit."""

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
    drafts: tuple[str, ...] = ()  # names of those that are neither published nor discarded
    known_members: int = 0  # of every group, to the adversary; they come on top of the ratios
    cohorts: CohortsAfter | None = None  # after the latest release, if values persist

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

    def _pictures(self) -> str:
        if not self.releases:
            return ""
        labels = [each.label for each in self.releases]
        worst = [each.in_series for each in self.closest]
        return figure([closeness_chart(labels, worst), budget_chart(self.spent)])


@dataclass(frozen=True)
class Alike:
    """The people whom the series treats like a person, the person included."""

    people: int  # |K|
    holders: int  # H: ever published as such
    known_members: int  # c


@dataclass(frozen=True, repr=False)
class PersonHistory(ShortRepr):
    """m(o, s) of the paper: every exposure of a person to a value. If the value persists, what
    counts is how many of the people who are ``alike`` were published as holders."""

    value: str
    threshold: Fraction
    exposures: tuple[PastExposure, ...]
    was_ever_shown: bool  # whether a group of any release held the value
    persistence: Persistence = "transient"
    alike: Alike | None = None  # None if the value is transient, or the person is in no cohort
    caveat: str = ""  # what nobody has stated of a transient value, or has overridden

    @property
    def survival(self) -> Fraction:
        return 1 - self.probability

    @property
    def probability(self) -> Fraction:
        if self.persistence == "transient":
            return breach_probability([each.exposure for each in self.exposures])
        if self.alike is None:
            return Fraction(0)
        return crowd_probability(self.alike.holders, self.alike.people, self.alike.known_members)

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
    releases, names = ledger.releases, ledger.transient_names()
    if releases:
        policy = policy.in_series(releases[-1].strategy)
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
    kept = ledger.kept_values(ledger.protected_names())
    over_time = kept.over_time(policy.persistence_of)
    assumption = Assumption.of(policy.frozen(), [each.summary for each in releases])
    is_exposed, cohorts = stands.largest_by_person > 0, None
    if any(has_part(release, COHORTS) for release in releases):
        from serigraph.auditing.cohorts import alike_after_releases

        latest = alike_after_releases(opened, releases)[-1]
        is_exposed, cohorts = is_exposed | latest.exposed, latest.figures
    return Status(
        path=opened.path,
        releases=releases,
        threshold=policy.threshold,
        strategy=strategy.describe(),
        people=len(stands.largest_by_person),
        people_exposed=int(is_exposed.sum()),
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
        drafts=opened.drafts(),
        known_members=policy.guarantee.known_members,
        cohorts=cohorts,
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
        classes = ProtectedClasses(release.policy)
        if not (choice.covers(value) or value in classes):
            raise _unprotected(value, choice, classes.listed, published, str(opened.path))
    assumption = Assumption.of(policy.frozen(), [each.summary for each in ledger.releases])
    is_transient = policy.persistence_of(value) == "transient"
    return PersonHistory(
        value=value,
        threshold=threshold_left(ledger.releases, policy, value),
        exposures=ledger.exposures(person, value),
        was_ever_shown=value in published,
        persistence=policy.persistence_of(value),
        alike=None if is_transient else _alike(ledger, person, value, policy),
        caveat=assumption.caveat_of(value, policy.stated_persistence) if is_transient else "",
    )


def _alike(ledger: Reader, person: str | int, value: str, policy: Policy) -> Alike | None:
    found = ledger.alike(person, value)
    return None if found is None else Alike(*found, policy.guarantee.known_members)


def _unprotected(
    value: str,
    choice: ProtectedChoice,
    classes: Collection[str],
    published: tuple[str, ...],
    where: str,
) -> InputRefused:
    names = sorted({*classes, *choice.listed, *published})
    near = difflib.get_close_matches(value, names, 1)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    listed = ", ".join(repr(name) for name in names[:_NAMED]) + more
    return InputRefused(
        "this value is not protected, so the ledger has nothing about it",
        where=where,
        remedy=f"did you mean {near[0]!r}?" if near else f"protected so far: {listed or 'none'}",
    )
