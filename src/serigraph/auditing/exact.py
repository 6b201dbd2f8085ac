"""Pairs that floats cannot decide, decided in fractions; equal histories are decided once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.evidence import Assumption, Evidence
from serigraph.privacy.breach import boole_bound, breach_probability, is_within_guarantee
from serigraph.records import Exposure

_CHUNK = 500_000  # pairs at a time: their histories are spelt out


def histories(
    evidence: Evidence,
    assumption: Assumption,
    person: NDArray[np.int64],
    value: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Size and count of each pair in each release: two arrays [pair, release], 0 where no link."""
    size = np.zeros((len(person), evidence.releases), dtype=np.int64)
    count = np.zeros((len(person), evidence.releases), dtype=np.int64)
    if not len(evidence.value):
        return size, count
    for release in range(evidence.releases):
        group = assumption.group[release, person].astype(np.int64)
        entry = _entries(evidence, group, value)
        is_linked = (group >= 0) & (entry < evidence.start[group + 1])
        is_linked &= evidence.value[np.minimum(entry, len(evidence.value) - 1)] == value
        size[is_linked, release] = assumption.size[entry[is_linked]]
        count[is_linked, release] = evidence.count[entry[is_linked]]
    return size, count


def _entries(
    evidence: Evidence, group: NDArray[np.int64], value: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Where each value is, or would be, among the entries of a group: bisection, all at once."""
    low, high = evidence.start[group].copy(), evidence.start[group + 1].copy()
    while (low < high).any():
        middle = (low + high) // 2
        is_open = low < high
        is_below = is_open & (evidence.value[np.where(is_open, middle, 0)] < value)
        low = np.where(is_below, middle + 1, low)
        high = np.where(is_open & ~is_below, middle, high)
    return low


def crossings(
    evidence: Evidence, assumption: Assumption, close: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The release after which each pair exceeded its threshold, or the number of releases."""
    found = np.full(len(close), evidence.releases, dtype=np.int64)
    known: dict[tuple[object, ...], int] = {}
    for begin in range(0, len(close), _CHUNK):
        pairs = close[begin : begin + _CHUNK]
        size, count = histories(evidence, assumption, pairs[:, 0], pairs[:, 1])
        for which, sizes, counts, number in _distinct(size, count, pairs[:, 1]):
            threshold = evidence.thresholds[number]
            history = (threshold, *sizes, *counts)
            if history not in known:
                known[history] = _crossing(sizes, counts, threshold, assumption.adds)
            found[begin + which] = known[history]
    return found


def largest_probability(
    evidence: Evidence,
    assumption: Assumption,
    person: NDArray[np.int64],
    value: NDArray[np.int64],
) -> Fraction:
    """The largest breach probability of these pairs, exactly."""
    largest = Fraction(0)
    for begin in range(0, len(person), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        size, count = histories(evidence, assumption, person[chunk], value[chunk])
        for _, sizes, counts, _ in _distinct(size, count, np.zeros(len(size), dtype=np.int64)):
            largest = max(largest, probability(exposures(sizes, counts), assumption.adds))
    return largest


def exposures(sizes: list[int], counts: list[int]) -> list[Exposure]:
    """The exposures of one history, without the releases that have none."""
    return [Exposure(n, c) for n, c in zip(sizes, counts, strict=True) if n]


def probability(of: list[Exposure], adds: bool) -> Fraction:
    """The breach probability, or the sum of those of single releases."""
    return boole_bound(of) if adds else breach_probability(of)


def _crossing(sizes: list[int], counts: list[int], threshold: Fraction, adds: bool) -> int:
    for release in range(1, len(sizes) + 1):
        known = exposures(sizes[:release], counts[:release])
        is_within = (
            boole_bound(known) <= threshold if adds else is_within_guarantee(known, threshold)
        )
        if not is_within:
            return release - 1
    return len(sizes)


def _distinct(
    size: NDArray[np.int64], count: NDArray[np.int64], value: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], list[int], list[int], int]]:
    """Each distinct history with the places of the pairs that have it."""
    releases = size.shape[1]
    columns = {f"n{j}": size[:, j] for j in range(releases)}
    columns |= {f"c{j}": count[:, j] for j in range(releases)}
    columns["value"] = value
    grouped = (
        pl.DataFrame(columns).with_row_index("place").group_by(list(columns)).agg(pl.col("place"))
    )
    for row in grouped.iter_rows():
        places = np.array(row[-1], dtype=np.int64)
        yield places, list(row[:releases]), list(row[releases : 2 * releases]), int(row[-2])
