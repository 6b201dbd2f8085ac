"""Where a study's people and values come from: a list of people, and who had what."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl

from serigraph.errors import TableError
from serigraph.model import Kind

PERSON, VALUE = "person", "value"


@dataclass(frozen=True)
class Source:
    """The paper's *Reports* and *Reactions*, without missing cells.

    ``people`` has the column ``person`` and the quasi-identifiers, one row a person; ``reactions``
    has ``person`` and ``value``, one row for each value that a person ever had.
    """

    name: str
    people: pl.DataFrame
    reactions: pl.DataFrame
    kinds: Mapping[str, Kind]  # of each quasi-identifier

    def __post_init__(self) -> None:
        if self.people.is_empty() or self.reactions.is_empty():
            raise TableError(
                "no person with complete quasi-identifiers and a value is left",
                where=self.name,
                remedy="check that people and values name persons alike, and that no column of the "
                "people is empty throughout",
            )

    @staticmethod
    def of(
        name: str, people: pl.DataFrame, reactions: pl.DataFrame, kinds: Mapping[str, Kind]
    ) -> Source:
        """Without missing cells and people who are not in both tables, as in the paper."""
        listed = people.select(PERSON, *kinds).drop_nulls().unique(PERSON, keep="first")
        pairs = reactions.select(PERSON, VALUE).drop_nulls().unique(maintain_order=True)
        listed = listed.join(pairs, on=PERSON, how="semi").sort(PERSON)
        pairs = pairs.join(listed, on=PERSON, how="semi", maintain_order="left")
        return Source(name, listed, pairs, kinds)

    def numbered(self) -> Source:
        """The same with numbers instead of the persons' ids, in the order of the ids."""
        number = self.people.select(PERSON).with_row_index("number")
        return replace(
            self,
            people=self.people.with_columns(number["number"].cast(pl.Int64).alias(PERSON)),
            reactions=self.reactions.join(number, on=PERSON, maintain_order="left").select(
                pl.col("number").cast(pl.Int64).alias(PERSON), VALUE
            ),
        )

    def sampled(self, people: int, seed: int = 1) -> Source:
        """This many people, drawn at random, with their reactions; all if there are fewer."""
        if people >= self.people.height:
            return self
        drawn = np.random.Generator(np.random.Philox(seed)).permutation(self.people.height)
        kept = self.people[np.sort(drawn[:people])]
        return Source.of(self.name, kept, self.reactions, self.kinds)

    def rarest_values(self, share: Fraction = Fraction(1, 10)) -> tuple[str, ...]:
        """The least frequent values: the paper protects a tenth of the distinct ones."""
        counted = self.reactions.group_by(VALUE).len("times").sort("times", VALUE)
        return tuple(sorted(counted[VALUE].head(math.ceil(share * counted.height)).to_list()))
