"""Generated releases, large enough to measure where holders sit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.engines.interface import Form, Plan, VerifiedRelease
from serigraph.grouping import Method
from serigraph.model import Domain, Past, Population, ProtectedValue
from serigraph.privacy import ConstantRatio

Spread = Literal["uniform", "clustered"]
Values = Literal["rare", "frequent"]

THRESHOLD = Fraction(1, 2)
RELEASES = 5
TARGET = 7.725  # the constant ratio at 1/2 over five releases
UNPROTECTED = "none of them"


def plan(form: Form, method: Method, minimum_size: int = 1) -> Plan:
    return Plan(
        label="generated",
        strategy=ConstantRatio(RELEASES),
        form=form,
        method=method,
        minimum_size=minimum_size,
        is_presence_known=False,
        allows_suppression=False,
        sensitive="diagnosis",
    )


def generated(spread: Spread, values: Values, people: int, draw: np.random.Generator) -> Population:
    """People with four columns, the first of which tells everybody apart.

    Rare values: ten, held by one person in ten together. Frequent ones: everybody holds one of
    sixty, and the commonest have 68 % of the share that the target allows.
    """
    columns = _columns(spread, people, draw)
    codes = [np.unique(column, return_inverse=True) for column in columns]
    if values == "rare":
        names = [f"rare {number:02}" for number in range(10)]
        held = np.where(draw.random(people) < 0.1, draw.integers(0, 10, people), -1)
    else:
        names = [f"frequent {number:02}" for number in range(60)]
        held = draw.choice(60, people, p=_shares(60, 0.68 / TARGET))
    return with_values(
        Population(
            ids=pl.Series(range(people), dtype=pl.Int64),
            present=np.ones(people, dtype=np.bool_),
            domains=tuple(
                Domain(f"column {number}", "numeric", pl.Series(known))
                for number, (known, _) in enumerate(codes)
            ),
            codes=np.stack([code for _, code in codes]).astype(np.int32),
            protected=tuple(ProtectedValue(name, THRESHOLD) for name in names),
            held_start=np.zeros(people + 1, dtype=np.int64),
            held=np.empty(0, dtype=np.int32),
            values=pl.Series([[]] * people, dtype=pl.List(pl.String)),
            digest="",
        ),
        held,
    )


def with_values(population: Population, held: NDArray[np.int64]) -> Population:
    """The same people holding other values: an index each, or -1 for one without protection."""
    names = pl.Series([value.name for value in population.protected] + [UNPROTECTED])
    places = np.where(held >= 0, held, len(names) - 1)
    return replace(
        population,
        held_start=np.concatenate([[0], np.cumsum(held >= 0)]).astype(np.int64),
        held=held[held >= 0].astype(np.int32),
        values=names.gather(places).reshape((-1, 1)).arr.to_list(),
    )


def history_of(made: VerifiedRelease) -> Past:
    """What the ledger would know after a first release of the same people and values."""
    proof = made.proof
    number = {value.name: place for place, value in enumerate(made.population.protected)}
    entries = np.bincount(proof.value_group, minlength=len(proof.size))
    group = proof.group.astype(np.int32)
    return Past.of_groups(
        np.where(entries[group] > 0, group, -1).astype(np.int32).reshape(-1, 1),
        lengths=entries,
        value=[number[name] for name in proof.value_name],
        count=proof.value_count,
        size=proof.size,
    )


def _columns(spread: Spread, people: int, draw: np.random.Generator) -> list[NDArray[np.float64]]:
    if spread == "uniform":
        columns = [draw.random(people) * 1000 for _ in range(4)]
    else:
        centre = draw.integers(0, 25, people)
        columns = [
            np.clip(draw.uniform(0, 1000, 25)[centre] + draw.normal(0, 30, people), 0, 1000)
            for _ in range(4)
        ]
        columns[0] += draw.random(people)  # whoever was clipped is told apart again
    return [columns[0], *(np.round(column) for column in columns[1:])]


def _shares(values: int, largest: float) -> NDArray[np.float64]:
    """Shares that fall as 1/rank but where that would exceed the largest."""
    share = 1 / np.arange(1, values + 1)
    share /= share.sum()
    for _ in range(values):
        capped = share >= largest
        share[capped] = largest
        share[~capped] *= (1 - largest * capped.sum()) / share[~capped].sum()
    return share / share.sum()  # rounding must not offend the generator
