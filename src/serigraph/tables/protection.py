"""Which of the values in a table are protected, and who holds them."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import CodedValues, ProtectedValue, starts_of
from serigraph.policy import Policy
from serigraph.privacy.gaps import threshold_left
from serigraph.short_repr import Undisclosed
from serigraph.texts import composed, in_one_form, qualified, qualifier, unqualified


@dataclass(frozen=True, slots=True)
class ProtectedChoice:
    """What the policy's rule came to in the first release, for the ledger to keep.

    ``rule`` says whether ``values`` are the only protected ones, or the only ones that are not;
    by "all but", a value that turns up later is protected.

    >>> choice = ProtectedChoice.from_json('{"rule": "all but", "values": ["flu"]}')
    >>> choice.covers("flu"), choice.covers("gout")
    (False, True)
    >>> choice.to_json()
    '{"rule": "all but", "values": ["flu"]}'

    If there are several sensitive columns, each has a choice of its own, and values have qualified
    names; see ``serigraph.texts``.

    >>> both = ProtectedChoice.of_columns({"diagnosis": choice})
    >>> both.covers("diagnosis: gout"), both.covers("gout")
    (True, False)

    Gaps are what suppression has revealed so far: for each value concerned, the survival that they
    leave to everybody. They lower the threshold that is left for groups.

    >>> choice.with_gaps({"gout": Fraction(1, 4)}).threshold_left("gout", Fraction(1, 2))
    Fraction(1, 3)
    """

    rule: Literal["only", "all but"]
    values: tuple[str, ...]  # ascending
    gap_survival: tuple[tuple[str, Fraction], ...] = ()  # ascending by value
    columns: tuple[tuple[str, ProtectedChoice], ...] = ()  # ascending by name

    @staticmethod
    def of_columns(columns: Mapping[str, ProtectedChoice]) -> ProtectedChoice:
        """The choice of several sensitive columns."""
        return ProtectedChoice("only", (), columns=tuple(sorted(columns.items())))

    def of_column(self, column: str) -> ProtectedChoice:
        """The choice of one of the columns, for values without qualified names."""
        return dict(self.columns).get(column, self)

    @property
    def named(self) -> tuple[str, ...]:
        """The values that the choice lists, protected or not, ascending."""
        found = [qualified(name, value) for name, own in self.columns for value in own.values]
        return tuple(sorted((*self.values, *found)))

    @property
    def listed(self) -> tuple[str, ...]:
        """The values that it lists as protected."""
        return tuple(name for name in self.named if self.covers(name))

    def __post_init__(self) -> None:
        if self.rule not in ("only", "all but") or list(self.values) != sorted(set(self.values)):
            raise ValueError("a choice needs a known rule and ascending values")

    def covers(self, value: str) -> bool:
        """Whether the guarantee covers a value."""
        if self.columns:
            column, own = unqualified(value)
            return any(name == column and choice.covers(own) for name, choice in self.columns)
        place = bisect_left(self.values, value)
        is_listed = place < len(self.values) and self.values[place] == value
        return is_listed == (self.rule == "only")

    def threshold_left(self, value: str, threshold: Fraction) -> Fraction:
        """The part of a value's or class's threshold that groups may spend."""
        return threshold_left(threshold, dict(self.gap_survival).get(value, Fraction(1)))

    def with_gaps(self, risks: Mapping[str, Fraction]) -> ProtectedChoice:
        """The choice after a release with gaps, by value the largest chance to be in one."""
        survival = dict(self.gap_survival)
        for value, risk in risks.items():
            survival[value] = survival.get(value, Fraction(1)) * (1 - risk)
        return replace(self, gap_survival=tuple(sorted(survival.items())))

    def to_json(self) -> str:
        stored: dict[str, object] = {"rule": self.rule, "values": self.values}
        if self.columns:
            stored = {"columns": {name: json.loads(own.to_json()) for name, own in self.columns}}
        if self.gap_survival:
            stored["gap_survival"] = {value: str(left) for value, left in self.gap_survival}
        return json.dumps(stored, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> ProtectedChoice:
        """The choice again, with names in the form that tables are read in."""
        stored = json.loads(text)
        columns = {
            name: ProtectedChoice.from_json(json.dumps(own))
            for name, own in stored.pop("columns", {}).items()
        }
        stored = {"rule": "only", "values": [], **stored}
        values = composed(pl.Series(stored["values"], dtype=pl.String))
        survival: dict[str, Fraction] = {}
        for value, left in stored.get("gap_survival", {}).items():
            name = in_one_form(value)
            survival[name] = survival.get(name, Fraction(1)) * Fraction(left)
        return ProtectedChoice(
            stored["rule"],
            tuple(sorted(set(values))),
            tuple(sorted(survival.items())),
            tuple(sorted(columns.items())),
        )


def holders_of(values: CodedValues) -> pl.DataFrame:
    """Every ``value`` that somebody has, and how many ``people`` have it."""
    people = np.bincount(values.code, minlength=len(values.names))
    return pl.DataFrame({"value": values.names, "people": people}).filter(pl.col("people") > 0)


def choose(policy: Policy, people: pl.DataFrame) -> ProtectedChoice:
    """What the policy's rule comes to, given how many people have each value.

    The rarest share is counted in distinct values, rounded up; of equally rare values those first
    by name are taken.
    """
    if policy.has_several_columns:
        return ProtectedChoice.of_columns(
            {
                name: choose(policy.of_column(name), holders_in(people, name))
                for name in policy.sensitive_columns
            }
        )
    chosen = policy.protected
    if chosen.rarest is not None:
        number = math.ceil(chosen.rarest * people.height)
        common = people.sort("people", "value")["value"].slice(number)
        return ProtectedChoice("all but", tuple(common.sort().to_list()))
    if chosen.file is not None:
        return ProtectedChoice("only", tuple(sorted(set(policy.listed_in_file))))
    if chosen.excepted or chosen.values == "all":
        return ProtectedChoice("all but", tuple(sorted(set(chosen.excepted))))
    return ProtectedChoice("only", tuple(sorted(set(chosen.values))))


def named_by_itself(policy: Policy, choice: ProtectedChoice) -> set[str]:
    """The values that the policy spells out, apart from members of classes."""
    if policy.has_several_columns:
        return {
            qualified(column, name)
            for column in policy.sensitive_columns
            for name in named_by_itself(policy.of_column(column), choice.of_column(column))
        }
    own = {name for name in policy.protected.thresholds if name not in policy.protected.classes}
    return own if policy.protected.rarest is not None else own.union(choice.values)


def holders_in(holders: pl.DataFrame, column: str) -> pl.DataFrame:
    """Those of the ``holders`` of qualified values whose value is in a column, without its name."""
    before = qualifier(column)
    own = holders.filter(pl.col("value").str.starts_with(before))
    return own.with_columns(pl.col("value").str.strip_prefix(before))


@dataclass(frozen=True)
class Holdings:
    """The protected values that somebody holds, and who does; see ``Population``."""

    protected: tuple[ProtectedValue, ...]
    start: NDArray[np.int64]
    held: NDArray[np.int32]


@dataclass(frozen=True, repr=False)
class Protection(Undisclosed):
    """What the values of a release are protected as."""

    protected: tuple[ProtectedValue, ...]  # ascending by name
    counted_as: pl.DataFrame  # for each ``value`` every ``name`` that it counts as


def protection_of(policy: Policy, choice: ProtectedChoice, held: pl.Series) -> Protection:
    """The protected values and classes that the distinct values ``held`` count as."""
    counted_as = _counted_as(policy, choice, held)
    members = policy.class_rules.members(held.to_list())
    return Protection(
        protected=tuple(
            ProtectedValue(
                name,
                choice.threshold_left(name, policy.threshold_of(name)),
                members.get(name, ()),
                policy.persistence_of(name),
            )
            for name in counted_as["name"].unique().sort()
        ),
        counted_as=counted_as,
    )


def holdings(policy: Policy, choice: ProtectedChoice, values: CodedValues, people: int) -> Holdings:
    """Who holds which protected value or class, for names that somebody holds."""
    return holdings_under(protection_of(policy, choice, values.names), values, people)


def holdings_under(protection: Protection, values: CodedValues, people: int) -> Holdings:
    """Who holds which of the given protected values and classes."""
    distinct = values.names
    counted_as = protection.counted_as.filter(pl.col("value").is_in(distinct.implode()))
    names = pl.Series([value.name for value in protection.protected], dtype=pl.String)
    # For the code of each value the protected names that it counts as.
    value_code = np.searchsorted(distinct.to_numpy(), counted_as["value"].to_numpy())
    name_code = np.searchsorted(names.to_numpy(), counted_as["name"].to_numpy())
    itself = counted_as["value"].eq(counted_as["name"]).to_numpy()
    stands_for = np.full(len(distinct), -1, dtype=np.int32)
    stands_for[value_code[itself]] = name_code[itself]
    held_by, held = values.person, stands_for[values.code].astype(np.int64)
    if not (stands_for >= 0).all():
        is_protected = held >= 0
        held_by, held = held_by[is_protected], held[is_protected]
    if not itself.all():
        in_classes = _in_classes(values, value_code[~itself], name_code[~itself])
        held_by, held = _distinct_pairs(
            np.concatenate([held_by, in_classes[0]]), np.concatenate([held, in_classes[1]])
        )
    start = starts_of(held_by, people)
    return Holdings(protection.protected, start, held.astype(np.int32, copy=False))


_Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def _in_classes(
    values: CodedValues, value_code: NDArray[np.int64], class_code: NDArray[np.int64]
) -> _Pairs:
    """Every person with every class of each of the person's values, given pairs of the two."""
    order = np.argsort(value_code, kind="stable")
    number = np.bincount(value_code, minlength=len(values.names))
    first = np.cumsum(number) - number
    times = number[values.code]
    nth = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    place = np.repeat(first[values.code], times) + nth
    return np.repeat(values.person, times), class_code[order][place]


def _distinct_pairs(person: NDArray[np.int64], name: NDArray[np.int64]) -> _Pairs:
    """Each pair once, ascending."""
    number = int(name.max(initial=0)) + 1
    words = np.sort(person * number + name)
    words = words[np.concatenate([[True], words[1:] != words[:-1]])[: len(words)]]
    return words // number, words % number


def _counted_as(policy: Policy, choice: ProtectedChoice, held: pl.Series) -> pl.DataFrame:
    """For each value that somebody holds, the protected names (itself, classes) it counts as."""
    pairs = [(value, value) for value in held if choice.covers(value)]
    pairs += policy.class_rules.counted_as(held.to_list())
    return pl.DataFrame(pairs, schema={"value": pl.String, "name": pl.String}, orient="row")
