"""Small populations as plain Python, and the arrays that they should become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import strategies as st

from serigraph.model import Domain, Past, Population, ProtectedValue

VALUES = ("a", "b", "c", "d")
CLASSES = {"k": ("a", "b"), "m": ("b", "c")}
WIDTHS = (5, 3)  # of the two quasi-identifiers


@dataclass(frozen=True)
class Person:
    """One person; nobody without a record has a value."""

    cells: tuple[int, ...]
    present: bool
    values: frozenset[str]


@dataclass(frozen=True)
class PastGroup:
    """A group of a past release: its members by place, and the counts of its protected values."""

    members: frozenset[int]
    size: int
    counts: dict[str, int]


def names_held(values: Sequence[str] | frozenset[str]) -> list[str]:
    """The protected names that a set of values counts as; d is protected by nobody."""
    names = {value for value in values if value != "d"}
    names |= {name for name, covered in CLASSES.items() if set(covered) & set(values)}
    return sorted(names)


def id_of(number: int) -> str:
    """The id of a person, by its place; ids ascend with the places."""
    return f"p{number:05}"


def protected_names(people: Sequence[Person]) -> list[str]:
    return sorted({name for person in people for name in names_held(person.values)})


def population_of(
    people: Sequence[Person],
    names: Sequence[str],
    thresholds: dict[str, Fraction] | None = None,
    places: Sequence[int] | None = None,
) -> Population:
    """The arrays of these people; ``places`` are their numbers in a larger population."""
    numbers = list(range(len(people))) if places is None else list(places)
    held = [[names.index(name) for name in names_held(person.values)] for person in people]
    codes = np.array([person.cells for person in people], dtype=np.int32).reshape(-1, len(WIDTHS))
    return Population(
        ids=pl.Series(map(id_of, numbers), dtype=pl.String),
        present=np.array([person.present for person in people], dtype=np.bool_),
        domains=tuple(
            Domain(name, "numeric", pl.Series(name, range(width)))
            for name, width in zip(("x", "y"), WIDTHS, strict=True)
        ),
        codes=np.ascontiguousarray(codes.T),
        protected=tuple(
            ProtectedValue(
                name, (thresholds or {}).get(name, Fraction(1, 2)), CLASSES.get(name, ())
            )
            for name in names
        ),
        held_start=np.cumsum([0, *map(len, held)]).astype(np.int64),
        held=np.array([index for each in held for index in each], dtype=np.int32),
        values=pl.Series(
            [sorted(person.values) for person in people if person.present],
            dtype=pl.List(pl.String),
        ),
        digest="",
    )


def history_of(people: int, names: Sequence[str], releases: Sequence[Sequence[PastGroup]]) -> Past:
    """The arrays of a past; groups that held none of the names are left out."""
    groups = np.full((people, len(releases)), -1, dtype=np.int32)
    kept: list[tuple[int, list[tuple[int, int]]]] = []
    for column, release in zip(groups.T, releases, strict=True):
        for group in release:
            entries = sorted(
                (names.index(name), count) for name, count in group.counts.items() if name in names
            )
            if entries:
                column[sorted(group.members)] = len(kept)
                kept.append((group.size, entries))
    return Past.of_groups(
        groups,
        lengths=[len(entries) for _, entries in kept],
        value=[v for _, entries in kept for v, _ in entries],
        count=[c for _, entries in kept for _, c in entries],
        size=[size for size, _ in kept],
    )


@st.composite
def crowds(draw: st.DrawFn, largest: int = 12) -> list[Person]:
    """Some people, at least one of them with a record."""
    person = st.builds(
        lambda cells, present, values: Person(
            cells, present, frozenset(values) if present else frozenset()
        ),
        st.tuples(*(st.integers(0, width - 1) for width in WIDTHS)),
        st.sampled_from([True, True, False]),
        st.sets(st.sampled_from(VALUES), max_size=3),
    )
    people = draw(st.lists(person, min_size=1, max_size=largest))
    if not any(person.present for person in people):
        people[0] = Person(people[0].cells, True, frozenset("a"))
    return people


@st.composite
def pasts(draw: st.DrawFn, people: int) -> list[list[PastGroup]]:
    """Up to three releases before, whose groups hold members that are not among the people too."""
    releases = []
    for _ in range(draw(st.integers(0, 3))):
        groups_of = draw(st.lists(st.integers(-1, 2), min_size=people, max_size=people))
        groups = []
        for number in range(3):
            members = frozenset(i for i, group in enumerate(groups_of) if group == number)
            size = len(members) + draw(st.integers(1, 30))
            counts = draw(
                st.dictionaries(st.sampled_from(("a", "b", "c", "k", "m")), st.just(1), max_size=3)
            )
            groups.append(PastGroup(members, size, counts))
        releases.append(groups)
    return releases
