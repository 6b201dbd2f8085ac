"""What strategies cost: sizes of groups with a protected value, and errors of queries on them.

Five settings, each as whole series made by the real engine and verified: the clinic of `make demo`
with all its diagnoses drawn anew, the paper's setting, one where most people come back and keep
their values, a threshold of a tenth, and values that many hold; then return rates from .1 to .95.
Beside the strategies stand two that nobody can have. The *floor* is each release as if it were the
only one. The *clairvoyant* is the adaptive strategy that knows from the start how often pairs are
linked again: in place of the gaps so far it has those of the whole series of the same tables, as
the adaptive strategy made it. It does not know which pairs these are: no strategy asks for that.

Then the precision of bucketised releases: the NCP of the second and the third over that of the
first, beside the same tables grouped without a past.

Bars are for the means over the seeds. The exit code is 1 if one is missed; docs/explanation/
adaptive.md says which ones are, and why.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import numpy as np
import polars as pl
from examples import clinic

from serigraph._version import __version__
from serigraph.experiments.built_in import PEOPLE, built_in_source
from serigraph.experiments.run import run_populations
from serigraph.experiments.series_generator import Simulation
from serigraph.experiments.setting import Setting, populations
from serigraph.experiments.studies import RETURN_RATES, constant, geometric
from serigraph.model import Population
from serigraph.policy import Policy
from serigraph.policy.strategy import AdaptiveStrategy, StrategySection
from serigraph.privacy import Adaptive, LinkGaps, Strategy
from serigraph.privacy.ratios import equal_ratio
from serigraph.tables import prepare

RELEASES = 20
HALF = Fraction(1, 2)
ADAPTIVE, CLAIRVOYANT, FLOOR, RATES, PRECISION = (
    "adaptive",
    "clairvoyant",
    "floor",
    "rates",
    "precision",
)
WORSE = 1.1  # than the best of the other strategies that suppress nothing, at any return rate
USED = 0.8  # of the threshold, at least, by the end
COARSER = 1.3  # than the first release
QUERIES_FOR_PRECISION = 1  # NCP is measured with them


@dataclass(frozen=True)
class Bar:
    """The largest mean size, and the largest error, that the adaptive strategy may have."""

    size: float
    error: float


BARS = {
    "demo": Bar(6, 0.045),
    "paper": Bar(5.5, 0.06),
    "persisting": Bar(19, 0.105),
    "l = 10": Bar(28, 0.128),
    "common": Bar(8, 0.085),
}


def settings(queries: int) -> dict[str, Setting]:
    """The settings of the study, by the names of the bars; the demo's tables are its own."""
    usual = Setting("utility", "paper", queries=queries, simulation=Simulation(rounds=RELEASES))
    returning = Simulation(rounds=RELEASES, return_rate=0.8, change_rate=0.0)
    return {
        "demo": replace(usual, name="demo", diversity=3, method="top-down"),
        "paper": usual,
        "persisting": replace(usual, name="persisting", simulation=returning),
        "l = 10": replace(usual, name="l = 10", diversity=10),
        "common": replace(
            usual,
            name="common",
            protected_share=Fraction(1),
            has_registry=False,
            is_single_valued=True,
            common_share=0.5 / equal_ratio(HALF, RELEASES),
        ),
    }


def strategies(releases: int) -> dict[str, StrategySection]:
    return {
        ADAPTIVE: AdaptiveStrategy(name="adaptive", releases=releases),
        "constant": constant(releases),
        "geometric 2": geometric(2),
    }


def clinic_populations(seed: int) -> list[Population]:
    """The tables of `make demo`, with all protected diagnoses drawn anew in every half-year."""
    chance = np.random.default_rng(seed)
    everybody = clinic.registry(chance)
    passing, for_life = clinic.PASSING, clinic.FOR_LIFE
    clinic.PASSING, clinic.FOR_LIFE = passing | for_life, {}
    try:
        tables = clinic.half_years(everybody, chance)
    finally:
        clinic.PASSING, clinic.FOR_LIFE = passing, for_life
    given = tomllib.loads(clinic.policy())
    given["protected"] = {"values": [*passing, *for_life]}
    given["person"]["type"] = "integer"
    del given["quasi_identifiers"]["zip"]["taxonomy"]
    policy = Policy.model_validate(given)
    number = pl.col("patient").str.slice(1).cast(pl.Int64)
    return [
        prepare(table.with_columns(number), policy, everybody.with_columns(number)).population
        for table in tables
    ]


