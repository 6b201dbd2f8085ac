"""Compiled parts of the verifier. They share nothing with the kernels that form groups.

Survival is followed in floating point with a margin far above its error; whatever comes closer to
the threshold than the margin is handed back, to be decided in fractions.
"""

from __future__ import annotations

import numpy as np

from serigraph.compiled import kernel

# A product of at most k factors (1 - c/n) carries a relative error below 3 k 2^-53: under 1e-12 for
# thousands of releases.
MARGIN = 1e-9


@kernel
def survey_members(
    member_start,
    members,
    size,
    value_start,
    value,
    count,
    past,
    past_start,
    past_value,
    past_count,
    past_size,
    threshold,
):
    """Follow every (member, value) pair of every group through the past.

    Returns the number of pairs, the pair with the largest breach probability in floating point,
    and the pairs that are too close to their threshold, or above it, for floats to decide. A pair
    is (person, group, value).
    """
    values = len(threshold)
    survival = np.ones(values)
    inside = np.zeros(values, dtype=np.bool_)
    close_person = [np.int64(0) for _ in range(0)]
    close_group = [np.int64(0) for _ in range(0)]
    close_value = [np.int64(0) for _ in range(0)]
    pairs = 0
    largest = -1.0
    worst = np.full(3, -1, dtype=np.int64)
    for g in range(len(size)):
        begin, end = value_start[g], value_start[g + 1]
        if begin == end:
            continue
        for e in range(begin, end):
            inside[value[e]] = True
        for m in range(member_start[g], member_start[g + 1]):
            person = members[m]
            for e in range(begin, end):
                survival[value[e]] = 1.0 - count[e] / size[g]
            for j in range(past.shape[0]):
                was = past[j, person]
                if was >= 0:
                    for e in range(past_start[was], past_start[was + 1]):
                        v = past_value[e]
                        if inside[v]:
                            survival[v] *= 1.0 - past_count[e] / past_size[was]
            for e in range(begin, end):
                v = value[e]
                p = 1.0 - survival[v]
                if p > largest:
                    largest = p
                    worst[0], worst[1], worst[2] = person, g, v
                if p > threshold[v] - MARGIN:
                    close_person.append(person)
                    close_group.append(np.int64(g))
                    close_value.append(np.int64(v))
            pairs += end - begin
        for e in range(begin, end):
            inside[value[e]] = False
    close = np.empty((len(close_person), 3), dtype=np.int64)
    for i in range(len(close_person)):
        close[i, 0] = close_person[i]
        close[i, 1] = close_group[i]
        close[i, 2] = close_value[i]
    return pairs, worst, close


@kernel
def survey_past(
    past,
    past_start,
    past_value,
    past_count,
    past_size,
    threshold,
    bins,
    histogram,
    links,
    people_largest,
):
    """Where every (person, value) pair of the ledger stands, by the share of its budget spent.

    Adds to ``histogram[value, bin]`` (bin = spent share of the log budget times ``bins``) and to
    ``links[value, number of links]``; writes each person's largest probability.
    """
    values = len(threshold)
    survival = np.ones(values)
    seen = np.empty(values, dtype=np.int64)
    times = np.zeros(values, dtype=np.int64)
    for person in range(past.shape[1]):
        number = 0
        for j in range(past.shape[0]):
            was = past[j, person]
            if was < 0:
                continue
            for e in range(past_start[was], past_start[was + 1]):
                v = past_value[e]
                if times[v] == 0:
                    survival[v] = 1.0
                    seen[number] = v
                    number += 1
                times[v] += 1
                survival[v] *= 1.0 - past_count[e] / past_size[was]
        for k in range(number):
            v = seen[k]
            spent = np.log(max(survival[v], 1e-300)) / np.log1p(-threshold[v])
            at = min(max(int(np.ceil(spent * bins - 1e-9)) - 1, 0), bins - 1)
            histogram[v, at] += 1
            links[v, min(times[v], links.shape[1] - 1)] += 1
            people_largest[person] = max(people_largest[person], 1.0 - survival[v])
            times[v] = 0


@kernel
def overlapping(low, high):
    """Two boxes that overlap, or (-1, -1). Looks for planes that part the boxes, again and again."""
    boxes, columns = low.shape
    order = np.arange(boxes)
    stack = [(np.int64(0), np.int64(boxes))]
    while len(stack) > 0:
        a, b = stack.pop()
        if b - a < 2:
            continue
        parted = False
        best = np.int64(-1)
        best_order = order[a:b].copy()
        for d in range(columns):
            mine = order[a:b][np.argsort(low[order[a:b], d], kind="mergesort")]
            reach = high[mine[0], d]
            for i in range(1, b - a):
                if low[mine[i], d] > reach and (
                    best < 0 or abs(2 * i - (b - a)) < abs(2 * best - (b - a))
                ):
                    best = np.int64(i)
                    best_order = mine
                    parted = True
                reach = max(reach, high[mine[i], d])
            if parted and abs(2 * best - (b - a)) * 4 <= b - a:
                break
        if parted:
            order[a:b] = best_order
            stack.append((a, a + best))
            stack.append((a + best, b))
            continue
        for i in range(a, b):
            for k in range(i + 1, b):
                apart = False
                for d in range(columns):
                    if high[order[i], d] < low[order[k], d] or high[order[k], d] < low[order[i], d]:
                        apart = True
                        break
                if not apart:
                    return order[i], order[k]
    return np.int64(-1), np.int64(-1)
