"""Follows every pair of a person and a value through all releases, and counts where it stands.

What is counted at release j is what release j changed: sums along the releases give the state after
each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.compiled import kernel, kernel_helper

# A product of at most k factors (1 - c/n) carries a relative error below 3 k 2^-53: under 1e-12 for
# thousands of releases.
MARGIN = 1e-9


class Sightings(NamedTuple):
    """The groups that people were in, person by person, and ascending by release."""

    first: NDArray[np.integer]  # where those of each person begin, and where the last ends
    release: NDArray[np.integer]
    group: NDArray[np.integer]  # below zero: does not count


class Links(NamedTuple):
    """The values of groups, group by group."""

    start: NDArray[np.int64]  # where those of each group begin, and where the last ends
    value: NDArray[np.int32]
    risk: NDArray[np.float64]  # probability that a member of the group is linked to the value


class Changes(NamedTuple):
    """What each release changed; counted up in place."""

    pairs: NDArray[np.int64]  # linked for the first time
    total: NDArray[np.float64]  # of the probabilities
    by_probability: NDArray[np.int64]  # [release, bin]
    by_share: NDArray[np.int64]  # [release, part of the threshold]; the last bin lies above it
    above: NDArray[np.int64]  # pairs that exceed their threshold, as far as floats can tell


class Ends(NamedTuple):
    """What becomes of each person; written in place."""

    largest: NDArray[np.float64]  # probability of all pairs of the person
    largest_value: NDArray[np.int64]  # the value of that pair
    crossing: NDArray[np.int64]  # the first release at which a pair exceeds its threshold


@kernel_helper
def share_bin(probability: float, threshold: float, parts: int) -> int:
    """The part of its ``threshold`` that a ``probability`` lies in, each with its upper end; above
    the threshold, the number of ``parts``."""
    if probability > threshold + MARGIN:
        return parts
    return min(max(int(np.ceil(probability / threshold * parts - MARGIN)) - 1, 0), parts - 1)


@kernel_helper
def count_change(
    changes: Changes, release: int, before: float, after: float, threshold: float, is_new: bool
) -> None:
    """Note in ``changes`` that at a ``release`` the probability of a pair went from ``before`` to
    ``after``; a pair that ``is_new`` was in no bin. Its value has this ``threshold``."""
    by_probability, by_share = changes.by_probability[release], changes.by_share[release]
    bins, parts = len(by_probability), len(by_share) - 1
    if is_new:
        changes.pairs[release] += 1
    else:
        by_probability[min(int(before * bins), bins - 1)] -= 1
        by_share[share_bin(before, threshold, parts)] -= 1
    by_probability[min(int(after * bins), bins - 1)] += 1
    by_share[share_bin(after, threshold, parts)] += 1
    changes.total[release] += after - before


@kernel
def survey_exposures(
    sightings: Sightings,
    links: Links,
    threshold: NDArray[np.float64],
    adds: bool,
    changes: Changes,
    ends: Ends,
    worst: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Follow every (person, value) pair through all ``sightings`` of the person, and write the
    ``changes`` by each release, and how people end, ``ends``.

    The risks of ``links`` combine as independent ones do, or add up where ``adds``. ``threshold``
    is that of each value. ``worst[j]`` becomes the (person, value) with the largest probability
    among those that release j touches.

    Returns (person, value) of all pairs that came too close to their threshold for floats to
    decide; they count neither as above nor as crossing.
    """
    values = len(threshold)
    probability = np.zeros(values)
    is_seen = np.zeros(values, dtype=np.bool_)
    is_settled = np.zeros(values, dtype=np.bool_)
    seen = np.empty(values, dtype=np.int64)
    close_person = [np.int64(0) for _ in range(0)]
    close_value = [np.int64(0) for _ in range(0)]
    record = np.full(len(worst), -1.0)
    for person in range(len(sightings.first) - 1):
        number = 0
        for m in range(sightings.first[person], sightings.first[person + 1]):
            j, g = sightings.release[m], sightings.group[m]
            if g < 0:
                continue
            for e in range(links.start[g], links.start[g + 1]):
                v = links.value[e]
                risk, before = links.risk[e], probability[v]
                p = min(before + risk, 1.0) if adds else before + (1.0 - before) * risk
                probability[v] = p
                count_change(changes, j, before, p, threshold[v], not is_seen[v])
                if not is_seen[v]:
                    is_seen[v] = True
                    seen[number] = v
                    number += 1
                if p > record[j]:
                    record[j] = p
                    worst[j, 0], worst[j, 1] = person, v
                if not is_settled[v] and p > threshold[v] - MARGIN:
                    is_settled[v] = True
                    if p > threshold[v] + MARGIN:
                        changes.above[j] += 1
                        ends.crossing[person] = min(ends.crossing[person], j)
                    else:
                        close_person.append(np.int64(person))
                        close_value.append(np.int64(v))
        for k in range(number):
            v = seen[k]
            if probability[v] > ends.largest[person]:
                ends.largest[person] = probability[v]
                ends.largest_value[person] = v
            probability[v] = 0.0
            is_seen[v], is_settled[v] = False, False
    close = np.empty((len(close_person), 2), dtype=np.int64)
    for i in range(len(close_person)):
        close[i, 0], close[i, 1] = close_person[i], close_value[i]
    return close
