"""Pairs that floats cannot decide, decided in fractions; equal histories are decided once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from serigraph.auditing.evidence import Assumption, Evidence
from serigraph.privacy.breach import boole_bound, breach_probability, is_within_guarantee
from serigraph.records import Exposure

_TOGETHER = 1 << 22  # pairs times releases: histories are spelt out


def histories(
    evidence: Evidence,
    assumption: Assumption,
    person: NDArray[np.int64],
    value: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Release, size and count of each link of each pair, oldest first: three arrays [pair, link],
    with sizes of 0 behind the last link."""
    known = evidence.memberships
    begin, lengths = known.first[person], known.first[person + 1] - known.first[person]
    pair = np.repeat(np.arange(len(person)), lengths)
    place = np.arange(len(pair)) + np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
    counts = assumption.group[place] >= 0
    pair, place = pair[counts], place[counts]
    group, wanted = assumption.group[place].astype(np.int64), value[pair]
    entry = _entries(evidence, group, wanted)
    is_linked = entry < evidence.start[group + 1]
    is_linked[is_linked] = evidence.value[entry[is_linked]] == wanted[is_linked]
    pair, place, entry = pair[is_linked], place[is_linked], entry[is_linked]
    links = np.bincount(pair, minlength=len(person))
    at = pair, np.arange(len(pair)) - np.repeat(np.cumsum(links) - links, links)
    release, size, count = np.zeros((3, len(person), links.max(initial=0)), dtype=np.int64)
    release[at], size[at] = known.release[place], assumption.size[entry]
    count[at] = evidence.count[entry]
    return release, size, count


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
    for chunk in _chunks(len(close), evidence.releases):
        pairs = close[chunk]
        release, size, count = histories(evidence, assumption, pairs[:, 0], pairs[:, 1])
        rows, which = _distinct(size, count, pairs[:, 1])
        crossed = []
        for sizes, counts, number in rows:
            threshold = evidence.thresholds[number]
            history = (threshold, *sizes, *counts)
            if history not in known:
                known[history] = _crossing(sizes, counts, threshold, assumption.adds)
            crossed.append(known[history])
        link = np.array(crossed)[which]
        exceeds = link >= 0
        found[chunk][exceeds] = release[exceeds, link[exceeds]]
    return found


def largest_probability(
    evidence: Evidence,
    assumption: Assumption,
    person: NDArray[np.int64],
    value: NDArray[np.int64],
) -> Fraction:
    """The largest breach probability of these pairs, exactly."""
    largest = Fraction(0)
    for chunk in _chunks(len(person), evidence.releases):
        _, size, count = histories(evidence, assumption, person[chunk], value[chunk])
        rows, _ = _distinct(size, count, np.zeros(len(size), dtype=np.int64))
        for sizes, counts, _ in rows:
            largest = max(largest, probability(exposures(sizes, counts), assumption.adds))
    return largest


def exposures(sizes: list[int], counts: list[int]) -> list[Exposure]:
    """The exposures of one history, without the places behind its last link."""
    return [Exposure(n, c) for n, c in zip(sizes, counts, strict=True) if n]


def probability(of: list[Exposure], adds: bool) -> Fraction:
    """The breach probability, or the sum of those of single releases."""
    return boole_bound(of) if adds else breach_probability(of)


def _crossing(sizes: list[int], counts: list[int], threshold: Fraction, adds: bool) -> int:
    """The link with which a pair exceeds its threshold, or -1."""
    known: list[Exposure] = []
    for link, exposure in enumerate(exposures(sizes, counts)):
        known.append(exposure)
        is_within = (
            boole_bound(known) <= threshold if adds else is_within_guarantee(known, threshold)
        )
        if not is_within:
            return link
    return -1


def _chunks(pairs: int, releases: int) -> Iterator[slice]:
    """As many pairs at a time as memory can hold over all releases."""
    step = max(_TOGETHER // max(releases, 1), 1)
    return (slice(begin, begin + step) for begin in range(0, pairs, step))


def _distinct(
    size: NDArray[np.int64], count: NDArray[np.int64], value: NDArray[np.int64]
) -> tuple[list[tuple[list[int], list[int], int]], NDArray[np.int64]]:
    """The distinct histories, and which of them each pair has."""
    links = size.shape[1]
    histories = np.ascontiguousarray(np.hstack([size, count, value[:, None]]))
    whole = histories.view(np.dtype((np.void, histories.itemsize * histories.shape[1])))
    _, first, which = np.unique(whole.ravel(), return_index=True, return_inverse=True)
    rows = [(row[:links], row[links:-1], row[-1]) for row in histories[first].tolist()]
    return rows, which
