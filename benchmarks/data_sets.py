"""What the grouping benchmark is run on: a population, and the plan that it is grouped under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import Kind, Population, ProtectedValue, Taxonomy
from serigraph.privacy import ConstantRatio
from serigraph.tables.columns import coded


@dataclass(frozen=True)
class Column:
    """A quasi-identifier as it is read, before it is coded."""

    values: pl.Series
    kind: Kind
    taxonomy: Taxonomy | None = None


@dataclass(frozen=True)
class DataSet:
    """People that hold values, all of them present."""

    name: str
    population: Population
    strategy: ConstantRatio

    def with_registry(self, draw: np.random.Generator) -> DataSet:
        """The same people, half of them listed and not present."""
        population = self.population
        present = draw.random(population.size) < 0.5
        lengths = np.diff(population.held_start)
        used, held = np.unique(population.held[np.repeat(present, lengths)], return_inverse=True)
        return replace(
            self,
            population=replace(
                population,
                present=present,
                protected=tuple(population.protected[value] for value in used.tolist()),
                held_start=np.concatenate([[0], np.cumsum(lengths * present)]).astype(np.int64),
                held=held.astype(np.int32),
                values=population.values.filter(pl.Series(present)),
            ),
        )


def data_set(
    name: str,
    columns: Mapping[str, Column],
    held: Sequence[Sequence[str]] | pl.Series,
    *,
    threshold: Fraction,
    releases: int,
    largest_share: float = 1.0,
) -> DataSet:
    """Code the columns, and protect every value that is not too frequent.

    ``largest_share`` is a share of what the target allows: a value that more people hold is
    left unprotected, as a publisher would have to.
    """
    strategy = ConstantRatio(releases)
    values = pl.Series(held, dtype=pl.List(pl.String))
    people = len(values)
    allowed = largest_share / strategy.ratio(threshold, 0, Fraction(1))
    counts = (
        pl.DataFrame({"person": np.arange(people), "value": values})
        .filter(pl.col("value").list.len() > 0)
        .explode("value")
        .unique()
    )
    frequency = counts["value"].value_counts().sort("value")
    protected = frequency.filter(pl.col("count") <= allowed * people)["value"]
    numbered = pl.DataFrame({"value": protected}).with_row_index("number")
    pairs = counts.join(numbered, on="value").sort("person", "number")
    coding = [
        coded(each.values.alias(key), each.kind, each.taxonomy) for key, each in columns.items()
    ]
    lengths = np.bincount(pairs["person"].to_numpy(), minlength=people)
    return DataSet(
        name,
        Population(
            ids=pl.Series(range(people), dtype=pl.Int64),
            present=np.ones(people, dtype=np.bool_),
            domains=tuple(domain for domain, _ in coding),
            codes=np.stack([codes for _, codes in coding]),
            protected=tuple(ProtectedValue(value, threshold) for value in protected),
            held_start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            held=pairs["number"].to_numpy().astype(np.int32),
            values=values,
            digest="",
        ),
        strategy,
    )


def falling_shares(values: int, largest: float) -> NDArray[np.float64]:
    """Shares that fall as 1/rank, except where that would exceed the largest."""
    share: NDArray[np.float64] = 1 / np.arange(1, values + 1)
    share /= share.sum()
    for _ in range(values):
        capped = share >= largest
        share[capped] = largest
        share[~capped] *= (1 - largest * capped.sum()) / share[~capped].sum()
    return share
