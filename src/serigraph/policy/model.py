"""The policy of a series: what its columns are, what is promised, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Discriminator, Field, Tag

from serigraph.errors import ImpossibleState
from serigraph.policy import several
from serigraph.policy.classes import ProtectedClasses
from serigraph.policy.sections import (
    DEFAULT,
    UNSTATED,
    Attacks,
    ClassAcross,
    ColumnName,
    Guarantee,
    Missing,
    Output,
    Persistence,
    Person,
    Place,
    Protected,
    Publisher,
    QuasiIdentifier,
    Reading,
    Section,
    Sensitive,
    SensitiveColumn,
    Signing,
    Suppression,
    Value,
    persistence_of,
)
from serigraph.policy.strategy import AdaptiveStrategy, ConstantStrategy, StrategySection
from serigraph.privacy.alikeness import smallest_crowd
from serigraph.privacy.link_chances import LinkGaps
from serigraph.privacy.strategies import Strategy
from serigraph.privacy.thresholds import threshold_text
from serigraph.texts import qualified

_ROOM = 4  # holders of a value in a cohort
PlainKind = Literal["numeric", "date", "text"]
MOST_QUASI_IDENTIFIERS = 100  # with more, grouping is slow and nobody has neighbours


class PolicyForm(Section):
    """A policy file as written: every key that a publisher may use."""

    version: Literal[1]
    person: Person
    quasi_identifiers: Annotated[
        dict[ColumnName, QuasiIdentifier], Field(min_length=1, max_length=MOST_QUASI_IDENTIFIERS)
    ]
    sensitive: Annotated[
        Annotated[Sensitive, Tag(several.ONE)]
        | Annotated[dict[ColumnName, SensitiveColumn], Tag(several.SEVERAL)],
        Discriminator(several.number_of_columns),
    ]
    protected: Protected = Protected()
    classes: dict[Value, ClassAcross] = Field(default_factory=dict)
    plain: dict[ColumnName, PlainKind] = Field(default_factory=dict)
    guarantee: Guarantee
    strategy: StrategySection = AdaptiveStrategy()
    output: Output = Output()
    suppression: Suppression = Suppression()
    missing: Missing = Missing()
    reading: Reading = Reading()
    attacks: Attacks = Attacks()
    signing: Signing = Signing()
    publisher: Publisher = Publisher()

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
        return several.contradictions(given)


class _Flat(NamedTuple):
    """What is protected, by names that the columns of a policy share."""

    classes: Mapping[str, tuple[str, ...]]
    thresholds: Mapping[str, Fraction]
    persistence: Mapping[str, Persistence]


class Policy(PolicyForm):
    """A policy with the files that it refers to. Made by ``read_policy``."""

    folder: Path = Path()  # taxonomies are relative to it
    listed_in_file: tuple[str, ...] = ()  # the lines of protected.file
    listed_in_files: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # of each column

    @property
    def sensitive_columns(self) -> Mapping[str, Sensitive | SensitiveColumn]:
        """How each sensitive column holds its values, by its name."""
        one = self.sensitive
        return {one.column: one} if isinstance(one, Sensitive) else one

    @property
    def only_column(self) -> Sensitive:
        """The sensitive column, where there can be only one."""
        if not isinstance(self.sensitive, Sensitive):
            raise ImpossibleState("a policy has several sensitive columns where one is expected")
        return self.sensitive

    @property
    def has_several_columns(self) -> bool:
        """Whether there are several sensitive columns: values then have qualified names."""
        return not isinstance(self.sensitive, Sensitive)

    @property
    def shows_records(self) -> bool:
        """Whether a record is more than one set of values: what is suppressed of it would show."""
        return self.has_several_columns or bool(self.plain)

    @property
    def has_one_value(self) -> bool:
        """Whether everybody with a record has one value."""
        return isinstance(self.sensitive, Sensitive) and self.sensitive.form == "single"

    def of_column(self, column: str) -> Self:
        """The policy as if a sensitive column were the only one; its values are not qualified."""
        if isinstance(self.sensitive, Sensitive):
            return self
        section = self.sensitive[column]
        how = section.model_dump(
            include={"kind", "form", "delimiter", "missing"}, exclude_unset=True
        )
        return self.model_copy(
            update={
                "sensitive": Sensitive(column=column, **how),
                "protected": section.protected,
                "classes": {},
                "listed_in_file": self.listed_in_files.get(column, ()),
            }
        )

    @property
    def protected_classes(self) -> Mapping[str, tuple[str, ...]]:
        """The values of each protected class."""
        return self._flat.classes

    @cached_property
    def class_rules(self) -> ProtectedClasses:
        """Which class every value counts as, also those of intervals and of closeness."""
        return ProtectedClasses(self.frozen())

    @property
    def own_thresholds(self) -> Mapping[str, Fraction]:
        """The thresholds of values and classes that have one of their own."""
        return self._flat.thresholds

    @property
    def stated_persistence(self) -> Mapping[str, Persistence]:
        """What the policy says of values and classes over time."""
        return self._flat.persistence

    @cached_property
    def _flat(self) -> _Flat:
        if isinstance(self.sensitive, Sensitive):
            chosen = self.protected
            return _Flat(chosen.classes, chosen.thresholds, chosen.persistence)
        classes: dict[str, tuple[str, ...]] = {}
        thresholds: dict[str, Fraction] = {}
        for column, section in self.sensitive.items():
            for name, values in section.protected.classes.items():
                classes[qualified(column, name)] = _qualified(column, values)
            for name, threshold in section.protected.thresholds.items():
                thresholds[qualified(column, name)] = threshold
        for name, across in self.classes.items():
            named = across.values.items()
            classes[name] = sum((_qualified(column, values) for column, values in named), ())
            if across.threshold is not None:
                thresholds[name] = across.threshold
        return _Flat(classes, thresholds, _persistence_of_all(self.sensitive))

    @property
    def threshold(self) -> Fraction:
        """The largest breach probability that is accepted."""
        return self.guarantee.largest_probability

    def threshold_of(self, name: str) -> Fraction:
        """The threshold of a protected value or class: its own, or that of all."""
        return self.own_thresholds.get(name, self.threshold)

    def persistence_of(self, name: str) -> Persistence:
        """What is assumed of a protected value or class over time."""
        return persistence_of(name, self.stated_persistence)

    @property
    def has_persisting_values(self) -> bool:
        """Whether the promise must hold for some values however they change over time."""
        return any(each != "transient" for each in self.stated_persistence.values())

    @property
    def cohort_size(self) -> int:
        """The people of a new cohort, at least: room for several holders of each value."""
        asked = self.guarantee.cohort_size
        size = smallest_crowd(_ROOM, self._lowest, self.guarantee.known_members)
        return max(size if asked is None else asked, self.least_cohort)

    @property
    def least_cohort(self) -> int:
        """The members that a cohort needs to go on: it may have a holder of any value."""
        crowd = smallest_crowd(1, self._lowest, self.guarantee.known_members)
        return max(crowd, self.guarantee.minimum_group_size)

    @property
    def _lowest(self) -> Fraction:
        """The lowest threshold of a value that persists."""
        own = self.own_thresholds
        persisting = [name for name in own if self.persistence_of(name) != "transient"]
        return min([self.threshold, *(own[name] for name in persisting)])

    def strategy_for(
        self,
        links: Callable[[], LinkGaps] = LinkGaps,
        shares: Mapping[str, float] | None = None,
    ) -> Strategy:
        """The strategy; one that learns reads the links of earlier releases, and the ``shares`` of
        people who may hold each value."""
        return self.strategy.strategy(links, shares or {})

    def in_series(self, latest: str) -> Self:
        """The policy in a series whose ``latest`` release was made with this strategy, as the
        ledger has it.

        Without [strategy], a series that version 0.1.0 began with its default, the constant ratio,
        goes on with it.
        """
        earlier_default = ConstantStrategy()
        if "strategy" in self.model_fields_set or latest != earlier_default.strategy().to_text():
            return self
        return self.model_copy(update={"strategy": earlier_default})

    def taxonomy_path(self, column: str) -> Path | None:
        """Where the taxonomy of a quasi-identifier lies, if it has one."""
        taxonomy = self.quasi_identifiers[column].taxonomy
        return None if taxonomy is None else self.folder / taxonomy

    def frozen(self) -> Mapping[str, object]:
        """Everything that must not change once a release is out, as JSON types.

        Two ways to write the same thing give the same result: ``l = 2`` and ``threshold = "1/2"``,
        a list of values and a file with that list.
        """
        return self._frozen

    def __copy__(self) -> Self:
        """What is frozen of a copy is its own: its sections are replaced after it is made."""
        copied = super().__copy__()
        for made in ("_frozen", "_flat", "class_rules"):
            vars(copied).pop(made, None)
        return copied

    @cached_property
    def _frozen(self) -> dict[str, object]:
        stated = self.stated_persistence
        return {
            "person": {"id": self.person.id},
            "quasi_identifiers": {
                name: {"kind": column.kind, "new_values": column.new_values}
                for name, column in sorted(self.quasi_identifiers.items())
            },
            "sensitive": self._frozen_sensitive(),
            "protected": {
                **self._frozen_choice(),
                "classes": {
                    name: sorted(set(values))
                    for name, values in sorted(self.protected_classes.items())
                },
                "thresholds": {
                    name: threshold_text(threshold)
                    for name, threshold in sorted(self.own_thresholds.items())
                },
                **({"persistence": dict(sorted(stated.items()))} if stated else {}),
                **({"closeness": widths} if (widths := self._widths()) else {}),
            },
            "guarantee": {
                "threshold": threshold_text(self.threshold),
                "adversary": self.guarantee.adversary,
                "minimum_group_size": self.guarantee.minimum_group_size,
                **self._frozen_crowds(),
            },
            "missing": self.missing.model_dump(mode="json"),
            **({"plain": dict(sorted(self.plain.items()))} if self.plain else {}),
        }

    def _frozen_crowds(self) -> dict[str, object]:
        """Keys that came after version 0.1.0 are left out where they say what it did."""
        form = Guarantee.model_fields
        return {
            name: given
            for name in ("known_members", "cohort_size", "departures", "cuts")
            if (given := getattr(self.guarantee, name)) != form[name].default
        }

    def _frozen_sensitive(self) -> dict[str, object]:
        if isinstance(self.sensitive, Sensitive):
            return _without_default_kind(self.sensitive.model_dump(mode="json"))
        return {
            name: _without_default_kind(section.model_dump(mode="json", exclude={"protected"}))
            for name, section in sorted(self.sensitive.items())
        }

    def _widths(self) -> dict[str, str]:
        """The closeness of each column that has one."""
        one = self.sensitive
        named = (
            {one.column: self.protected}
            if isinstance(one, Sensitive)
            else {name: section.protected for name, section in sorted(one.items())}
        )
        return {
            name: chosen.closeness for name, chosen in named.items() if chosen.closeness is not None
        }

    def _frozen_choice(self) -> dict[str, object]:
        if not isinstance(self.sensitive, Sensitive):
            columns = sorted(self.sensitive)
            return {"columns": {each: self.of_column(each)._frozen_choice() for each in columns}}
        chosen = self.protected
        if chosen.file is not None:
            return {"values": sorted(set(self.listed_in_file))}
        if chosen.rarest is not None:
            return {"rarest": threshold_text(chosen.rarest)}
        if chosen.excepted:
            return {"except": sorted(set(chosen.excepted))}
        return {"values": "all" if chosen.values == "all" else sorted(set(chosen.values))}


def _without_default_kind(section: dict[str, Any]) -> dict[str, Any]:
    """Kinds came after version 0.1.0, in which all values were texts."""
    return {key: each for key, each in section.items() if (key, each) != ("kind", "text")}


def _qualified(column: str, values: Iterable[str]) -> tuple[str, ...]:
    return tuple(qualified(column, value) for value in values)


def _persistence_of_all(columns: Mapping[str, SensitiveColumn]) -> dict[str, Persistence]:
    """What several columns say of their values over time. In all of them values persist, or in
    none: then only whether all say so matters. Where they differ, nothing is assumed."""
    stated = {name: each.protected.persistence for name, each in columns.items()}
    if not all(stated.values()):
        return {}
    defaults = {own.get(DEFAULT, UNSTATED) for own in stated.values()}
    if defaults == {UNSTATED}:
        return {DEFAULT: UNSTATED}
    return {DEFAULT: defaults.pop() if len(defaults) == 1 else "any"} | {
        qualified(column, name): kind
        for column, own in stated.items()
        for name, kind in own.items()
        if name != DEFAULT
    }
