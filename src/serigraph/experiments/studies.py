"""The series of the study: the paper's figures, baselines, harder settings, strategies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from serigraph.experiments.series_generator import Simulation
from serigraph.experiments.setting import Setting
from serigraph.policy.strategy import (
    AdaptiveStrategy,
    ConstantStrategy,
    GeometricStrategy,
    ScheduleStrategy,
    StrategySection,
)
from serigraph.privacy.ratios import equal_ratio

FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9 = "figure-6", "figure-7", "figure-8", "figure-9"
BASELINES, HARDER, STRATEGIES = "baselines", "harder", "strategies"

DIVERSITIES = (3, 5, 7)
PLANNED_RELEASES = (5, 10, 20)  # k'
FACTORS = (2, 3, 5)  # alpha
RETURN_RATES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.95)
FEASIBLE_SHARES = (0.5, 0.7, 0.9, 1.1)
LINKS_PLANNED = 20
EVERY_VALUE = Fraction(1)


@dataclass(frozen=True)
class Extent:
    """How much of the study is run; smaller ones are for tests and for a first look."""

    rounds: int = 20
    queries: int = 5000
    people_in_strategies: int = 5_000  # many series are compared, so that each is a small one
    return_rates: tuple[float, ...] = RETURN_RATES


def all_settings(extent: Extent, seed: int) -> list[Setting]:
    """Every series of the study, in the order of the page."""
    usual = Simulation(rounds=extent.rounds, seed=seed)
    measured = [*paper_settings(usual), *baseline_settings(usual), *harder_settings(usual)]
    return [
        *(replace(each, queries=extent.queries) for each in measured),
        *strategy_settings(usual, extent.return_rates),
    ]


def constant(releases: int, *, replan: bool = True) -> StrategySection:
    return ConstantStrategy(releases=releases, replan=replan)


def geometric(factor: int, *, replan: bool = True) -> StrategySection:
    return GeometricStrategy(name="geometric", factor=Fraction(factor), replan=replan)


def adaptive(releases: int) -> StrategySection:
    return AdaptiveStrategy(releases=releases)


def paper_settings(simulation: Simulation) -> list[Setting]:
    """Figures 6 to 9: l with k' = 3 and with alpha = 3, then k' and alpha with l = 2.

    As in the paper: bottom-up, with the registry, and the rarest tenth of the values protected. Its
    constant ratio is fixed before the first release; its geometric strategy multiplies the minimum
    ratio, which follows from the links that a pair really had, and so is re-planned by definition.
    Its text does not say which k' and alpha its last figures show.
    """
    settings = [
        *(
            Setting(
                FIGURE_6,
                f"l = {diversity}",
                diversity=diversity,
                strategy=constant(3, replan=False),
            )
            for diversity in DIVERSITIES
        ),
        *(
            Setting(FIGURE_7, f"l = {diversity}", diversity=diversity, strategy=geometric(3))
            for diversity in DIVERSITIES
        ),
        *(
            Setting(FIGURE_8, f"k' = {each}", strategy=constant(each, replan=False))
            for each in PLANNED_RELEASES
        ),
        *(Setting(FIGURE_9, f"alpha = {each}", strategy=geometric(each)) for each in FACTORS),
    ]
    return [replace(each, simulation=simulation) for each in settings]


def baseline_settings(simulation: Simulation) -> list[Setting]:
    """What came before and what Serigraph does, on the same tables with one value a person.

    Anatomy and m-invariance protect every value, so all methods do here.
    """
    usual = Setting(
        BASELINES, "", simulation=simulation, is_single_valued=True, protected_share=EVERY_VALUE
    )
    own = adaptive(simulation.rounds)
    return [
        replace(usual, name="no protection", way="none"),
        replace(usual, name="Mondrian, l-diverse in each release", way="mondrian"),
        replace(usual, name="Anatomy, l-diverse in each release", way="anatomy"),
        replace(usual, name="m-invariance", way="m-invariance"),
        replace(usual, name="Serigraph, constant, generalised"),
        replace(
            usual, name="Serigraph, constant, bucketised", form="bucketised", method="top-down"
        ),
        replace(usual, name="Serigraph, constant, presence known", has_registry=False),
        replace(usual, name="Serigraph, geometric, generalised", strategy=geometric(2)),
        replace(usual, name="Serigraph, adaptive, generalised", strategy=own),
        replace(
            usual,
            name="Serigraph, adaptive, bucketised",
            strategy=own,
            form="bucketised",
            method="top-down",
        ),
        replace(
            usual, name="Serigraph, adaptive, presence known", strategy=own, has_registry=False
        ),
    ]


def harder_settings(simulation: Simulation) -> list[Setting]:
    """Harder than the paper: what it did not try, by its strategies, ours, and Mondrian."""
    own = adaptive(simulation.rounds)
    usual = Setting(HARDER, "the paper's setting", simulation=simulation)
    returning = replace(simulation, return_rate=0.8)
    conditions = [
        usual,
        replace(usual, name="every value protected", protected_share=EVERY_VALUE),
        replace(usual, name="80 % come back", simulation=returning),
        replace(
            usual,
            name="80 % come back, values persist",
            simulation=replace(returning, change_rate=0.0),
        ),
        replace(usual, name="no registry", has_registry=False),
        replace(usual, name="l = 10", diversity=10),
    ]
    by_strategy = [
        variant
        for each in conditions
        for variant in (
            replace(each, name=f"{each.name}: constant"),
            replace(each, name=f"{each.name}: geometric", strategy=geometric(2)),
            replace(each, name=f"{each.name}: adaptive", strategy=own),
            replace(each, name=f"{each.name}: Mondrian", way="mondrian"),
        )
    ]
    feasible = 1 / equal_ratio(1 - usual.threshold, LINKS_PLANNED)
    common = [
        replace(
            usual,
            name=f"commonest value at {share:.0%} of the feasible share: {name}",
            strategy=strategy,
            protected_share=EVERY_VALUE,
            has_registry=False,
            is_single_valued=True,
            common_share=share * feasible,
        )
        for share in FEASIBLE_SHARES
        for name, strategy in (("constant", usual.strategy), ("adaptive", own))
    ]
    return [*by_strategy, *common]


def link_chances(return_rate: float) -> tuple[Fraction, ...]:
    """The chance of a j-th link where everybody comes back with this rate: q^(j-1)."""
    rate = Fraction(str(return_rate))
    # Chances far below one link in a million series would only strain the solver.
    return tuple(max(rate**link, Fraction(1, 10**12)) for link in range(LINKS_PLANNED))


def strategies_for(return_rate: float) -> dict[str, StrategySection]:
    """The strategies that are compared, by name."""
    chances = link_chances(return_rate)
    return {
        "constant, as planned": constant(LINKS_PLANNED, replan=False),
        "constant, re-planned": constant(LINKS_PLANNED),
        "geometric, as planned": geometric(2, replan=False),
        "geometric, re-planned": geometric(2),
        "optimal for the rate, as planned": ScheduleStrategy.model_validate(
            {"name": "schedule", "link_chances": list(chances), "replan": False}
        ),
        "optimal for the rate, re-planned": ScheduleStrategy.model_validate(
            {"name": "schedule", "link_chances": list(chances)}
        ),
        "adaptive": adaptive(LINKS_PLANNED),
    }


def strategy_settings(simulation: Simulation, return_rates: tuple[float, ...]) -> list[Setting]:
    """Every strategy at every return rate, where values persist: links come again and again."""
    return [
        Setting(
            STRATEGIES,
            f"{rate}: {name}",
            strategy=strategy,
            method="top-down",
            simulation=replace(simulation, return_rate=rate, change_rate=0.0),
            protected_share=Fraction(1, 4),
            queries=0,
        )
        for rate in return_rates
        for name, strategy in strategies_for(rate).items()
    ]