class Noting:
    """A strategy, and a way to count the links of the series that was made by it."""

    def __init__(self, section: StrategySection) -> None:
        self.section = section
        self.links: Callable[[], LinkGaps] = LinkGaps

    def strategy(self, links: Callable[[], LinkGaps], shares: Mapping[str, float]) -> Strategy:
        self.links = links  # asked again after the last release, it counts that one as well
        return self.section.strategy(links, shares)


@dataclass(frozen=True)
class Clairvoyant:
    """The adaptive strategy with the gaps of the whole series in place of those so far."""

    releases: int
    whole: LinkGaps

    def strategy(self, links: Callable[[], LinkGaps], shares: Mapping[str, float]) -> Strategy:
        out = links().releases
        people = round(self.whole.people * self.whole.releases / max(out, 1))  # keeps their rate
        return Adaptive(self.releases, replace(self.whole, releases=out, people=people), shares)


@dataclass(frozen=True)
class Measured:
    """One series, or the mean of several."""

    setting: str
    strategy: str
    seed: int  # 0: the mean
    size: float  # mean, of groups with a protected value
    error: float  # mean, of queries on protected values
    suppressed: float
    used: float  # the largest p over the threshold
    refused: int  # the first release that was, in any of the series, or 0

    @property
    def is_complete(self) -> bool:
        return not self.refused and not self.suppressed

    def line(self) -> str:
        figures = "  refused at once"
        if self.size:
            refused = f"  refused in release {self.refused}" if self.refused else ""
            figures = (
                f"{self.size:9.2f} {self.error:8.2%} {self.suppressed:10.4%} {self.used:7.1%}"
                f"{refused}"
            )
        return f"{self.setting:12} {self.strategy:12} {self.seed or 'mean':>4} {figures}"


@dataclass(frozen=True)
class Precise:
    """The NCP of the first releases, bucketised, and of the same tables without a past."""

    setting: str
    seed: int
    ncp: tuple[float, ...]
    without_past: tuple[float, ...]

    def ratios(self) -> tuple[float, ...]:
        """Of the later releases to the first."""
        return tuple(each / self.ncp[0] for each in self.ncp[1:])

    def line(self) -> str:
        without = [each / self.without_past[0] for each in self.without_past[1:]]
        return f"{self.setting:12} {self.seed:4} {self.ncp[0]:9.5f}" + "".join(
            f" {ratio:8.2f} ({other:.2f})"
            for ratio, other in zip(self.ratios(), without, strict=True)
        )


def series(setting: Setting, tables: Sequence[Population], name: str, seed: int) -> Measured:
    """A series by the strategy of this name."""
    found = run_populations(setting, tables).summary
    if "largest_p" not in found:
        return Measured(setting.name, name, seed, 0.0, 0.0, 0.0, 0.0, refused=1)
    return Measured(
        setting.name,
        name,
        seed,
        float(found["mean_size_with_protected_value"]),
        float(found["error_protected_mean"]),
        float(found["suppressed_share"]),
        float(found["largest_p"]) / float(setting.threshold),
        int(found["first_round_refused"]),
    )


