"""Group sizes and precision on several data sets: ``python -m benchmarks.grouping``.

Prints a table, and writes the same as JSON. The bars: normalised width of generalised groups at
least 20 % below plain median splitting; bucketised groups with a protected value within 5 % of the
smallest size that the target allows where no value has more than 70 % of
the share that the target allows.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.data_sets import DataSet
from benchmarks.generated_people import generated_data_sets
from benchmarks.median_splitting import median_splitting
from benchmarks.real_people import real_data_sets
from serigraph.grouping import Demand, Grouping, Method, form_groups
from serigraph.model import Past, Population
from serigraph.recoding import normalised_widths
from serigraph.runtime.randomness import SeededRandomness

NARROWER = 0.8
NEAR_SMALLEST = 1.05
FREQUENT = 0.7


@dataclass(frozen=True)
class Measured:
    """One way of grouping one data set."""

    data: str
    people: int
    protected: int
    commonest: float  # share of the commonest value, over what the target allows
    registry: bool
    form: str
    method: str
    smallest: int  # ceil(target), the largest of all values
    mean: float  # size of groups that hold a protected value
    largest: int
    width: float  # NCP
    median_width: float  # of plain median splitting
    stronger_width: float  # of the variant that tries all columns
    seconds: float

    @property
    def ratio(self) -> float:
        return self.width / self.median_width if self.median_width else math.nan

    @property
    def is_within_bar(self) -> bool | None:
        """None where the bar does not apply."""
        if self.form == "generalised":
            return self.ratio <= NARROWER
        if self.commonest > FREQUENT:
            return None
        return self.mean <= NEAR_SMALLEST * self.smallest


def measure(
    data: DataSet, registry: bool, minimum_size: int, seed: int, *, blind: bool = False
) -> Iterator[Measured]:
    """Group a data set in both forms and by both methods."""
    population = data.population
    rules = tuple(data.strategy.rule(value.threshold) for value in population.protected)
    base = Demand(rules, minimum_size, interleave=False).base_targets(population)
    widths = [
        _width(
            population,
            median_splitting(population, base, minimum_size, tries_other_columns=tries),
        )
        for tries in (False, True)
    ]
    for form in ("generalised", "bucketised"):
        for method in get_args(Method):
            demand = Demand(rules, minimum_size, interleave=form == "bucketised", blind=blind)
            yield _measured(data, registry, demand, form, method, base, widths, seed)


def _measured(
    data: DataSet,
    registry: bool,
    demand: Demand,
    form: str,
    method: Method,
    base: NDArray[np.float64],
    widths: list[float],
    seed: int,
) -> Measured:
    population = data.population
    history = Past.none(population.size)
    weight = np.ones(population.size, dtype=np.uint8)
    keys = SeededRandomness(seed).keys(population.size)
    begin = time.perf_counter()
    formed = form_groups(population, history, demand, method, weight, keys)
    seconds = time.perf_counter() - begin
    if not isinstance(formed, Grouping):
        raise SystemExit("people without a past cannot have used anything up")
    group = formed.group
    sizes = np.bincount(group)
    holding = np.bincount(population.held, minlength=len(base))
    holders = np.repeat(np.arange(population.size), np.diff(population.held_start))
    with_value = sizes[np.unique(group[holders])]
    return Measured(
        data=data.name,
        people=population.size,
        protected=len(population.protected),
        commonest=float((holding * base).max() / population.size),
        registry=registry,
        form=form,
        method=method,
        smallest=math.ceil(base.max() - 1e-9),
        mean=float(with_value.mean()),
        largest=int(with_value.max()),
        width=_width(population, group),
        median_width=widths[0],
        stronger_width=widths[1],
        seconds=seconds,
    )


def _width(population: Population, group: NDArray[np.int64]) -> float:
    is_point = np.zeros(int(group.max()) + 1, dtype=np.bool_)
    return float(normalised_widths(population, group, is_point).mean())


def _compile(seed: int) -> None:
    """Compile the kernels before anything is timed."""
    for data in generated_data_sets(200, seed):
        list(measure(data, False, 1, seed))


TITLE = "Groups: sizes, and normalised width against median splitting"
HEADINGS = (
    "data", "registry", "form", "method", "commonest", "smallest", "mean", "largest", "NCP",
    "median", "all columns", "ratio", "seconds", "bar",
)  # fmt: skip
WORDS = 4  # headings of columns that hold no figures


def _cells(row: Measured) -> tuple[str, ...]:
    return (
        row.data,
        "yes" if row.registry else "no",
        row.form,
        row.method,
        f"{row.commonest:.0%}",
        str(row.smallest),
        f"{row.mean:.2f}",
        str(row.largest),
        f"{row.width:.4f}",
        f"{row.median_width:.4f}",
        f"{row.stronger_width:.4f}",
        f"{row.ratio:.2f}",
        f"{row.seconds:.2f}",
        {True: "met", False: "MISSED", None: "-"}[row.is_within_bar],
    )


def _printed(rows: list[Measured]) -> Table:
    table = Table(title=TITLE)
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if number < WORDS else "right")
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _markdown(rows: list[Measured]) -> str:
    """The same for the documentation, without seconds, which say more about the machine."""
    kept = [number for number, heading in enumerate(HEADINGS) if heading != "seconds"]
    lines = [HEADINGS, ["---"] * WORDS + ["---:"] * (len(HEADINGS) - WORDS), *map(_cells, rows)]
    return "\n".join("| " + " | ".join(line[number] for number in kept) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=50_000, help="people in a data set, at most")
    parser.add_argument("--data", type=Path, help="folder with adult/ and vaers/")
    parser.add_argument("--minimum-size", type=int, default=1, help="k-anonymity floor")
    parser.add_argument("--cuts", choices=("counts", "blind"), default="counts", help="as a policy")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", action="store_true", help="print the table for the docs")
    parser.add_argument("--out", type=Path, default=Path("bench-out/grouping.json"))
    given = parser.parse_args()
    _compile(given.seed)
    sets = list(generated_data_sets(given.rows, given.seed))
    if given.data is not None:
        sets += list(real_data_sets(given.data, given.rows, given.seed))
    rows: list[Measured] = []
    for data in sets:
        for registry in (False, True):
            shown = data.with_registry(np.random.default_rng(given.seed)) if registry else data
            is_blind = given.cuts == "blind"
            rows += measure(shown, registry, given.minimum_size, given.seed, blind=is_blind)
    if given.markdown:
        print(_markdown(rows))
    else:
        Console(width=170).print(_printed(rows))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "rows": given.rows,
        "seed": given.seed,
        "minimum_size": given.minimum_size,
        "cuts": given.cuts,
        "measured": [
            asdict(row) | {"ratio": row.ratio, "is_within_bar": row.is_within_bar} for row in rows
        ],
    }
    given.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"written to {given.out}")


if __name__ == "__main__":
    main()
