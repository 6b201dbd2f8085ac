"""Small problems for the code that forms groups, each told twice: as arrays and as plain people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import strategies as st
from numpy.typing import NDArray

from grouping.naive import PastGroup, Person
from serigraph.grouping import Demand, Grouping, Method, form_groups
from serigraph.model import Domain, Past, Population, ProtectedValue, Taxonomy
from serigraph.privacy import ConstantRatio, Geometric, OptimalSchedule, Strategy

REGIONS = Taxonomy.from_rows(
    [
        ["basle", "north", "*"],
        ["berne", "north", "*"],
        ["zug", "north", "*"],
        ["lugano", "south", "*"],
        ["vaduz", "abroad", "*"],
        ["como", "abroad", "*"],
    ]
)


@dataclass(frozen=True)
class Case:
    """One problem, in both tellings."""

    people: tuple[Person, ...]
    strategies: tuple[Strategy, ...]  # of each value
    thresholds: tuple[Fraction, ...]
    population: Population
    history: Past
    demand: Demand
    method: Method
    weight: NDArray[np.uint8]
    key: NDArray[np.uint64]

    def formed(self) -> Grouping | NDArray[np.int32]:
        return form_groups(
            self.population, self.history, self.demand, self.method, self.weight, self.key
        )

    def groups(self) -> Grouping:
        found = self.formed()
        assert isinstance(found, Grouping)
        return found

    def unbearable(self) -> set[int]:
        """The values that somebody's past does not let everybody share as one group."""
        found = self.formed()
        return set() if isinstance(found, Grouping) else set(found.tolist())


def number_line(size: int, *, has_missing: bool = False) -> Domain:
    """A numeric column with the values 0, 1, ... and unknown where asked for."""
    known: list[int | None] = list(range(size - has_missing))
    return Domain("number", "numeric", pl.Series([None, *known] if has_missing else known))


def names(size: int) -> Domain:
    """A categorical column without a taxonomy."""
    return Domain("name", "categorical", pl.Series([f"name {i:02}" for i in range(size)]))


def regions(*, has_missing: bool = False) -> Domain:
    """A categorical column with a taxonomy of three levels."""
    leaves: list[str | None] = [*([None] if has_missing else []), *REGIONS.leaves]
    return Domain("region", "categorical", pl.Series(leaves, dtype=pl.String), REGIONS)


def case(
    people: Sequence[Person],
    domains: Sequence[Domain],
    strategies: Sequence[Strategy],
    thresholds: Sequence[Fraction],
    *,
    method: Method = "top-down",
    interleave: bool = False,
    minimum_size: int = 1,
    known_members: int = 0,
    blind: bool = False,
    seed: int = 0,
) -> Case:
    """Lay plain people out as arrays."""
    protected = tuple(
        ProtectedValue(f"value {number:02}", threshold)
        for number, threshold in enumerate(thresholds)
    )
    held = [sorted(person.held) for person in people]
    population = Population(
        ids=pl.Series(range(len(people)), dtype=pl.Int64),
        present=np.array([person.counts_in_size for person in people]),
        domains=tuple(domains),
        codes=np.array([person.codes for person in people], dtype=np.int32)
        .reshape(len(people), len(domains))
        .T.copy(),
        protected=protected,
        held_start=np.cumsum([0, *(len(each) for each in held)]).astype(np.int64),
        held=np.array([value for each in held for value in each], dtype=np.int32),
        values=pl.Series(
            [
                [protected[value].name for value in sorted(person.held)]
                for person in people
                if person.counts_in_size
            ],
            dtype=pl.List(pl.String),
        ),
        digest="",
    )
    keys = np.random.default_rng(seed).integers(0, 2**64, len(people), dtype=np.uint64)
    return Case(
        people=tuple(people),
        strategies=tuple(strategies),
        thresholds=tuple(thresholds),
        population=population,
        history=history_of(people),
        demand=Demand(
            rules=tuple(
                strategy.rule(threshold)
                for strategy, threshold in zip(strategies, thresholds, strict=True)
            ),
            minimum_size=minimum_size,
            interleave=interleave,
            known_members=known_members,
            blind=blind,
        ),
        method=method,
        weight=population.present.astype(np.uint8),
        key=keys,
    )


