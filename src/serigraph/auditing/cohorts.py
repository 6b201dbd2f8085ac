"""Values that persist, recomputed from the ledger's parts: cohorts, retirements, published holders.

For such a value no formula of single releases is a bound. What protects it is that people of a
cohort stay together: H of the |K| people of a class were ever published as holders, and
H/(|K| - c) must not exceed the threshold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.from_ledger import thresholds_of
from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import COHORTS, HOLDERS, RETIRED, has_part, read_part
from serigraph.model import Classes, Cohorts
from serigraph.policy import Persistence
from serigraph.records import WorstPair, worst_of
from serigraph.runtime.ordering import distinct
from serigraph.short_repr import Undisclosed

_BITS = 32  # of a person's number


@dataclass(frozen=True)
class ValueClasses:
    """The classes of one value that persists, after a release."""

    value: str
    persistence: Persistence
    threshold: Fraction
    classes: int  # with a published holder
    holders: int  # ever published
    largest: Fraction  # H/(|K| - c)
    people_above: int  # in classes above the threshold


@dataclass(frozen=True)
class CohortsAfter:
    """The cohorts after a release; nothing in it names a person."""

    label: str
    known_members: int  # c
    cohorts: int  # ever formed
    people: int  # ever in one
    retired: int  # of these, never in a release again
    values: tuple[ValueClasses, ...]  # those that persist and were shown, ascending

    @property
    def mean_size(self) -> float:
        """People in a cohort, retired ones included."""
        return self.people / max(self.cohorts, 1)


class PairKind(NamedTuple):
    """Pairs of a person and a value that persists which have the same probability."""

    value: str
    threshold: Fraction
    probability: Fraction
    pairs: int
    is_open: bool  # the class may still be in a release, or retired in the latest one


@dataclass(frozen=True, repr=False)
class WorstClass(Undisclosed):
    """The worst class of a value, and one of its people by its number in the ledger."""

    person: int
    value: str
    threshold: Fraction
    size: int  # |K| - c
    holders: int


@dataclass(frozen=True, repr=False)
class AlikeAfter(Undisclosed):
    """The pairs of people and values that persist after a release, by person and together."""

    figures: CohortsAfter
    kinds: tuple[PairKind, ...]
    exposed: NDArray[np.bool_]  # of everybody: is in a class with a published holder
    above: NDArray[np.bool_]  # of everybody: is in a class above a threshold
    worst: tuple[WorstClass, ...]  # of each value

    @property
    def pairs(self) -> int:
        return sum(each.pairs for each in self.kinds)

    @property
    def touched(self) -> list[WorstPair]:
        """The classes that the release may have changed."""
        return [
            WorstPair(each.value, each.probability, each.threshold)
            for each in self.kinds
            if each.is_open
        ]

    @property
    def touched_worst(self) -> WorstPair | None:
        return worst_of(self.touched)

    @property
    def touched_largest(self) -> Fraction:
        return max((each.probability for each in self.touched), default=Fraction(0))


def alike_after_releases(
    series: Series,
    releases: Sequence[ReleaseRecord],
    thresholds: Mapping[str, Fraction] | None = None,
) -> tuple[AlikeAfter, ...]:
    """What the ledger says of values that persist, after each release; empty if none ever did.

    ``thresholds`` replace those in force after the latest release.
    """
    if not any(has_part(release, COHORTS) for release in releases):
        return ()
    found = []
    for release, known in _followed(series, releases):
        names = known.names.to_list()
        persistence = release.persistence_of(names)
        left = dict(zip(names, thresholds_of(releases, names), strict=True))
        stated = {
            name: _Stated(kind, (thresholds or {}).get(name, left[name]))
            for name, kind in sorted(zip(names, persistence, strict=True))
            if kind != "transient"
        }
        found.append(_alike(release, known, stated))
    return tuple(found)


class _Stated(NamedTuple):
    persistence: Persistence
    threshold: Fraction


@dataclass(frozen=True, repr=False)
class _Known(Undisclosed):
    """What the ledger knows after a release, by the numbers of people."""

    cohort: NDArray[np.int64]  # of everybody, or -1
    retired: NDArray[np.int64]  # the number of a release, or 0
    pair: NDArray[np.int64]  # value and person of every published holder, once
    names: pl.Series  # of the values

    def cohorts(self, persisting: Collection[str]) -> Cohorts:
        """With numbers for ids. A published holder in no cohort counts as one alone."""
        value, person = self.pair >> _BITS, self.pair & (2**_BITS - 1)
        counts = self.names.is_in(list(persisting)).to_numpy()[value]
        value, person = value[counts], person[counts]
        formed = int(self.cohort.max(initial=-1)) + 1
        alone = distinct(person[self.cohort[person] < 0])
        cohort = self.cohort.copy()
        cohort[alone] = formed + np.arange(len(alone))
        member = np.flatnonzero(cohort >= 0)
        place = np.full(len(cohort), -1, dtype=np.int64)
        place[member] = np.arange(len(member))
        return Cohorts(
            ids=pl.Series(member, dtype=pl.Int64),
            cohort=cohort[member],
            retired=self.retired[member],
            holder=place[person],
            value=self.names.gather(value),
            formed=formed,
        )


def _followed(
    series: Series, releases: Sequence[ReleaseRecord]
) -> Iterator[tuple[ReleaseRecord, _Known]]:
    """What the ledger knows after each release."""
    layout = Layout(series.path)
    people = sum(release.newcomers for release in releases)
    cohort, retired = np.full(people, -1, dtype=np.int64), np.zeros(people, dtype=np.int64)
    names, pair = pl.Series(dtype=pl.String), np.empty(0, dtype=np.int64)
    for release in releases:
        if has_part(release, COHORTS):
            joined = read_part(layout, release, COHORTS)
            cohort[joined["person"].to_numpy()] = joined["cohort"].to_numpy()
            retired[read_part(layout, release, RETIRED)["person"].to_numpy()] = release.number
        if has_part(release, HOLDERS):
            held = read_part(layout, release, HOLDERS)
            value = held["value"].cast(pl.String)
            names = pl.concat([names, value]).unique(maintain_order=True)
            code = value.cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy()
            pair = np.union1d(pair, code << _BITS | held["person"].to_numpy())
        yield release, _Known(cohort.copy(), retired.copy(), pair, names)


def _alike(release: ReleaseRecord, known: _Known, stated: Mapping[str, _Stated]) -> AlikeAfter:
    cohorts, c = known.cohorts(stated), release.known_members
    classes = Classes.of(cohorts, release.number)
    exposed, above = np.zeros((2, len(known.cohort)), dtype=np.bool_)
    number = cohorts.ids.to_numpy()
    kinds: list[PairKind] = []
    values, worst = [], []
    for name, (persistence, threshold) in stated.items():
        mine = classes.kinds(name)
        if not mine:
            continue
        holders = classes.holders[name]
        is_above = _above(classes.size, holders, threshold, c)
        exposed[number] |= (holders > 0)[classes.number]
        above[number] |= is_above[classes.number]
        kinds += [PairKind(name, threshold, e.probability(c), e.people, e.is_open) for e in mine]
        most = max(mine, key=lambda each: each.probability(c))
        values.append(
            ValueClasses(
                value=name,
                persistence=persistence,
                threshold=threshold,
                classes=sum(each.classes for each in mine),
                holders=int(holders.sum()),
                largest=most.probability(c),
                people_above=int(classes.size[is_above].sum()),
            )
        )
        is_worst = (classes.size == most.size) & (holders == most.holders)
        person = int(number[np.flatnonzero(is_worst[classes.number])[0]])
        left = max(most.size - c, most.holders)
        worst.append(WorstClass(person, name, threshold, left, most.holders))
    is_member = known.cohort >= 0
    return AlikeAfter(
        figures=CohortsAfter(
            label=release.label,
            known_members=c,
            cohorts=len(distinct(known.cohort[is_member])),
            people=int(np.count_nonzero(is_member)),
            retired=int(np.count_nonzero(known.retired)),
            values=tuple(values),
        ),
        kinds=tuple(kinds),
        exposed=exposed,
        above=above,
        worst=tuple(worst),
    )


def _above(
    size: NDArray[np.int64], holders: NDArray[np.int64], threshold: Fraction, known: int
) -> NDArray[np.bool_]:
    """Whether H > t (|K| - c), in integers."""
    kinds, place = np.unique(np.column_stack([size, holders]), axis=0, return_inverse=True)
    is_above = [
        held > 0 and held * threshold.denominator > threshold.numerator * (people - known)
        for people, held in kinds.tolist()
    ]
    return np.array(is_above, dtype=np.bool_)[place.ravel()]
