"""What a policy with several sensitive columns, or with plain ones, may not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from serigraph.policy.classes import (
    Closeness,
    ValueKind,
    has_intervals,
    is_made_by_closeness,
    problems_of_members,
    problems_of_values,
)
from serigraph.policy.sections import DEFAULT, UNSTATED, Place, SensitiveColumn
from serigraph.texts import in_one_form

ONE, SEVERAL = "one column", "several columns"
_NO_INTERVALS = (
    "values that persist cannot be protected by intervals: name the values of each class one by "
    "one, or leave the column out"
)
_FORBIDDEN_IN_CLASSES = ":"  # as in the qualified name of a value


def number_of_columns(given: Any) -> str:
    """Whether ``[sensitive]`` describes a column, or has a section for each of several."""
    sections = given.values() if isinstance(given, Mapping) else ()
    is_several = bool(sections) and all(
        isinstance(each, Mapping | SensitiveColumn) for each in sections
    )
    return SEVERAL if is_several else ONE


def contradictions(given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Places of keys that do not fit each other, each with what is wrong."""
    yield from _columns_twice(given)
    yield from _numbers_and_dates(given)
    sections = given.get("sensitive")
    columns = sections if number_of_columns(sections) == SEVERAL else None
    if columns is not None:
        yield from _several(given, columns)
    elif given.get("classes"):
        yield (
            ("classes",),
            "classes across columns need several sensitive columns; write [protected.classes]",
        )
    plain = _table(given, "plain")
    if plain and len(_over_time(_table(given, "protected"))) > 1:
        yield (
            ("protected", "persistence"),
            "beside plain columns all protected values persist, or none: "
            + _all_persist("protected"),
        )
    least = _table(given, "guarantee").get("minimum_group_size", 1)
    if plain and isinstance(least, int) and least < 2:
        yield (
            ("plain",),
            "plain columns would stand beside the exact quasi-identifiers of people who are alone "
            "in their group: set minimum_group_size = 2 or more in [guarantee]",
        )
    if _table(given, "output").get("apart") is True and columns is None and not plain:
        yield ("output", "apart"), "there is one column of values, and nothing to keep apart"


