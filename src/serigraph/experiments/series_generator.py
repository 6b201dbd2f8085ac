"""The paper's series of tables, TS_exp, made from reactions (Section 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from serigraph.errors import InputRefused
from serigraph.experiments.source import PERSON, VALUE, Source


@dataclass(frozen=True)
class Simulation:
    """How a series is made from a source; the defaults are the paper's."""

    rounds: int = 20
    return_rate: float = 0.2  # of the tuples of a table, those that are in the next one again
    change_rate: float = 0.2  # of the tuples of a table, those that get another value
    seed: int = 1

    def __post_init__(self) -> None:
        rates = (self.return_rate, self.change_rate)
        if self.rounds < 1 or not all(0 <= rate <= 1 for rate in rates):
            raise InputRefused(
                "a series needs at least one round, and rates between 0 and 1",
                remedy="correct --rounds, --return-rate or --change-rate",
            )


def simulated_tables(source: Source, simulation: Simulation) -> tuple[pl.DataFrame, ...]:
    """T_1, T_2, ...: rows of a person, its quasi-identifiers and a value.

    Reactions are cut at random into equal parts P_i. T_1 is P_1. T_i is P_i, with a share of the
    tuples of T_{i-1} drawn at random; then a share of the tuples gets the value of a tuple drawn
    from all reactions. A person may have several rows; what is equal in all columns is one row.
    """
    generator = np.random.Generator(np.random.Philox(simulation.seed))
    number = source.reactions.height
    if number < simulation.rounds:
        raise InputRefused(
            f"{number} reactions cannot be cut into {simulation.rounds} parts",
            remedy="ask for fewer rounds, or give more reactions",
        )
    names = source.reactions[VALUE].unique().sort()
    of_reaction = source.reactions[VALUE].cast(pl.Enum(names)).to_physical().to_numpy()
    parts = np.array_split(generator.permutation(number), simulation.rounds)
    tables: list[pl.DataFrame] = []
    who = np.empty(0, dtype=np.int64)  # the reaction whose person a tuple is about
    what = np.empty(0, dtype=of_reaction.dtype)
    for part in parts:
        back = generator.permutation(len(who))[: round(simulation.return_rate * len(who))]
        who = np.concatenate([part, who[back]])
        what = np.concatenate([of_reaction[part], what[back]])
        changed = generator.permutation(len(who))[: round(simulation.change_rate * len(who))]
        drawn = of_reaction[generator.integers(0, number, len(changed))]
        # The first table is its part as it is: nothing came before that could have changed.
        if tables:
            what[changed] = drawn
        tables.append(
            pl.DataFrame({PERSON: source.reactions[PERSON].gather(who), VALUE: names.gather(what)})
            .unique()
            .sort(PERSON, VALUE)
            .join(source.people, on=PERSON, maintain_order="left")
            .select(*source.people.columns, VALUE)
        )
    return tuple(tables)
