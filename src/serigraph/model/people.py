"""The people of one release, as arrays: everybody in the table and in the registry.

A quasi-identifier is an ordered domain of codes. Numbers and dates are ordered by size, taxonomy
leaves in depth-first order, other categories by name. Every region of a release is then a box of
code intervals, whatever the columns are.

A missing value is a value like any other: it has code 0 if the column has any, it lies apart from
all others, and no interval that holds it together with other codes counts as narrow.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.model.kinds import KINDS, Kind
from serigraph.model.taxonomy import Taxonomy
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True, repr=False)
class Domain(Undisclosed):
    """The values that one quasi-identifier takes, in code order."""

    name: str
    kind: Kind
    values: pl.Series  # the value of each code; null at code 0 if the column has missing values
    taxonomy: Taxonomy | None = None

    @property
    def is_scale(self) -> bool:
        return KINDS[self.kind].is_scale

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def has_missing(self) -> bool:
        return self.size > 0 and self.values[0] is None

    def positions(self) -> NDArray[np.float64]:
        """Where each code lies on a scale on which the known values span 0 to 1."""
        known = self.values.slice(1) if self.has_missing else self.values
        if self.is_scale:
            at = known.to_physical().cast(pl.Float64).to_numpy().astype(np.float64)
        else:
            at = np.arange(len(known), dtype=np.float64)
        span = float(at[-1] - at[0]) if len(at) > 1 else 0.0
        scaled = (at - at[0]) / span if span > 0 else np.zeros(len(at))
        return np.concatenate([[-1.0], scaled]) if self.has_missing else scaled

    def divergences(self) -> NDArray[np.int32]:
        """For each boundary between codes i and i+1, how deep in the taxonomy it lies.

        A region may be cut only at its shallowest boundaries, so that it stays a union of siblings.
        Without a taxonomy all boundaries are alike; the one beside a missing value is shallowest.
        """
        known = self.size - self.has_missing
        if self.taxonomy is not None:
            inner = self.taxonomy.divergence
        else:
            inner = np.zeros(max(known - 1, 0), dtype=np.int32)
        if self.has_missing and known > 0:
            return np.concatenate([np.array([-1], dtype=np.int32), inner])
        return inner


@dataclass(frozen=True)
class ProtectedValue:
    """A value, or a class of values, that the guarantee covers.

    ``stands_for`` lists the published values of a class; a value stands for itself.
    """

    name: str
    threshold: Fraction
    stands_for: tuple[str, ...] = ()
    persistence: Literal["transient", "permanent", "any"] = "transient"

    @property
    def persists(self) -> bool:
        """Whether the promise for it must not depend on how it changes over time."""
        return self.persistence != "transient"

    def covers(self) -> frozenset[str]:
        """The published values that count as this one."""
        return frozenset(self.stands_for or (self.name,))


@dataclass(frozen=True, repr=False)
class CodedValues(Undisclosed):
    """Everybody's values as codes, in the order of the people."""

    person: NDArray[np.int64]
    code: NDArray[np.uint32]
    names: pl.Series  # by code, ascending; some may have no holder

    @staticmethod
    def of(value_sets: pl.Series) -> CodedValues:
        """From one list per person: of text, or of an Enum with its names in order."""
        lengths = value_sets.list.len().fill_null(0).to_numpy()
        flat = value_sets.drop_nulls().explode(empty_as_null=False)
        if lengths.max(initial=0) <= 1:
            person = np.flatnonzero(lengths)
        else:
            person = np.repeat(np.arange(len(value_sets)), lengths)
        kind = flat.dtype if isinstance(flat.dtype, pl.Enum) else pl.Enum(flat.unique().sort())
        return CodedValues(
            person=person,
            code=flat.cast(kind).to_physical().to_numpy().astype(np.uint32),
            names=kind.categories,
        )


