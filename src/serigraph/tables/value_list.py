"""The values that a policy names and those of a table, with the number of holders."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from serigraph.errors import PolicyError
from serigraph.policy import Policy
from serigraph.tables.cells import counted
from serigraph.tables.look_alikes import looks
from serigraph.tables.protection import ProtectedChoice, choose, named_by_itself

_NAMED = 20
_ALIKE = 0.8  # of the letters; clamydia and chlamydia share 0.94


@dataclass(frozen=True, slots=True)
class ListedValue:
    """A value, how many people of the table hold it, and which value is nearest if nobody does."""

    name: str
    people: int
    nearest: str = ""


@dataclass(frozen=True)
class ValueList:
    """The protected and unprotected values of a table; the commonest first, then by name."""

    protected: tuple[ListedValue, ...]  # individually
    classes: Mapping[str, tuple[ListedValue, ...]]  # the members of each, protected as one
    unprotected: tuple[ListedValue, ...]  # neither individually nor in a class

    @property
    def _all_protected(self) -> Iterator[ListedValue]:
        yield from self.protected
        for members in self.classes.values():
            yield from members

    @property
    def is_any_protected_held(self) -> bool:
        return any(each.people for each in self._all_protected)

    @property
    def all_held(self) -> Iterator[ListedValue]:
        """The values of the table, protected or not; one may come more than once."""
        return (each for each in (*self._all_protected, *self.unprotected) if each.people)

    @property
    def unheld(self) -> tuple[ListedValue, ...]:
        """What is protected, individually or in a class, but held by nobody; by name."""
        found = {each.name: each for each in self._all_protected if not each.people}
        return tuple(found[name] for name in sorted(found))


def list_values(
    policy: Policy, holders: pl.DataFrame, choice: ProtectedChoice | None = None
) -> ValueList:
    """The policy's list beside the values of a table, which ``holders_of`` has counted.

    ``choice`` is that of the first release; without one the policy's rule is applied to the table.
    """
    choice = choice or choose(policy, holders)
    people = dict(zip(holders["value"].to_list(), holders["people"].to_list(), strict=True))
    classes = policy.protected.classes
    in_classes = {member for members in classes.values() for member in members}
    named = named_by_itself(policy, choice)
    covered = {name for name in named.union(people) if choice.covers(name)}

    def listed(names: Iterable[str], known: Iterable[str]) -> tuple[ListedValue, ...]:
        # What the list has already is not what a misspelt name of it stands for.
        suggest = _Suggestions(people.keys() - set(known))
        found = (
            ListedValue(name, people.get(name, 0), "" if name in people else suggest(name))
            for name in sorted(set(names))
        )
        return tuple(sorted(found, key=lambda each: (-each.people, each.name)))

    return ValueList(
        protected=listed(covered, named),
        classes={name: listed(members, members) for name, members in classes.items()},
        unprotected=listed(named.union(people) - covered - in_classes, named),
    )


def check_held(values: ValueList, policy: Policy, where: str) -> None:
    """Refuse a policy that protects what nobody in the table holds: a misspelt value would be
    published without protection, irrevocably.

    The suggested values are spelt almost like a name in the policy, so they reveal no more than the
    policy does.
    """
    unheld = values.unheld
    if not unheld or policy.protected.unheld == "allow":
        return
    problems = [
        f"{each.name!r}" + (f": the table has {each.nearest!r}" if each.nearest else "")
        for each in unheld[:_NAMED]
    ]
    if len(unheld) > _NAMED:
        problems.append(f"and {len(unheld) - _NAMED:,} more")
    raise PolicyError(
        f"nobody in the table holds {counted(len(unheld), 'protected value')}",
        where=where,
        remedy='correct the spelling, or set unheld = "allow" in [protected] for values that may '
        "appear later",
        problems=problems,
    )


class _Suggestions:
    """Finds among values of a table the one that is spelt nearly like a name."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = values
        self._left = _NAMED  # comparing letters takes long where there are many values

    @cached_property
    def _by_spelling(self) -> dict[str, str]:
        values = sorted(self._values)
        return dict(zip(looks(values), values, strict=True))

    def __call__(self, name: str) -> str:
        spelling = looks([name])[0]
        if spelling in self._by_spelling:
            return self._by_spelling[spelling]
        if not self._left:
            return ""
        self._left -= 1
        # Codes that differ in a digit are different codes, however alike they look.
        same_digits = [each for each in self._by_spelling if _digits(each) == _digits(spelling)]
        near = difflib.get_close_matches(spelling, same_digits, 1, _ALIKE)
        return self._by_spelling[near[0]] if near else ""


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())
