"""The values that a policy names and those of a table, with the number of holders."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from serigraph.errors import PolicyError
from serigraph.policy import Policy, Protected
from serigraph.tables.cells import counted
from serigraph.tables.look_alikes import looks
from serigraph.tables.protection import ProtectedChoice, choose, holders_in, named_by_itself
from serigraph.texts import qualified, unqualified

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

    def of_column(self, column: str) -> ValueList:
        """The values of one of several columns, without its name."""

        def of(listed: Iterable[ListedValue]) -> tuple[ListedValue, ...]:
            found = ((each, unqualified(each.name)) for each in listed)
            return tuple(replace(each, name=own) for each, (where, own) in found if where == column)

        classes = {name: of(members) for name, members in self.classes.items()}
        return ValueList(of(self.protected), classes, of(self.unprotected))

    def qualified(self, column: str) -> ValueList:
        """The same with the name of the column before values and classes."""

        def of(listed: Iterable[ListedValue]) -> tuple[ListedValue, ...]:
            return tuple(replace(each, name=qualified(column, each.name)) for each in listed)

        classes = {qualified(column, name): of(each) for name, each in self.classes.items()}
        return ValueList(of(self.protected), classes, of(self.unprotected))


def list_values(
    policy: Policy, holders: pl.DataFrame, choice: ProtectedChoice | None = None
) -> ValueList:
    """The policy's list beside the values of a table, which ``holders_of`` has counted.

    ``choice`` is that of the first release; without one the policy's rule is applied to the table.
    """
    choice = choice or choose(policy, holders)
    if policy.has_several_columns:
        return _of_several(policy, holders, choice)
    people = dict(zip(holders["value"].to_list(), holders["people"].to_list(), strict=True))
    classes = policy.class_rules.members(people)
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
        return _commonest_first(found)

    return ValueList(
        protected=listed(covered, named),
        classes={name: listed(members, members) for name, members in classes.items()},
        unprotected=listed(named.union(people) - covered - in_classes, named),
    )


def _of_several(policy: Policy, holders: pl.DataFrame, choice: ProtectedChoice) -> ValueList:
    """The lists of all columns as one."""
    lists = {
        column: list_values(
            policy.of_column(column), holders_in(holders, column), choice.of_column(column)
        )
        for column in policy.sensitive_columns
    }
    across: dict[str, tuple[ListedValue, ...]] = {}
    for name, each in policy.classes.items():
        found: list[ListedValue] = []
        for column, members in each.values.items():
            in_class = policy.of_column(column).model_copy(
                update={"protected": Protected(values=(), classes={name: members})}
            )
            listed = list_values(in_class, holders_in(holders, column))
            found += listed.qualified(column).classes[qualified(column, name)]
        across[name] = _commonest_first(found)
    parts = [lists[column].qualified(column) for column in lists]
    in_across = {each.name for members in across.values() for each in members}
    unprotected = (each for part in parts for each in part.unprotected)
    return ValueList(
        _commonest_first(each for part in parts for each in part.protected),
        {name: members for part in parts for name, members in part.classes.items()} | across,
        _commonest_first(each for each in unprotected if each.name not in in_across),
    )


def _commonest_first(listed: Iterable[ListedValue]) -> tuple[ListedValue, ...]:
    return tuple(sorted(listed, key=lambda each: (-each.people, each.name)))


def check_held(values: ValueList, policy: Policy, where: str) -> None:
    """Refuse a policy that protects what nobody in the table holds: a misspelt value would be
    published without protection, irrevocably.

    The suggested values are spelt almost like a name in the policy, so they reveal no more than the
    policy does.
    """
    unheld = [each for each in values.unheld if not _may_be_unheld(each.name, policy)]
    if not unheld:
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
        remedy=f'correct the spelling, or set unheld = "allow" in {_sections_of(unheld, policy)} '
        "for values that may appear later",
        problems=problems,
    )


def nearly_protected(values: ValueList) -> list[tuple[ListedValue, str]]:
    """Values that are not protected, each with a protected one that it may be a misspelling of; of
    the rarest values.

    >>> listed = ValueList((ListedValue("flu", 9),), {}, (ListedValue("Flu ", 1),))
    >>> [(each.name, meant) for each, meant in nearly_protected(listed)]
    [('Flu ', 'flu')]
    """
    suggest = _Suggestions({each.name for each in values._all_protected})
    found = ((each, suggest(each.name)) for each in reversed(values.unprotected) if each.people)
    return [(each, meant) for each, meant in found if meant]


def _may_be_unheld(name: str, policy: Policy) -> bool:
    column, _ = unqualified(name) if policy.has_several_columns else ("", name)
    return policy.of_column(column).protected.unheld == "allow"


def _sections_of(listed: Iterable[ListedValue], policy: Policy) -> str:
    """Where the policy says which of these values are protected."""
    if not policy.has_several_columns:
        return "[protected]"
    columns = sorted({unqualified(each.name)[0] for each in listed})
    return f"[sensitive.NAME.protected] of {', '.join(map(repr, columns))}"


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
