"""What a run of the whole study gave."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from serigraph.experiments.claims import Claim
from serigraph.experiments.studies import Extent


@dataclass(frozen=True)
class Study:
    """All tables by the name of their CSV file, the paper's claims, and the times."""

    source: str
    people: int
    reactions: int
    values: int
    extent: Extent
    tables: dict[str, pl.DataFrame]
    claims: tuple[Claim, ...]
    claims_of_time: tuple[Claim, ...]
    seconds: pl.DataFrame
