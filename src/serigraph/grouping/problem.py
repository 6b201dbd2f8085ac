"""The kernels' input: a population, its past and the targets, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.layout import COMPETING, PAST_BATCH, GroupingInput, Scratch
from serigraph.model import Past, Population
from serigraph.privacy.ratios import TargetRule

_ROUNDING = 1e-9  # far above the error of a product of a few thousand factors


@dataclass(frozen=True)
class Demand:
    """What every group of a release must satisfy."""

    rules: tuple[TargetRule, ...]  # one per protected value of the population
    minimum_size: int
    interleave: bool  # groups may overlap in space, since membership is published
    known_members: int = 0  # of every group: no cover for its values
    blind: bool = False  # cells are cut only where either side could have all holders

    def base_targets(self, population: Population) -> NDArray[np.float64]:
        """The target of each protected value for a person without a past."""
        return np.array(
            [
                rule.target(float(value.threshold), 0, 1.0)
                for rule, value in zip(self.rules, population.protected, strict=True)
            ],
            dtype=np.float64,
        )

    def history_within_budget(self, population: Population, past: Past) -> bool:
        """Whether nobody's past requires more than Theorem 1 does of people without a past.

        Judged by the worst exposure to each value alone, as if everybody had met it in every
        release: if that does not leave enough, each person's past has to be walked.
        """
        kept = np.ones(len(population.protected))
        np.minimum.at(kept, past.held.value, past.held.survival)
        after = kept**past.releases * (1.0 - 1.0 / self.base_targets(population))
        threshold = np.array([float(value.threshold) for value in population.protected])
        return bool((after > 1.0 - threshold + _ROUNDING).all())


def grouping_input(
    population: Population,
    past: Past,
    demand: Demand,
    weight: NDArray[np.uint8],
    key: NDArray[np.uint64],
) -> GroupingInput:
    """Lay everything out for the kernels; those that cut cells read narrow codes."""
    of_value = [
        (rule, value.threshold)
        for rule, value in zip(demand.rules, population.protected, strict=True)
    ]
    kinds = list(dict.fromkeys(of_value))
    row = {kind: number for number, kind in enumerate(kinds)}
    sizes = [max(domain.size, 1) for domain in population.domains]
    divergence = [
        np.append(domain.divergences(), np.int32(0)).astype(np.int32)
        for domain in population.domains
    ]
    holds_one = len(population.held) == population.size
    holds_one = holds_one and bool((population.held_start[1:] > population.held_start[:-1]).all())
    return GroupingInput(
        codes=_own(population.codes, np.int32),
        position=np.concatenate([domain.positions() for domain in population.domains]),
        divergence=np.concatenate(divergence),
        offset=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        has_taxonomy=np.array([domain.taxonomy is not None for domain in population.domains]),
        held_start=_own(population.held_start, np.int64),
        held=_own(population.held, np.int32),
        holds_one=holds_one,
        weight=_own(weight, np.uint8),
        key=_own(key.view(np.int64), np.int64),
        past=_own(past.group, np.int32),
        past_row=np.arange(population.size if past.releases else 0, dtype=np.uint32),
        past_start=_own(past.held.start, np.int64),
        past_exposure=_own(past.held.exposure, past.held.exposure.dtype.type),
        exposure_value=_own(past.held.value, np.int32),
        exposure_survival=past.held.survival,
        neediest=np.empty(0),
        base=demand.base_targets(population),
        rule=np.array([row[kind] for kind in of_value], dtype=np.int32),
        rules=_table(
            [
                (
                    float(1 - threshold),
                    rule.factor,
                    len(rule.ratio_by_link),
                    len(rule.share_by_link),
                    rule.reserve,
                    rule.least_spend,
                    rule.smallest_spend,
                    *rule.ratio_by_link,
                    *rule.share_by_link,
                )
                for rule, threshold in kinds
            ]
        ),
        counts_links=any(rule.ratio_by_link or rule.share_by_link for rule, _ in kinds),
        minimum_size=demand.minimum_size,
        known=demand.known_members,
        interleave=demand.interleave,
        blind=demand.blind,
    )


def narrow_codes(f: GroupingInput) -> type[np.generic]:
    """The type of codes for cutting and dealing: half as wide, unless a domain is very large."""
    largest = np.diff(f.offset, append=len(f.position)).max(initial=0)
    return np.uint16 if largest <= 2**16 else np.int32


def narrowed(f: GroupingInput) -> GroupingInput:
    """The same with narrow codes."""
    return f._replace(codes=f.codes.astype(narrow_codes(f)))


def scratch(f: GroupingInput) -> Scratch:
    """Scratch space for a kernel that works with this input."""
    values, releases = len(f.base), f.past.shape[1]
    return Scratch(
        holders=np.zeros(values, dtype=np.int64),
        need=np.zeros(values, dtype=np.float64),
        linked=np.zeros(values, dtype=np.int64),
        links=np.zeros(values, dtype=np.int64),
        survival=np.zeros(values, dtype=np.float64),
        spans=np.zeros((PAST_BATCH, 3, releases + 1), dtype=np.int64),
        right=np.zeros((values + 1, COMPETING), dtype=np.int32),
        touched=np.zeros(values + 1, dtype=np.uint32),
        local=np.zeros(values, dtype=np.uint32),
    )


def _own(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """The array in the one layout that the kernels are compiled for: contiguous and writable."""
    return np.require(array, dtype=dtype, requirements=["C", "W"])


def _table(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    table = np.zeros((len(rows), max([1, *(len(row) for row in rows)])))
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