def history_of(people: Sequence[Person]) -> Past:
    """Past groups as arrays; the j-th past group of everybody belongs to the j-th release."""
    groups: list[PastGroup] = []
    releases = max((len(person.past) for person in people), default=0)
    past = np.full((len(people), releases), -1, dtype=np.int32)
    for place, person in enumerate(people):
        for release, group in enumerate(person.past):
            known = [number for number, each in enumerate(groups) if each is group]
            if not known:
                groups.append(group)
            past[place, release] = known[0] if known else len(groups) - 1
    entries = [sorted(group.counts.items()) for group in groups]
    return Past.of_groups(
        past,
        lengths=[len(each) for each in entries],
        value=[value for each in entries for value, _ in each],
        count=[count for each in entries for _, count in each],
        size=[group.size for group in groups],
    )


_strategies = st.sampled_from(
    [
        ConstantRatio(1),
        ConstantRatio(2),
        ConstantRatio(3, replan=False),
        Geometric(Fraction(2)),
        Geometric(Fraction(3, 2), replan=False),
        OptimalSchedule((Fraction(1), Fraction(1, 4))),
    ]
)
_thresholds = st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(2, 5), Fraction(3, 4)])


@st.composite
def _pasts(draw: st.DrawFn, people: int, values: int) -> list[tuple[PastGroup, ...]]:
    """For everybody, a past of up to two releases of a few groups each."""
    pasts: list[list[PastGroup]] = [[] for _ in range(people)]
    for _ in range(draw(st.integers(0, 2))):
        groups = []
        for _ in range(draw(st.integers(1, 3))):
            size = draw(st.integers(people, 40))
            held = draw(st.lists(st.integers(0, values - 1), min_size=1, max_size=3, unique=True))
            groups.append(PastGroup(size, {v: draw(st.integers(1, size // 2 + 1)) for v in held}))
        for place in range(people):
            if draw(st.booleans()):
                pasts[place].append(draw(st.sampled_from(groups)))
    return [tuple(past) for past in pasts]


@st.composite
def cases(draw: st.DrawFn, *, interleave: bool | None = None) -> Case:
    """Up to 22 people, three columns and four values, with or without a past."""
    interleaves = draw(st.booleans()) if interleave is None else interleave
    number = draw(st.integers(1, 22))
    values = draw(st.integers(1, 4))
    domains = draw(
        st.lists(
            st.sampled_from(
                [
                    number_line(9),
                    number_line(4, has_missing=True),
                    names(5),
                    regions(),
                    regions(has_missing=True),
                ]
            ),
            min_size=1,
            max_size=3,
        )
    )
    # Values are a share of the people, so that some problems have a solution and some have none.
    holding = draw(st.sampled_from([0.1, 0.25, 0.6]))
    pasts = draw(_pasts(number, values))
    # In the interleaved form, whoever is known to be absent is left out beforehand.
    may_be_absent = not interleaves and draw(st.booleans())
    people = []
    for place in range(number):
        held = frozenset(v for v in range(values) if draw(st.floats(0, 1)) < holding)
        people.append(
            Person(
                codes=tuple(draw(st.integers(0, domain.size - 1)) for domain in domains),
                held=held,
                past=pasts[place],
                counts_in_size=bool(held) or not may_be_absent or draw(st.booleans()),
            )
        )
    return case(
        people,
        domains,
        [draw(_strategies) for _ in range(values)],
        [draw(_thresholds) for _ in range(values)],
        method=draw(st.sampled_from(["top-down", "bottom-up"])),
        interleave=interleaves,
        minimum_size=draw(st.sampled_from([1, 1, 2, 4])),
        known_members=draw(st.sampled_from([0, 0, 1, 2, 3])),
        seed=draw(st.integers(0, 5)),
    )
