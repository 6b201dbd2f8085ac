"""Whether groups tell who holds a value: `make blindness`.

*Worlds* is the exact minimality attack on random small tables. The method is run in every world of
an instance, and worlds that give other groups are struck off. The lift is how much more probable
the likeliest member of a group becomes than n_s/n says; 1 means that every world gives the same
groups. Bucketised, what is compared are the cells that people are dealt in: dealing sees no
quasi-identifiers.

*Positions* asks of larger tables how often the member at a fixed position of its group is the
holder: first along a column, farthest from the middle. Tables of several seeds and of two spreads
of people are pooled, 10,000 held values each.

*Many* is the exact attack where many people hold the value, on tables of five places with ten
people each, who are alike: so that all worlds can be run.

Ends with 1 if a lift is above the bar: of positions, the upper end of its 95 % interval; of many,
only where cuts are blind.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import ClassVar, TypeVar

from grouping.blindness import BARS, bets_on_positions
from grouping.positions import Bets, pooled, telling
from grouping.releases import Spread, Values
from grouping.test_blind_cuts import groups_at_places, lift_over_splits, shared_places
from grouping.test_minimality import Shapes, cells, regions, worst_lift
from serigraph.grouping import Method

BAR = Fraction(105, 100)
PARTS = ("worlds", "many", "positions")
PEOPLE = {1: 60, 2: 20}  # by holders: worlds grow with both
WORLDS = 25  # as many times more of them are run on a table of many holders
WAYS: dict[str, tuple[Method, Shapes]] = {
    "generalised, top-down": ("top-down", regions),
    "generalised, bottom-up": ("bottom-up", regions),
    "bucketised": ("top-down", cells),
}


@dataclass(frozen=True)
class Worlds:
    """The instances of one kind: in how many some member was struck off, and how far that goes."""

    holders: int
    people: int
    form: str
    instances: int
    told: int
    lift: float  # the largest

    HEAD: ClassVar = (
        "holders",
        "people",
        "form",
        "instances",
        "with a member above n_s/n",
        "largest lift",
    )

    def cells(self) -> tuple[str, ...]:
        numbers = f"{self.holders}", f"{self.people}", self.form, f"{self.instances}"
        return *numbers, f"{self.told}", f"{self.lift:.2f}"


def worlds(instances: int) -> Iterator[Worlds]:
    for holders, people in PEOPLE.items():
        for form, (method, shapes) in WAYS.items():
            found = [worst_lift(seed, people, holders, method, shapes) for seed in range(instances)]
            told = sum(each > 1 for each in found)
            yield Worlds(holders, people, form, instances, told, float(max(found)))


@dataclass(frozen=True)
class Many:
    """The instances of one kind with many holders, in regions that are cut top-down."""

    holders: int
    past: bool
    cuts: str  # as a policy has it
    instances: int
    told: int
    lift: float  # the largest

    HEAD: ClassVar = ("holders", "past", "cuts", "tables", "above 1", "largest lift")

    def cells(self) -> tuple[str, ...]:
        numbers = f"{self.instances}", f"{self.told}", f"{self.lift:.2f}"
        return f"{self.holders}", "yes" if self.past else "no", self.cuts, *numbers


def many(instances: int) -> Iterator[Many]:
    for holders, past, cuts in product((7, 12), (False, True), ("counts", "blind")):
        found = []
        for seed in range(instances):
            problem = shared_places(seed, past, "top-down", cuts == "blind")
            found.append(lift_over_splits(holders, partial(groups_at_places, problem)))
        told = sum(each > 1 for each in found)
        yield Many(holders, past, cuts, instances, told, float(max(found)))


@dataclass(frozen=True)
class Positions:
    """The position at which the upper end of the lift is highest, of releases made in one way."""

    values: Values
    form: str
    tables: int
    position: str
    bets: int  # that chance makes right
    lift: float
    highest: float

    HEAD: ClassVar = (
        "values",
        "form",
        "tables",
        "highest at",
        "right by chance",
        "lift",
        "upper end",
    )

    def cells(self) -> tuple[str, ...]:
        named = self.values, self.form, f"{self.tables}", self.position
        return *named, f"{self.bets:,}", f"{self.lift:.3f}", f"{self.highest:.3f}"


def positions(seeds: int) -> Iterator[Positions]:
    each_values: tuple[Values, ...] = ("rare", "frequent")
    spreads: tuple[Spread, ...] = ("uniform", "clustered")
    for values in each_values:
        found: defaultdict[str, list[dict[str, Bets]]] = defaultdict(list)
        for seed in range(seeds):
            for spread in spreads:
                for way, each in bets_on_positions(spread, values, seed):
                    found[way].append(each)
        for way, releases in found.items():
            whole = telling(pooled(releases))
            worst = max(whole, key=lambda position: whole[position].highest)
            at = whole[worst]
            told = round(at.by_chance), at.lift, at.highest
            yield Positions(values, way, len(releases), worst, *told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--instances", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("bench-out/blindness.json"))
    given = parser.parse_args()
    content: dict[str, object] = {"bar": float(BAR), "bars of positions": BARS}
    is_above = False
    if "worlds" in given.parts:
        exact = list(_printed(Worlds.HEAD, worlds(given.instances)))
        content["worlds"] = [asdict(row) for row in exact]
        is_above |= any(row.lift > BAR for row in exact)
    if "many" in given.parts:
        among_many = list(_printed(Many.HEAD, many(-(-given.instances // WORLDS))))
        content["many"] = [asdict(row) for row in among_many]
        is_above |= any(row.lift > BAR for row in among_many if row.cuts == "blind")
    if "positions" in given.parts:
        measured = list(_printed(Positions.HEAD, positions(given.seeds)))
        content["positions"] = [asdict(row) for row in measured]
        is_above |= any(row.highest > BARS[row.values] for row in measured)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    sys.exit(is_above)


Row = TypeVar("Row", Worlds, Many, Positions)


def _printed(head: tuple[str, ...], rows: Iterator[Row]) -> Iterator[Row]:
    """The rows, printed one by one as a table for the documentation."""
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row.cells())} |", flush=True)
        yield row


if __name__ == "__main__":
    main()
