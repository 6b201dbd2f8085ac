"""Where a series stands: how much of their budget the pairs of the ledger have spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from serigraph.model.past import Past
from serigraph.model.people import Population
from serigraph.privacy.adaptive import largest_share
from serigraph.privacy.link_chances import LEARNED_FROM, LinkGaps
from serigraph.runtime.threads import parallel_map, slices

BINS = 10
MOST_LINKS = 1024
_BLOCK = 1 << 18  # pairs per block, to fit a processor's cache
_NOTHING_LEFT = 1e-300  # stands for a survival of zero, which has no logarithm


@dataclass(frozen=True)
class Standing:
    """Counts only, no names: pairs by value and by tenth of their budget spent."""

    spent: NDArray[np.int64]  # [value, tenth]
    links: NDArray[np.int64]  # [value, number of links]
    largest_by_person: NDArray[np.float64]

    @property
    def pairs(self) -> int:
        return int(self.spent.sum())


def standing(past: Past, thresholds: Sequence[Fraction]) -> Standing:
    """Walk through the ledger and count how much everybody has spent (floats: for display).

    Not compiled: loading compiled code takes longer than this does on most ledgers.
    """
    values = max(len(thresholds), 1)
    survived = np.log(np.maximum(past.held.survival, _NOTHING_LEFT))
    budget = np.log1p(-np.array([float(each) for each in thresholds]))
    most = min(past.releases, MOST_LINKS)

    def part(people: slice) -> Standing:
        pairs = (people.stop - people.start) * values
        person, _, exposure = past.exposures(people)
        pair = person * values + past.held.value[exposure]
        times = np.bincount(pair, minlength=pairs)
        total = np.bincount(pair, survived[exposure], minlength=pairs)
        linked = np.flatnonzero(times)
        value = linked % values
        tenth = np.ceil(total[linked] / budget[value] * BINS - 1e-9).astype(np.int64) - 1
        return Standing(
            _table(value, np.clip(tenth, 0, BINS - 1), values, BINS),
            _table(value, np.minimum(times[linked], most), values, most + 1),
            -np.expm1(total.reshape(-1, values).min(axis=1, initial=0.0)),
        )

    longest = max(_BLOCK // values, 1)
    parts = parallel_map(part, slices(len(past.group), longest))
    return Standing(
        np.sum([each.spent for each in parts], axis=0)[: len(thresholds)],
        np.sum([each.links for each in parts], axis=0)[: len(thresholds)],
        np.concatenate([each.largest_by_person for each in parts]),
    )


def link_gaps(past: Past, values: int, out: int = 0) -> LinkGaps:
    """How many releases lay between the links of each pair, and since the last link, in the latest
    releases; ``out`` are out, if these are more than the past has."""
    out = max(out, past.releases)
    past = past.latest(LEARNED_FROM)
    releases = past.releases

    def part(people: slice) -> NDArray[np.int64]:
        person, release, exposure = past.exposures(people)
        pair = person * values + past.held.value[exposure]
        order = np.argsort(pair, kind="stable")  # the releases of a pair stay in order
        pair, release = pair[order], release[order]
        is_first, is_last = np.ones((2, len(pair)), dtype=np.bool_)
        is_first[1:] = is_last[:-1] = pair[1:] != pair[:-1]
        until = np.where(is_last, releases - 1, np.roll(release, -1))
        place = np.arange(len(pair))
        link = place - np.maximum.accumulate(np.where(is_first, place, 0))  # from 0
        kind = (link * releases + until - release) * 2 + is_last
        return np.bincount(kind, minlength=releases * releases * 2)

    if not releases:
        return LinkGaps()
    longest = max(_BLOCK // max(values, 1), 1)
    counts = np.sum(parallel_map(part, slices(len(past.group), longest)), axis=0)
    link, gap, is_last = np.unravel_index(np.flatnonzero(counts), (releases, releases, 2))
    return LinkGaps.of(
        zip(
            (link + 1).tolist(),
            gap.tolist(),
            (is_last == 1).tolist(),
            counts[counts > 0].tolist(),
            strict=True,
        ),
        out,
        len(past.group),
    )


def shares_of(
    population: Population, *, presence_known: bool, known_members: int = 0
) -> dict[str, float]:
    """The share of people who may hold each protected value in a later release, by counts of this
    one alone."""
    people = int(population.present.sum()) if presence_known else population.size
    holders = np.bincount(population.held, minlength=len(population.protected)).tolist()
    return {
        value.name: largest_share(number, max(people - known_members, 1))
        for value, number in zip(population.protected, holders, strict=True)
    }


def _table(
    row: NDArray[np.int64], column: NDArray[np.int64], rows: int, columns: int
) -> NDArray[np.int64]:
    """How often each row and column occur together."""
    counts = np.bincount(row * columns + column, minlength=rows * columns)
    return counts.reshape(rows, columns)