@dataclass(frozen=True, repr=False)
class Population(Undisclosed):
    """One entry per person; everything is indexed by the person's place 0..N-1 in ``ids``.

    Only ``values`` has no entry for absent people: it holds what is published about those present
    (protected or not, an empty list if a person has no value). ``held`` is the same restricted to
    what is protected, as indices into ``protected``, classes included: person i holds
    ``held[held_start[i]:held_start[i+1]]``, without repetition.
    """

    ids: pl.Series  # Int64 or String, unique, ascending
    present: NDArray[np.bool_]
    domains: tuple[Domain, ...]
    codes: NDArray[np.int32]  # [column, person]
    protected: tuple[ProtectedValue, ...]  # ascending by name; only values that somebody holds
    held_start: NDArray[np.int64]
    held: NDArray[np.int32]
    values: pl.Series  # of present people: List(String), or List(Enum) with ascending categories
    digest: str  # of the table's content, independent of its file format and row order
    outside_registry: int = 0  # people in the table whom the registry does not list
    plain: pl.DataFrame = field(default_factory=pl.DataFrame)  # of present people, as published
    keeps_records_whole: bool = False  # what is left of a record would tell what was suppressed

    def __post_init__(self) -> None:
        n = len(self.ids)
        if not (
            len(self.present) == n == len(self.held_start) - 1
            and len(self.values) == np.count_nonzero(self.present)
            and (self.plain.width == 0 or self.plain.height == len(self.values))
            and self.codes.shape == (len(self.domains), n)
            and (n == 0 or int(self.held_start[-1]) == len(self.held))
        ):
            raise ImpossibleState("the arrays of a population do not fit each other")

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def protected_names(self) -> list[str]:
        return [value.name for value in self.protected]

    def records(self) -> NDArray[np.int64]:
        """The places of the people present, ascending, in the order of ``values``."""
        if len(self.values) == self.size:
            return np.arange(self.size)
        return np.flatnonzero(self.present)

    def _plain_where(self, kept: NDArray[np.bool_]) -> pl.DataFrame:
        return self.plain.filter(pl.Series(kept)) if self.plain.width else self.plain

    def held_names(self) -> pl.Series:
        """The values, protected or not, that somebody holds, ascending, as text."""
        held = self.values.filter(self.values.list.len() > 0).explode()
        return held.unique().cast(pl.String).sort()

    def subset(self, kept: NDArray[np.bool_]) -> Population:
        """The same release with only some of the people."""
        places = np.flatnonzero(kept)
        lengths = np.diff(self.held_start)
        return replace(
            self,
            ids=self.ids.gather(places),
            present=self.present[kept],
            codes=np.ascontiguousarray(self.codes[:, kept]),
            held_start=np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64),
            held=self.held[np.repeat(kept, lengths)],
            values=self.values.filter(pl.Series(kept[self.records()])),
            plain=self._plain_where(kept[self.records()]),
        )

    def protecting(self, kept: NDArray[np.bool_]) -> Population:
        """The same people and values, of which only some are protected."""
        number = np.cumsum(kept) - 1
        is_held = kept[self.held]
        start = np.concatenate([[0], np.cumsum(is_held)])[self.held_start]
        return replace(
            self,
            protected=tuple(
                value for value, stays in zip(self.protected, kept, strict=True) if stays
            ),
            held_start=start.astype(np.int64),
            held=number[self.held[is_held]].astype(np.int32),
        )

    def without_records(self, hidden: NDArray[np.bool_]) -> Population:
        """The same people, some of them without their record: they stay as absent members."""
        present = self.present & ~hidden
        lengths = np.where(present, np.diff(self.held_start), 0)
        return replace(
            self,
            present=present,
            held_start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            held=self.held[np.repeat(present, np.diff(self.held_start))],
            values=self.values.filter(pl.Series(present[self.records()])),
            plain=self._plain_where(present[self.records()]),
        )

    def without_plain_cells(self, people: NDArray[np.int64]) -> Population:
        """The same, with empty plain cells in the records of some people."""
        if not self.plain.width:
            return self
        is_shown = np.ones(self.size, dtype=np.bool_)
        is_shown[people] = False
        shown = pl.lit(pl.Series(is_shown[self.records()]))
        return replace(self, plain=self.plain.with_columns(pl.when(shown).then(pl.all())))

    def without(self, person: NDArray[np.int64], value: NDArray[np.int32]) -> Population:
        """The population after pairs of a person and a protected value were suppressed.

        A suppressed value leaves no trace: it is taken out of the person's set, and a person whose
        set becomes empty no longer has a record, but stays in place as an absent member. Where
        the rest of a record would be a trace, because it has other columns, all of it goes.
        """
        covers = [each.covers() for each in self.protected]
        taken: dict[int, set[str]] = {}
        for i, v in zip(person.tolist(), value.tolist(), strict=True):
            taken.setdefault(i, set()).update(covers[v])
        if not taken:
            return self
        if self.keeps_records_whole:
            hidden = np.zeros(self.size, dtype=np.bool_)
            hidden[list(taken)] = True
            return self.without_records(hidden)
        places = np.array(sorted(taken), dtype=np.int64)
        records = self.records()
        entries = np.searchsorted(records, places)
        left = [
            [each for each in held if each not in taken[place]]
            for place, held in zip(places.tolist(), self.values.gather(entries), strict=True)
        ]
        return self.with_values(places, left)

    def with_values(self, places: NDArray[np.int64], left: list[list[str]]) -> Population:
        """The population in which some people, all of them present, have fewer values: those whose
        set is empty no longer have a record, but stay in place as absent members."""
        covers = [each.covers() for each in self.protected]
        records = self.records()
        entries = np.searchsorted(records, places)
        present = self.present.copy()
        present[places] = [bool(each) for each in left]
        kept = np.ones(len(self.held), dtype=np.bool_)
        for place, rest in zip(places.tolist(), left, strict=True):
            for entry in range(int(self.held_start[place]), int(self.held_start[place + 1])):
                kept[entry] = not covers[int(self.held[entry])].isdisjoint(rest)
        holder = np.repeat(np.arange(self.size), np.diff(self.held_start))[kept]
        lengths = np.bincount(holder, minlength=self.size)
        changed = pl.Series(left, dtype=self.values.dtype)
        source = np.arange(len(records))
        source[entries] = len(records) + np.arange(len(places))
        return replace(
            self,
            present=present,
            held_start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            held=self.held[kept],
            values=pl.concat([self.values, changed]).gather(source[present[records]]),
            plain=self._plain_where(present[records]),
        )
