"""One series of the study: on which tables, by which method, under which promise."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl

from serigraph.engines import Form
from serigraph.experiments.series_generator import Simulation, simulated_tables
from serigraph.experiments.source import PERSON, VALUE, Source
from serigraph.grouping import Method
from serigraph.model import Population
from serigraph.policy import Policy
from serigraph.policy.strategy import ConstantStrategy, StrategySection
from serigraph.tables import prepare

Way = Literal["serigraph", "none", "mondrian", "anatomy", "m-invariance"]


@dataclass(frozen=True)
class Setting:
    """What one series of releases is made from and how; the defaults are the paper's."""

    study: str  # the part of the study that it belongs to
    name: str
    way: Way = "serigraph"
    diversity: int = 2  # l
    strategy: StrategySection = field(default_factory=ConstantStrategy)
    form: Form = "generalised"
    method: Method = "bottom-up"
    simulation: Simulation = field(default_factory=Simulation)
    protected_share: Fraction = Fraction(1, 10)  # of the distinct values, the rarest
    has_registry: bool = True
    is_single_valued: bool = False  # one value a person and table
    common_share: float = 0.0  # replace the values by few, the commonest with this share
    queries: int = 5000  # a release; none if 0
    blind: bool = False  # cuts never depend on where holders are

    @property
    def threshold(self) -> Fraction:
        return Fraction(1, self.diversity)

    @property
    def seed(self) -> int:
        """The seed of this series: its own, whatever else runs."""
        return zlib.crc32(f"{self.study}/{self.name}".encode())


def populations(setting: Setting, source: Source) -> list[Population]:
    """The people of each release, the registry's among them, prepared as for publishing."""
    if setting.common_share:
        source = with_common_values(source, setting.common_share, setting.simulation.seed)
    tables = simulated_tables(source, setting.simulation)
    if setting.is_single_valued:
        tables = tuple(
            one_value_each(table, setting.simulation.seed + number)
            for number, table in enumerate(tables)
        )
    policy = study_policy(source, setting)
    return [prepare(table, policy, source.people).population for table in tables]


def study_policy(source: Source, setting: Setting) -> Policy:
    """The policy of a setting, as a publisher would write it."""
    if setting.protected_share >= 1:
        protected: dict[str, object] = {"values": "all"}
    else:
        protected = {"values": list(source.rarest_values(setting.protected_share))}
    return Policy.model_validate(
        {
            "version": 1,
            "person": {"id": PERSON},
            "quasi_identifiers": {name: {"kind": kind} for name, kind in source.kinds.items()},
            "sensitive": {"column": VALUE, "form": "rows"},
            "protected": protected,
            "guarantee": {"l": setting.diversity},
        }
    )


def one_value_each(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Keep any one row of each person, as the paper's Section 1 assumes."""
    order = np.random.Generator(np.random.Philox(seed)).permutation(table.height)
    return table[order].unique(PERSON, keep="first", maintain_order=True).sort(PERSON)


def with_common_values(source: Source, largest_share: float, seed: int) -> Source:
    """The same people and numbers of reactions, with few values that are all common.

    Shares fall linearly from the largest to half of it.
    """
    values = max(2, round(1 / (0.75 * largest_share)))
    weight = np.linspace(1.0, 0.5, values)
    generator = np.random.Generator(np.random.Philox(seed))
    drawn = generator.choice(values, source.reactions.height, p=weight / weight.sum())
    names = pl.Series([f"common {number:03}" for number in range(values)])
    return Source.of(
        f"{source.name}, {values} common values",
        source.people,
        source.reactions.with_columns(names.gather(drawn).alias(VALUE)),
        source.kinds,
    )
