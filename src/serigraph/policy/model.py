"""The policy of a series: what its columns are, what is promised, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from serigraph.policy.sections import (
    Attacks,
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
    Signing,
    Suppression,
    persistence_of,
)
from serigraph.policy.strategy import ConstantStrategy, StrategySection
from serigraph.privacy.alikeness import smallest_crowd
from serigraph.privacy.link_chances import LinkGaps
from serigraph.privacy.strategies import Strategy
from serigraph.privacy.thresholds import threshold_text

_ROOM = 4  # holders of a value in a cohort
MOST_QUASI_IDENTIFIERS = 100  # with more, grouping is slow and nobody has neighbours


class PolicyForm(Section):
    """A policy file as written: every key that a publisher may use."""

    version: Literal[1]
    person: Person
    quasi_identifiers: Annotated[
        dict[ColumnName, QuasiIdentifier], Field(min_length=1, max_length=MOST_QUASI_IDENTIFIERS)
    ]
    sensitive: Sensitive
    protected: Protected = Protected()
    guarantee: Guarantee
    strategy: StrategySection = ConstantStrategy()
    output: Output = Output()
    suppression: Suppression = Suppression()
    missing: Missing = Missing()
    reading: Reading = Reading()
    attacks: Attacks = Attacks()
    signing: Signing = Signing()
    publisher: Publisher = Publisher()

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
        person = _within(given, "person", "id")
        sensitive = _within(given, "sensitive", "column")
        columns = given.get("quasi_identifiers")
        quasi_identifiers = columns if isinstance(columns, Mapping) else {}
        if person and person == sensitive:
            yield ("sensitive", "column"), f"the column {person!r} is already the person's id"
        for role, column in (("the person's id", person), ("the sensitive column", sensitive)):
            if column in quasi_identifiers:
                yield ("quasi_identifiers", column), f"the column {column!r} is already {role}"


class Policy(PolicyForm):
    """A policy with the files that it refers to. Made by ``read_policy``."""

    folder: Path = Path()  # taxonomies are relative to it
    listed_in_file: tuple[str, ...] = ()  # the lines of protected.file

    @property
    def threshold(self) -> Fraction:
        """The largest breach probability that is accepted."""
        return self.guarantee.largest_probability

    def threshold_of(self, name: str) -> Fraction:
        """The threshold of a protected value or class: its own, or that of all."""
        return self.protected.thresholds.get(name, self.threshold)

    def persistence_of(self, name: str) -> Persistence:
        """What is assumed of a protected value or class over time."""
        return persistence_of(name, self.protected.persistence)

    @property
    def has_persisting_values(self) -> bool:
        """Whether the promise must hold for some values however they change over time."""
        return any(each != "transient" for each in self.protected.persistence.values())

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
        own = self.protected.thresholds
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
        vars(copied).pop("_frozen", None)
        return copied

    @cached_property
    def _frozen(self) -> dict[str, object]:
        stated = self.protected.persistence
        return {
            "person": {"id": self.person.id},
            "quasi_identifiers": {
                name: {"kind": column.kind, "new_values": column.new_values}
                for name, column in sorted(self.quasi_identifiers.items())
            },
            "sensitive": self.sensitive.model_dump(mode="json"),
            "protected": {
                **self._frozen_choice(),
                "classes": {
                    name: sorted(set(values))
                    for name, values in sorted(self.protected.classes.items())
                },
                "thresholds": {
                    name: threshold_text(threshold)
                    for name, threshold in sorted(self.protected.thresholds.items())
                },
                **({"persistence": dict(sorted(stated.items()))} if stated else {}),
            },
            "guarantee": {
                "threshold": threshold_text(self.threshold),
                "adversary": self.guarantee.adversary,
                "minimum_group_size": self.guarantee.minimum_group_size,
                **self._frozen_crowds(),
            },
            "missing": self.missing.model_dump(mode="json"),
        }

    def _frozen_crowds(self) -> dict[str, object]:
        """Keys that came after version 0.1.0 are left out where they say what it did."""
        form = Guarantee.model_fields
        return {
            name: given
            for name in ("known_members", "cohort_size", "departures")
            if (given := getattr(self.guarantee, name)) != form[name].default
        }

    def _frozen_choice(self) -> dict[str, object]:
        chosen = self.protected
        if chosen.file is not None:
            return {"values": sorted(set(self.listed_in_file))}
        if chosen.rarest is not None:
            return {"rarest": threshold_text(chosen.rarest)}
        if chosen.excepted:
            return {"except": sorted(set(chosen.excepted))}
        return {"values": "all" if chosen.values == "all" else sorted(set(chosen.values))}


def _within(given: Mapping[str, Any], section: str, key: str) -> str:
    table = given.get(section)
    found = table.get(key) if isinstance(table, Mapping) else None
    return found if isinstance(found, str) else ""
