"""Follows every pair of a person and a value through all releases, and counts where it stands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.compiled import kernel, kernel_helper

# A product of at most k factors (1 - c/n) carries a relative error below 3 k 2^-53: under 1e-12 for
# thousands of releases.
MARGIN = 1e-9


@kernel_helper
def tenth(share: float, parts: int) -> int:
    """The part that a share of the threshold lies in; each holds its upper end."""
    return min(max(int(np.ceil(share * parts - MARGIN)) - 1, 0), parts - 1)


@kernel
def survey_exposures(
    first: NDArray[np.integer],
    release: NDArray[np.integer],
    group: NDArray[np.integer],
    start: NDArray[np.int64],
    value: NDArray[np.int32],
    risk: NDArray[np.float64],
    threshold: NDArray[np.float64],
    adds: bool,
    pairs: NDArray[np.int64],
    total: NDArray[np.float64],
    by_probability: NDArray[np.int64],
    by_share: NDArray[np.int64],
    above: NDArray[np.int64],
    worst: NDArray[np.int64],
    largest: NDArray[np.float64],
    largest_value: NDArray[np.int64],
    crossing: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Follow every (person, value) pair through all releases, and count where it stands after each.

    Person i was in the groups ``group[first[i]:first[i+1]]`` of these releases, ascending; those
    below zero do not count.

    ``risk`` is the probability of a link in each entry of a group. Risks combine as independent
    ones do, or add up where ``adds``. What is counted at release j is what release j changed, so
    that sums along the releases give the state after each: ``pairs`` linked for the first time,
    the ``total`` of the probabilities, and the two histograms: by the probability, and by its share
    of the threshold with one more bin for whatever lies above. ``above`` counts the pairs that
    float arithmetic can tell to exceed their threshold; ``crossing[person]`` is the release at
    which the first of them did. ``worst[j]`` is the (person, value) with the largest probability
    among those that j touches; ``largest`` and ``largest_value`` say for each person which it is at
    the end.

    Returns (person, value) of all pairs that came too close to their threshold for floats to
    decide; they are in neither ``above`` nor ``crossing``.
    """
    releases, people = len(pairs), len(first) - 1
    values = len(threshold)
    bins, shares = by_probability.shape[1], by_share.shape[1] - 1
    probability = np.zeros(values)
    is_seen = np.zeros(values, dtype=np.bool_)
    is_settled = np.zeros(values, dtype=np.bool_)
    seen = np.empty(values, dtype=np.int64)
    close_person = [np.int64(0) for _ in range(0)]
    close_value = [np.int64(0) for _ in range(0)]
    record = np.full(releases, -1.0)
    for person in range(people):
        number = 0
        for m in range(first[person], first[person + 1]):
            j, g = release[m], group[m]
            if g < 0:
                continue
            for e in range(start[g], start[g + 1]):
                v = value[e]
                before = probability[v]
                p = min(before + risk[e], 1.0) if adds else before + (1.0 - before) * risk[e]
                probability[v] = p
                at = min(int(p * bins), bins - 1)
                share = tenth(p / threshold[v], shares)
                if p > threshold[v] + MARGIN:
                    share = shares
                if is_seen[v]:
                    by_probability[j, min(int(before * bins), bins - 1)] -= 1
                    was = tenth(before / threshold[v], shares)
                    if before > threshold[v] + MARGIN:
                        was = shares
                    by_share[j, was] -= 1
                else:
                    is_seen[v] = True
                    seen[number] = v
                    number += 1
                    pairs[j] += 1
                by_probability[j, at] += 1
                by_share[j, share] += 1
                total[j] += p - before
                if p > record[j]:
                    record[j] = p
                    worst[j, 0] = person
                    worst[j, 1] = v
                if not is_settled[v] and p > threshold[v] - MARGIN:
                    is_settled[v] = True
                    if p > threshold[v] + MARGIN:
                        above[j] += 1
                        crossing[person] = min(crossing[person], j)
                    else:
                        close_person.append(np.int64(person))
                        close_value.append(np.int64(v))
        for k in range(number):
            v = seen[k]
            if probability[v] > largest[person]:
                largest[person] = probability[v]
                largest_value[person] = v
            probability[v] = 0.0
            is_seen[v] = False
            is_settled[v] = False
    close = np.empty((len(close_person), 2), dtype=np.int64)
    for i in range(len(close_person)):
        close[i, 0] = close_person[i]
        close[i, 1] = close_value[i]
    return close