def by_strategy(
    setting: Setting, tables: Sequence[Population], asked: Sequence[str], seed: int
) -> Iterator[Measured]:
    """A series by each strategy that is asked for; the clairvoyant goes by the adaptive one's."""
    sections = strategies(len(tables))
    noting = Noting(sections[ADAPTIVE])
    for name, section in sections.items():
        if name in asked:
            section = noting if name == ADAPTIVE else section
            yield series(replace(setting, strategy=section), tables, name, seed)
    if CLAIRVOYANT in asked and ADAPTIVE in asked:
        knowing = Clairvoyant(len(tables), noting.links())
        yield series(replace(setting, strategy=knowing), tables, CLAIRVOYANT, seed)
    if FLOOR in asked:
        alone = [
            series(replace(setting, strategy=constant(1)), [table], FLOOR, seed)
            for table in tables[:: max(len(tables) // 5, 1)]
        ]
        yield mean(alone, seed)


def mean(rows: Sequence[Measured], seed: int = 0) -> Measured:
    return Measured(
        rows[0].setting,
        rows[0].strategy,
        seed,
        fmean(row.size for row in rows),
        fmean(row.error for row in rows),
        fmean(row.suppressed for row in rows),
        fmean(row.used for row in rows),
        min((row.refused for row in rows if row.refused), default=0),
    )


def precision(setting: Setting, tables: Sequence[Population], seed: int) -> Precise:
    section = strategies(len(tables))[ADAPTIVE]
    setting = replace(
        setting,
        strategy=section,
        form="bucketised",
        method="top-down",
        queries=QUERIES_FOR_PRECISION,
    )
    made = run_populations(setting, tables[:3]).releases
    alone = [run_populations(setting, [table]).releases[0] for table in tables[:3]]
    return Precise(
        setting.name,
        seed,
        tuple(float(each["ncp"]) for each in made),
        tuple(float(each["ncp"]) for each in alone),
    )


def verdicts(means: Sequence[Measured], precise: Sequence[Precise]) -> Iterator[tuple[str, bool]]:
    """What was asked for, with what was found; and whether it was met."""
    for own in means:
        if own.strategy != ADAPTIVE:
            continue
        if own.setting in BARS:
            bar = BARS[own.setting]
            yield f"{own.setting}: size {own.size:.2f}, bar {bar.size:g}", own.size <= bar.size
            yield (
                f"{own.setting}: error {own.error:.2%}, bar {bar.error:.1%}",
                own.error <= bar.error,
            )
        else:
            others = [
                each.size
                for each in means
                if each.setting == own.setting
                and each.strategy not in (ADAPTIVE, CLAIRVOYANT, FLOOR)
                and each.is_complete
            ]
            best = min(others, default=own.size)
            text = f"{own.setting}: size {own.size:.2f}, bar {WORSE} x {best:.2f}"
            yield text, own.size <= WORSE * best
        refused = f"in release {own.refused}" if own.refused else "none"
        text = f"{own.setting}: suppressed {own.suppressed:.4%}, refused {refused}; bar none"
        yield text, own.is_complete
        yield f"{own.setting}: p/limit {own.used:.1%}, bar {USED:.0%}", own.used >= USED
    for name in dict.fromkeys(each.setting for each in precise):
        of_setting = [each.ratios() for each in precise if each.setting == name]
        for number, ratios in enumerate(zip(*of_setting, strict=True), 2):
            ratio = fmean(ratios)
            text = f"{name}: NCP of release {number} over the first {ratio:.2f}, bar {COARSER}"
            yield text, ratio <= COARSER


def asked_settings(options: argparse.Namespace) -> dict[str, Setting]:
    found = settings(options.queries)
    chosen = {name: each for name, each in found.items() if name in options.settings}
    for rate in RETURN_RATES if RATES in options.settings else ():
        simulation = Simulation(rounds=RELEASES, return_rate=rate, change_rate=0.0)
        chosen[f"return {rate}"] = replace(
            found["paper"],
            name=f"return {rate}",
            method="top-down",
            protected_share=Fraction(1, 4),
            simulation=simulation,
        )
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--settings", nargs="+", default=[*BARS, RATES])
    every = [*strategies(RELEASES), CLAIRVOYANT, FLOOR, PRECISION]
    parser.add_argument("--strategies", nargs="+", default=every)
    parser.add_argument("--cuts", choices=("counts", "blind"), default="counts", help="as a policy")
    parser.add_argument("--out", type=Path, default=Path("bench-out/utility.json"))
    options = parser.parse_args()
    rows: list[Measured] = []
    precise: list[Precise] = []
    print("setting      strategy     seed mean size    error suppressed p/limit")
    for seed in range(1, options.seeds + 1):
        source = built_in_source(options.people, seed)
        for name, setting in asked_settings(options).items():
            simulation = replace(setting.simulation, seed=seed)
            setting = replace(setting, simulation=simulation, blind=options.cuts == "blind")
            tables = (
                clinic_populations(2023 + seed) if name == "demo" else populations(setting, source)
            )
            for row in by_strategy(setting, tables, options.strategies, seed):
                rows.append(row)
                print(row.line(), flush=True)
            if PRECISION in options.strategies and name in BARS:
                precise.append(precision(setting, tables, seed))
    by_series = dict.fromkeys((row.setting, row.strategy) for row in rows)
    means = [
        mean([row for row in rows if (row.setting, row.strategy) == each]) for each in by_series
    ]
    for row in means:
        print(row.line())
    if precise:
        print("\nNCP          seed release 1  release 2, 3 over 1 (without a past)")
    for each in precise:
        print(each.line())
    found = list(verdicts(means, precise))
    print()
    for text, is_met in found:
        print(f"{'met' if is_met else 'MISSED':6} {text}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "version": __version__,
        "people": options.people,
        "queries": options.queries,
        "cuts": options.cuts,
        "series": [asdict(row) for row in rows],
        "means": [asdict(row) for row in means],
        "precision": [asdict(each) for each in precise],
        "bars": [{"bar": text, "is_met": is_met} for text, is_met in found],
    }
    options.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"\nWritten to {options.out}")
    sys.exit(not all(is_met for _, is_met in found))


if __name__ == "__main__":
    main()
