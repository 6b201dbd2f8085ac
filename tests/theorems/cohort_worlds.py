"""All worlds of a few people, published through the real arrangement of cohorts.

A world says of everybody and every release what the table has: no record, a clean record, or a
record with a value. Every order in which lots can be drawn is tried, so that the probability of
what is published in a world is exact. What is published is what the bucketised form tells: who is
in a group, how many have a record, and how many of them hold which value. The ledger is kept in
plain sets, and the posterior is summed over worlds; neither uses what is under test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import factorial, prod
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cohorts.people import population
from serigraph.cohorts import Arrangement, Rules, TooManyHolders, arrange, arrange_once
from serigraph.model import Cohorts, Population

ABSENT, CLEAN = None, ""
Seen = str | None  # absent, clean, or the value of the record
Trajectory = tuple[Seen, ...]
Law = Mapping[Trajectory, int]
Belief = Sequence[Law]
Pair = tuple[int, str]  # a person and a value
Group = tuple[tuple[int, ...], int, tuple[tuple[str, int], ...]]  # members, records, counts
Publication = tuple[tuple[Group, ...], ...]
REFUSED: tuple[Group, ...] = (((), -1, ()),)


@dataclass(frozen=True)
class Ledger:
    """What is kept from release to release."""

    cohort: frozenset[tuple[int, int]] = frozenset()  # person and cohort
    retired: frozenset[tuple[int, int]] = frozenset()  # person and release
    shown: frozenset[Pair] = frozenset()  # ever published as a holder
    attended: frozenset[tuple[int, int]] = frozenset()  # person and release

    def recorded(self) -> Cohorts:
        cohort, retired = dict(self.cohort), dict(self.retired)
        ids, pairs = sorted(cohort), sorted(self.shown)
        return Cohorts(
            ids=pl.Series(ids, dtype=pl.Int64),
            cohort=np.array([cohort[i] for i in ids], dtype=np.int64),
            retired=np.array([retired.get(i, 0) for i in ids], dtype=np.int64),
            holder=np.array([ids.index(i) for i, _ in pairs], dtype=np.int64),
            value=pl.Series([value for _, value in pairs], dtype=pl.String),
            formed=max(cohort.values(), default=-1) + 1,
        )

    def classes(self) -> list[frozenset[int]]:
        """Members of a cohort who retired in the same release, or remain."""
        found = defaultdict(set)
        for person, cohort in self.cohort:
            found[cohort, dict(self.retired).get(person, 0)].add(person)
        return [frozenset(people) for people in found.values()]


@dataclass
class _Lots:
    """Draws in given orders; the sizes of all draws are noted."""

    orders: Sequence[tuple[int, ...]]
    sizes: list[int] = field(default_factory=list)

    def keys(self, number: int) -> NDArray[np.uint64]:
        self.sizes.append(number)
        draw = len(self.sizes) - 1
        order = self.orders[draw] if draw < len(self.orders) else range(number)
        return np.array(order, dtype=np.uint64)


Outcome = tuple[tuple[Group, ...], Ledger]


def _outcomes(
    make: Callable[[_Lots], tuple[Outcome, bool]], orders: tuple[tuple[int, ...], ...] = ()
) -> Iterator[tuple[Outcome, Fraction]]:
    """All that can be made, with its probability. ``make`` also says whether lots mattered."""
    lots = _Lots(orders)
    outcome, is_drawn = make(lots)
    if not is_drawn or len(orders) == len(lots.sizes):
        yield outcome, Fraction(1, prod(factorial(n) for n in lots.sizes[: len(orders)]))
        return
    for order in permutations(range(lots.sizes[len(orders)])):
        yield from _outcomes(make, (*orders, order))


@dataclass(frozen=True)
class Mechanism:
    """One way to keep people together; ``forgets`` makes a ledger that is wrong, to see it fail."""

    rules: Rules
    way: Literal["standing", "once"] = "standing"
    values: tuple[str, ...] = ("s",)
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    persistence: Literal["permanent", "any"] = "any"
    forgets: Literal["nothing", "who was shown", "cohorts without a record"] = "nothing"
    _made: dict[object, list[tuple[Outcome, Fraction]]] = field(default_factory=dict)

    def released(
        self, ledger: Ledger, release: int, now: Mapping[int, Seen]
    ) -> list[tuple[Outcome, Fraction]]:
        """Everything that may be published of these people, and the ledger after it."""
        key = (ledger, release, tuple(now.items()))
        if key not in self._made:
            found: Counter[Outcome] = Counter()
            table = self._table(now)
            for outcome, chance in _outcomes(
                lambda lots: self._made_of(table, ledger, release, lots)
            ):
                found[outcome] += chance  # type: ignore[assignment]
            assert sum(found.values()) == 1
            self._made[key] = list(found.items())  # type: ignore[arg-type]
        return self._made[key]

    def _table(self, now: Mapping[int, Seen]) -> Population:
        people = population(
            list(now),
            {person: [seen] for person, seen in now.items() if seen},
            away=[person for person, seen in now.items() if seen is ABSENT],
            persisting=self.values,
            classes=self.classes,
            threshold=next(iter(self.rules.thresholds.values())),
        )
        protected = [replace(value, persistence=self.persistence) for value in people.protected]
        return replace(people, protected=tuple(protected))

    def _made_of(
        self, table: Population, ledger: Ledger, release: int, lots: _Lots
    ) -> tuple[Outcome, bool]:
        known = replace(ledger, shown=frozenset()) if self.forgets == "who was shown" else ledger
        if self.way == "standing":
            made = arrange(table, known.recorded(), self.rules, lots)
        else:
            table = table.subset(table.present)
            attended = defaultdict(set)
            for person, k in ledger.attended:
                attended[person].add(k)
            pasts = [sum(1 << k for k in attended[person]) for person in table.ids]
            try:
                past = np.array(pasts, dtype=np.int64)
                made = arrange_once(table, known.recorded(), past, self.rules, lots)
            except TooManyHolders:
                return (REFUSED, ledger), False
        records = np.count_nonzero(table.present[made.kept])
        pairs = len(table.subset(made.kept).held)
        is_drawn = (
            len(made.retired) > 0
            or np.count_nonzero(made.population.present) < records
            or len(made.population.held) < pairs
        )
        return self._noted(ledger, release, made), bool(is_drawn)

    def _noted(self, ledger: Ledger, release: int, made: Arrangement) -> Outcome:
        people = made.population
        ids = people.ids.to_list()
        here = dict(zip(ids, people.present.tolist(), strict=True))
        holder = np.repeat(np.arange(people.size), np.diff(people.held_start)).tolist()
        shown = [
            (ids[i], people.protected[v].name)
            for i, v in zip(holder, people.held.tolist(), strict=True)
        ]
        together = defaultdict(list)
        group = made.cohort if made.group is None else made.group
        for person, number in zip(ids, group.tolist(), strict=True):
            together[number].append(person)
        public = sorted(
            (
                tuple(members),
                sum(here[person] for person in members),
                tuple(sorted(Counter(v for person, v in shown if person in members).items())),
            )
            for members in together.values()
        )
        joined = defaultdict(list)
        before = dict(ledger.cohort)
        for person, number in zip(ids, made.cohort.tolist(), strict=True):
            if number >= 0 and person not in before:
                joined[number].append(person)
        new = sorted(joined.values())  # numbers are drawn; any will do
        if self.forgets == "cohorts without a record":
            new = [members for members in new if any(here[person] for person in members)]
        formed = max(before.values(), default=-1) + 1
        return tuple(public), Ledger(
            cohort=ledger.cohort
            | {(person, formed + i) for i, members in enumerate(new) for person in members},
            retired=ledger.retired | {(person, release) for person in made.retired},
            shown=ledger.shown | frozenset(shown),
            attended=ledger.attended | {(person, release) for person in ids},
        )


@dataclass
class Believed:
    """What one publication makes somebody believe."""

    weight: Fraction = Fraction(0)
    shown: Counter[frozenset[Pair]] = field(default_factory=Counter)  # all who were ever shown
    classes: set[frozenset[int]] = field(default_factory=set)

    def probability(self, pair: Pair, *, never: Pair | None = None) -> Fraction:
        """P(the person was ever published as a holder), for somebody who may know of another one
        that it never was."""
        worlds = {shown: weight for shown, weight in self.shown.items() if never not in shown}
        everything = sum(worlds.values())
        found = sum(weight for shown, weight in worlds.items() if pair in shown)
        return Fraction(found, everything) if everything else Fraction(0)


def believed(
    mechanism: Mechanism,
    registries: Sequence[Sequence[int]],
    belief: Belief,
    most: int | None = None,
) -> dict[Publication, Believed]:
    """By publication what it makes somebody believe whose prior is a mixture of laws, and who knows
    that no more than ``most`` people ever hold a value. Releases that were refused are not
    published."""
    everybody = sorted({person for registry in registries for person in registry})
    trajectories = sorted({seen for each in belief for seen in each}, key=repr)
    found: dict[Publication, Believed] = defaultdict(Believed)
    for world in product(trajectories, repeat=len(everybody)):
        weight = sum(prod(each.get(seen, 0) for seen in world) for each in belief)
        if not weight or (most is not None and sum(any(each) for each in world) > most):
            continue
        seen = dict(zip(everybody, world, strict=True))
        paths: dict[tuple[Publication, Ledger], Fraction] = {((), Ledger()): Fraction(weight)}
        for j, registry in enumerate(registries):
            further: dict[tuple[Publication, Ledger], Fraction] = defaultdict(Fraction)
            now = {person: seen[person][j] for person in registry}
            for (public, ledger), chance in paths.items():
                for (more, after), draw in mechanism.released(ledger, j + 1, now):
                    if more != REFUSED:
                        further[(*public, more), after] += chance * draw
            paths = further
        for (public, ledger), chance in paths.items():
            of = found[public]
            of.weight += chance
            of.shown[ledger.shown] += chance  # type: ignore[assignment]
            of.classes |= set(ledger.classes())
    return found


def laws(releases: int, value: str = "s") -> dict[str, dict[tuple[str, ...], int]]:
    """Ways in which a value may behave over time, by name, with a weight for each."""
    never, always = (CLEAN,) * releases, (value,) * releases
    markov = {}
    for held in product((CLEAN, value), repeat=releases):
        weight = 1 if held[0] else 3
        for before, now in pairwise(held):
            weight *= (1, 3)[bool(now)] if before else (7, 1)[bool(now)]
        markov[held] = weight
    return {
        "permanent": {never: 5, always: 2},
        "markov": markov,
        "periodic": {never: 4}
        | {
            tuple((CLEAN, value)[(j + odd) % 2] for j in range(releases)): 1 + odd for odd in (0, 1)
        },
        "exclusive": {never: 5}
        | {tuple((CLEAN, value)[i == j] for i in range(releases)): 1 for j in range(releases)},
        "new cases": {never: 2}
        | {tuple((CLEAN, value)[i >= j] for i in range(releases)): 1 for j in range(releases)},
    }


PRESENCE = {  # weights of being absent and present, for somebody without the value and with it
    "everybody": ((0, 1), (0, 1)),
    "by chance": ((1, 3), (1, 3)),
    "holders seldom": ((1, 2), (4, 1)),
    "holders always": ((2, 1), (0, 1)),
}


def law(
    holding: Mapping[tuple[str, ...], int], presence: tuple[tuple[int, int], tuple[int, int]]
) -> Law:
    """Trajectories from who holds the value when, and presence that may depend on it."""
    found: Counter[Trajectory] = Counter()
    for held, weight in holding.items():
        for here in product((0, 1), repeat=len(held)):
            seen = tuple(
                value if is_here else ABSENT for value, is_here in zip(held, here, strict=True)
            )
            chances = (presence[bool(v)][h] for v, h in zip(held, here, strict=True))
            found[seen] += weight * prod(chances)
    return {seen: weight for seen, weight in found.items() if weight}