def _several(given: Mapping[str, Any], columns: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    if len(columns) == 1:
        name = next(iter(columns))
        yield ("sensitive", name), f"one sensitive column is written as column = {name!r}"
    if "protected" in given:
        yield (
            ("protected",),
            "with several sensitive columns each has a section of its own: "
            "[sensitive.NAME.protected], and [classes.NAME] for classes across columns",
        )
    for name in columns:
        if in_one_form(name) != name:
            yield (
                ("sensitive", name),
                "one of several sensitive columns has blanks around its name, or accents that are "
                "letters of their own: rename the column",
            )
    yield from _some_persist(columns)
    for name, found in _table(given, "classes").items():
        if _FORBIDDEN_IN_CLASSES in name:
            yield ("classes", name), "a class across columns cannot have a colon in its name"
        named = _table(found, "values") if isinstance(found, Mapping) else {}
        for column in named:
            if column not in columns:
                yield ("classes", name, "values", column), f"{column!r} is no sensitive column"


def _some_persist(columns: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Columns with transient values where others persist: records show both kinds side by side."""
    over_time = {
        name: _over_time(_table(section, "protected"))
        for name, section in columns.items()
        if isinstance(section, Mapping)
    }
    if len(frozenset[bool]().union(*over_time.values())) < 2:
        return
    for name, kinds in over_time.items():
        if False in kinds:
            yield (
                ("sensitive", name, "protected", "persistence"),
                "the protected values of all sensitive columns persist, or none: "
                + _all_persist("sensitive.NAME.protected"),
            )


def _all_persist(section: str) -> str:
    return f'write default = "any" in [{section}.persistence], and call no value "transient" there'


def _numbers_and_dates(given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """What is wrong with values and classes of columns whose values are numbers or dates."""
    sensitive = _table(given, "sensitive")
    if number_of_columns(sensitive) == ONE:
        yield from _of_kind(_kind(sensitive), _table(given, "protected"), ("protected",))
        return
    for name, section in sensitive.items():
        if isinstance(section, Mapping):
            place = ("sensitive", name, "protected")
            yield from _of_kind(_kind(section), _table(section, "protected"), place)
    persists = any(True in _over_time(_table(each, "protected")) for each in sensitive.values())
    for name, found in _table(given, "classes").items():
        named = _table(found, "values") if isinstance(found, Mapping) else {}
        for column, members in named.items():
            kind = _kind(_table(sensitive, column))
            where = ("classes", name, "values", column)
            for problem in problems_of_members(_listed(members), kind) if kind != "text" else ():
                yield where, problem
            if has_intervals(_listed(members), [kind]) and persists:
                yield where, _NO_INTERVALS


def _of_kind(
    kind: ValueKind, protected: Mapping[str, Any], place: Place
) -> Iterator[tuple[Place, str]]:
    width, classes = protected.get("closeness"), _table(protected, "classes")
    if kind == "text":
        if width is not None:
            yield (
                (*place, "closeness"),
                'closeness is of numbers or dates: write kind = "numeric" or "date" in [sensitive]',
            )
        return
    try:
        closeness = Closeness.of(width, kind) if isinstance(width, str) else None
    except ValueError as error:
        yield (*place, "closeness"), str(error)
        closeness = None
    own = [name for name in _table(protected, "thresholds") if name not in classes]
    for key, values in (
        ("values", _listed(protected.get("values"))),
        ("except", _listed(protected.get("except"))),
        ("thresholds", own),
    ):
        for problem in problems_of_values(values, kind):
            yield (*place, key), problem
    for name, members in classes.items():
        if is_made_by_closeness(name):
            yield (*place, "classes", name), "a class has the form of those of closeness: rename it"
        for problem in problems_of_members(_listed(members), kind):
            yield (*place, "classes", name), problem
    has_classes = closeness or any(
        has_intervals(_listed(each), [kind]) for each in classes.values()
    )
    if has_classes and True in _over_time(protected):
        yield (*place, "persistence"), _NO_INTERVALS


def _kind(section: Mapping[str, Any]) -> ValueKind:
    found = section.get("kind")
    return "numeric" if found == "numeric" else "date" if found == "date" else "text"


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else []


def _over_time(protected: Mapping[str, Any]) -> frozenset[bool]:
    """Whether protected values persist: all (True), none (False), or some."""
    stated = {DEFAULT: UNSTATED, **_table(protected, "persistence")}
    return frozenset(each != "transient" for each in stated.values())


def _columns_twice(given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Columns that have two roles."""
    person = _table(given, "person").get("id")
    sensitive = _table(given, "sensitive")
    roles = {person: "the person's id"} if isinstance(person, str) and person else {}
    if number_of_columns(sensitive) == SEVERAL:
        for name in sensitive:
            if name in roles:
                yield ("sensitive", name), f"the column {name!r} is already {roles[name]}"
        roles = {**dict.fromkeys(sensitive, "a sensitive column"), **roles}
    elif isinstance(column := sensitive.get("column"), str) and column:
        if column in roles:
            yield ("sensitive", "column"), f"the column {column!r} is already {roles[column]}"
        roles = {column: "the sensitive column", **roles}
    for name in _table(given, "quasi_identifiers"):
        if name in roles:
            yield ("quasi_identifiers", name), f"the column {name!r} is already {roles[name]}"
    roles = {**dict.fromkeys(_table(given, "quasi_identifiers"), "a quasi-identifier"), **roles}
    for name in _table(given, "plain"):
        if name in roles:
            yield ("plain", name), f"the column {name!r} is already {roles[name]}"


def _table(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = given.get(key)
    return found if isinstance(found, Mapping) else {}
