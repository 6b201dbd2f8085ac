"""What the kernels are given: a population, its history and the targets, as plain arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.kernels import Facts, Scratch
from serigraph.population import History, Population
from serigraph.privacy.targets import TargetRule


@dataclass(frozen=True)
class Demand:
    """What is asked of every group of a release."""

    rules: tuple[TargetRule, ...]  # of each protected value of the population
    minimum_size: int
    interleave: bool  # groups may overlap in space, since membership is published

    def base_targets(self, population: Population) -> NDArray[np.float64]:
        """The target of each protected value for a person without history."""
        return np.array(
            [
                rule.target(float(value.threshold), 0, 1.0)
                for rule, value in zip(self.rules, population.protected, strict=True)
            ],
            dtype=np.float64,
        )


def facts(
    population: Population,
    history: History,
    demand: Demand,
    weight: NDArray[np.uint8],
    key: NDArray[np.uint64],
) -> Facts:
    """Lay everything out as the kernels read it."""
    distinct = list(dict.fromkeys(zip(demand.rules, population.protected, strict=True)))
    kinds = list(dict.fromkeys((rule, value.threshold) for rule, value in distinct))
    row = {kind: number for number, kind in enumerate(kinds)}
    sizes = [max(domain.size, 1) for domain in population.domains]
    divergence = [
        np.append(domain.divergences(), np.int32(0)).astype(np.int32)
        for domain in population.domains
    ]
    with np.errstate(divide="ignore"):
        survived = np.log1p(-history.count / history.size[_group_of_entry(history)])
    return Facts(
        codes=np.ascontiguousarray(population.codes, dtype=np.int32),
        position=_joined([domain.positions() for domain in population.domains], np.float64),
        divergence=_joined(divergence, np.int32),
        offset=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        held_start=population.held_start,
        held=population.held,
        weight=weight,
        key=key,
        past=np.ascontiguousarray(history.groups.T),
        past_start=history.start,
        past_value=history.value,
        past_log=survived,
        base=demand.base_targets(population),
        rule=np.array(
            [
                row[(rule, value.threshold)]
                for rule, value in zip(demand.rules, population.protected, strict=True)
            ],
            dtype=np.int32,
        ),
        log_keep=np.array([math.log1p(-float(t)) for _, t in kinds], dtype=np.float64),
        factor=np.array([rule.factor for rule, _ in kinds], dtype=np.float64),
        ratio_length=np.array([len(rule.ratio_by_link) for rule, _ in kinds], dtype=np.int64),
        ratio_table=_table([rule.ratio_by_link for rule, _ in kinds]),
        share_length=np.array([len(rule.share_by_link) for rule, _ in kinds], dtype=np.int64),
        share_table=_table([rule.share_by_link for rule, _ in kinds]),
        minimum_size=demand.minimum_size,
        interleave=demand.interleave,
    )


def scratch(values: int) -> Scratch:
    """Room for a kernel that works with this many protected values."""
    return Scratch(
        count=np.zeros(values, dtype=np.int64),
        need=np.zeros(values, dtype=np.float64),
        links=np.zeros(values, dtype=np.int64),
        logs=np.zeros(values, dtype=np.float64),
        touched=np.zeros(values, dtype=np.int32),
        seen=np.zeros(values, dtype=np.int32),
        local=np.zeros(values, dtype=np.int32),
    )


def _group_of_entry(history: History) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(history.size)), np.diff(history.start))


def _joined(arrays: Sequence[NDArray[np.generic]], dtype: type) -> NDArray[np.generic]:
    return np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype)


def _table(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    width = max([1, *(len(row) for row in rows)])
    table = np.zeros((len(rows), width))
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
