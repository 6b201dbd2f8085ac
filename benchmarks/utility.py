"""What strategies cost: sizes of groups with a protected value, and errors of queries on them.

Five settings, each as whole series made by the real engine and verified: the clinic of `make demo`
with all its diagnoses drawn anew, the paper's setting, one where most people come back and keep
their values, a threshold of a tenth, and values that many hold; then return rates from .1 to .95.
Beside the strategies stands the floor: each release as if it were the only one.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl
from examples import clinic

from serigraph.experiments.built_in import PEOPLE, built_in_source
from serigraph.experiments.run import Ran, run_populations
from serigraph.experiments.series_generator import Simulation
from serigraph.experiments.setting import Setting, populations
from serigraph.experiments.studies import RETURN_RATES, constant, geometric
from serigraph.model import Population
from serigraph.policy import Policy
from serigraph.policy.strategy import AdaptiveStrategy, StrategySection
from serigraph.privacy.ratios import equal_ratio
from serigraph.tables import prepare

RELEASES = 20
HALF = Fraction(1, 2)
FLOOR = "floor"


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
        "adaptive": AdaptiveStrategy(name="adaptive", releases=releases),
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


def floor_of(setting: Setting, tables: Sequence[Population]) -> Ran:
    """Each release as if it were the only one; the summary has the means."""
    ran = [
        run_populations(replace(setting, strategy=constant(1)), [table]).summary
        for table in tables[:: max(len(tables) // 5, 1)]
    ]
    means = {
        key: float(np.mean([float(each[key]) for each in ran]))
        for key in ("mean_size_with_protected_value", "error_protected_mean", "suppressed_share")
    }
    return Ran([], {**ran[0], **means}, [])


def row(name: str, strategy: str, seed: int, ran: Ran, threshold: Fraction) -> str:
    found = ran.summary
    if "largest_p" not in found:
        return f"{name:12} {strategy:12} {seed:4}  refused at once"
    size, error = found["mean_size_with_protected_value"], found["error_protected_mean"]
    met = ""
    if strategy == "adaptive" and name in BARS:
        bar = BARS[name]
        is_met = float(size) <= bar.size and float(error) <= bar.error
        is_met = is_met and not found["suppressed_share"] and not found["first_round_refused"]
        met = f"  bar {bar.size:g} / {bar.error:.1%}: {'met' if is_met else 'MISSED'}"
    return (
        f"{name:12} {strategy:12} {seed:4} {float(size):9.2f} {float(error):8.2%} "
        f"{float(found['suppressed_share']):9.3%} {float(found['largest_p']) / threshold:7.1%}{met}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--settings", nargs="+", default=[*BARS, "rates"])
    parser.add_argument("--strategies", nargs="+", default=[*strategies(RELEASES), FLOOR])
    options = parser.parse_args()
    print("setting      strategy     seed mean size    error suppressed p/limit")
    for seed in range(1, options.seeds + 1):
        source = built_in_source(options.people, seed)
        asked = settings(options.queries)
        if "rates" in options.settings:
            asked |= {
                f"return {rate}": replace(
                    asked["paper"],
                    name=f"return {rate}",
                    method="top-down",
                    protected_share=Fraction(1, 4),
                    simulation=Simulation(rounds=RELEASES, return_rate=rate, change_rate=0.0),
                )
                for rate in RETURN_RATES
            }
        for name, setting in asked.items():
            if name not in options.settings and not name.startswith("return"):
                continue
            setting = replace(setting, simulation=replace(setting.simulation, seed=seed))
            tables = (
                clinic_populations(2023 + seed) if name == "demo" else populations(setting, source)
            )
            for strategy, section in strategies(len(tables)).items():
                if strategy not in options.strategies:
                    continue
                ran = run_populations(replace(setting, strategy=section), tables)
                print(row(name, strategy, seed, ran, setting.threshold), flush=True)
            if FLOOR in options.strategies:
                floor = floor_of(setting, tables)
                print(row(name, FLOOR, seed, floor, setting.threshold), flush=True)


if __name__ == "__main__":
    main()
