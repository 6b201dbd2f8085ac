"""Follows every charged pair through all releases, in floats with a margin.

Survival is multiplied in double precision. Pairs closer to their threshold than a margin far above
the rounding error are handed on, to be decided in fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.compiled import kernel
from serigraph.runtime.progress import Report
from serigraph.runtime.threads import parallel_map
from serigraph.verification.composition import Composition
from serigraph.verification.earlier import EarlierGroups

# A product of at most k factors (1 - c/n) carries a relative error below 3 k 2^-53: under 1e-12 for
# thousands of releases.
MARGIN = 1e-9

_SMALLEST = 1e-300  # clamps survival, to avoid slow denormals
_PAIRS = 1 << 20  # per block: enough that what a release held stays in a processor's cache


@dataclass(frozen=True)
class Survey:
    """Pairs that need an exact look: a row each, a charged person and an entry."""

    close: NDArray[np.int64]  # within the margin of their threshold, or above it
    worst: NDArray[np.int64]  # the pair with the largest probability of each charged value


def survey(
    composition: Composition,
    earlier: Sequence[EarlierGroups],
    thresholds: Sequence[Fraction],
    report: Report,
) -> Survey:
    """Follow every pair; thresholds are those of the values."""
    limit = np.array([float(each) for each in thresholds]) - MARGIN
    now = 1.0 - composition.count / np.repeat(composition.size, np.diff(composition.start))
    survivals = [1.0 - each.count / np.repeat(each.size, np.diff(each.start)) for each in earlier]

    def follow(part: slice) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        person, group = composition.member[part], composition.member_group[part]
        start, value = composition.start, composition.value
        survival = now[_entries(start, group)]
        for release, survived in zip(earlier, survivals, strict=True):
            _multiply(
                *(release.group[person], group, start, value, len(limit)),
                *(release.start, release.value, survived, survival),
            )
        largest, worst = np.full(len(limit), -1.0), np.zeros((len(limit), 2), dtype=np.int64)
        close = np.empty((len(survival), 2), dtype=np.int64)
        found = _compare(person, group, start, value, limit, survival, largest, worst, close)
        return largest, worst, close[:found].copy()

    parts = parallel_map(follow, _parts(composition), report)
    largest = np.stack([part[0] for part in parts])
    worst = np.stack([part[1] for part in parts])
    at = largest.argmax(axis=0)
    value = np.flatnonzero(largest.max(axis=0) >= 0)
    return Survey(np.concatenate([part[2] for part in parts]), worst[at[value], value])


def _parts(composition: Composition) -> list[slice]:
    """Members in parts with about the same number of pairs."""
    pairs = np.cumsum(np.diff(composition.start)[composition.member_group])
    total = int(pairs[-1]) if len(pairs) else 0
    ends = np.searchsorted(pairs, np.arange(_PAIRS, total, _PAIRS)) + 1
    bounds = np.unique([0, *ends.tolist(), len(pairs)]).tolist()
    return [slice(*each) for each in pairwise(bounds)] or [slice(0, 0)]


def _entries(start: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """The entries of these groups, concatenated.

    >>> _entries(np.array([0, 2, 3]), np.array([1, 0])).tolist()
    [2, 0, 1]
    """
    lengths = start[group + 1] - start[group]
    before = np.cumsum(lengths) - lengths
    return np.repeat(start[group] - before, lengths) + np.arange(lengths.sum())


@kernel
def _multiply(  # the arrays of this release and of an earlier one
    was: NDArray[np.int32],
    group: NDArray[np.int64],
    start: NDArray[np.int64],
    value: NDArray[np.uint32],
    values: int,
    was_start: NDArray[np.int64],
    was_value: NDArray[np.uint32],
    was_survival: NDArray[np.float64],
    survival: NDArray[np.float64],
) -> None:
    """Multiply the survival of pairs by the factors of an earlier release.

    Member i was in group ``was[i]`` of that release, or in none (-1), and is in ``group[i]`` now;
    groups ascend. Each ``value`` is below ``values``, and those of group g begin at ``start[g]``;
    ``was_start`` and ``was_value`` say the same of that release, and ``was_survival`` has the
    factor of each of its values. ``survival`` has an entry for each value of the group of each
    member, member by member.
    """
    slot = np.full(values, -1, dtype=np.int64)  # where a value is in the current group, or -1
    last = np.int64(-1)
    first = 0
    for i in range(len(was)):
        begin, end = start[group[i]], start[group[i] + 1]
        if group[i] != last:
            if last >= 0:
                for e in range(start[last], start[last + 1]):
                    slot[value[e]] = -1
            for e in range(begin, end):
                slot[value[e]] = e - begin
            last = group[i]
        if was[i] >= 0:
            # Unsigned: Numba asks of every other place whether it counts from the end, which took a
            # third of the time of this loop.
            for e in range(np.uint64(was_start[was[i]]), np.uint64(was_start[was[i] + 1])):
                k = slot[was_value[e]]
                if k >= 0:
                    left = survival[first + k] * was_survival[e]
                    survival[first + k] = max(left, _SMALLEST)
        first += end - begin


@kernel
def _compare(  # the arrays of this release, and four of results
    person: NDArray[np.int64],
    group: NDArray[np.int64],
    start: NDArray[np.int64],
    value: NDArray[np.uint32],
    limit: NDArray[np.float64],
    survival: NDArray[np.float64],
    largest: NDArray[np.float64],
    worst: NDArray[np.int64],
    close: NDArray[np.int64],
) -> int:
    """Write for each value its ``largest`` probability and the ``worst`` pair, which has it; and
    the pairs ``close`` to their threshold, which exceed the ``limit`` of the value. Returns how
    many these are. Members are each a ``person``; ``group``, ``start``, ``value`` and ``survival``
    are as in ``_multiply``."""
    pair = 0
    found = 0
    for i in range(len(group)):
        for e in range(start[group[i]], start[group[i] + 1]):
            v = value[e]
            p = 1.0 - survival[pair]
            pair += 1
            if p > largest[v]:
                largest[v] = p
                worst[v, 0], worst[v, 1] = person[i], e
            if p > limit[v]:
                close[found, 0], close[found, 1] = person[i], e
                found += 1
    return found
