"""Compiled parts of the verifier. They share nothing with the kernels that form groups.

Survival is followed in floating point with a margin far above its error; whatever comes closer to
the threshold than the margin is handed back, to be decided in fractions.
"""

from __future__ import annotations

import numpy as np

from serigraph.runtime.compiled import inner, kernel

# A product of at most k factors (1 - c/n) carries a relative error below 3 k 2^-53: under 1e-12 for
# thousands of releases.
MARGIN = 1e-9

SMALLEST = 1e-300  # survival that is told from none: below, processors become slow
TOGETHER = 16  # people whose past groups are looked for at the same time


@kernel
def compose(
    people,
    group,
    held_start,
    held,
    member_start,
    members,
    held_end,
    of_group,
    holders,
    start,
    value,
    count,
):
    """Who of these people is in each group, and what it holds.

    Writes where the members of each group start and who they are, in the order of the people; then
    where the values of each group start, the values, ascending, and how many hold each. All that
    counts is zero before: ``member_start``, ``held_end``, ``holders``, ``start``.
    """
    groups = len(start) - 1
    values = len(holders)
    # Counted two places ahead: where a group starts is where the one before it ends, once its
    # members are written.
    for person in people:
        g = np.uint32(group[person])
        member_start[g + 2] += 1
        held_end[g + 2] += held_start[person + 1] - held_start[person]
    for g in range(groups):
        member_start[g + 2] += member_start[g + 1]
        held_end[g + 2] += held_end[g + 1]
    for person in people:
        g = np.uint32(group[person])
        members[np.uint64(member_start[g + 1])] = person
        member_start[g + 1] += 1
        for h in range(held_start[person], held_start[person + 1]):
            of_group[np.uint64(held_end[g + 1])] = held[h]
            held_end[g + 1] += 1
    entries = 0
    for g in range(groups):
        first = entries
        for i in range(held_end[g], held_end[g + 1]):
            # Written for every value, and kept if it is new: which one is cannot be foretold.
            v = np.uint32(of_group[i])
            value[entries] = v
            entries += holders[v] == 0
            holders[v] += 1
        # Few values are sorted as they come; where there are many, it is faster to look for all.
        if (entries - first) ** 2 > values:
            entries = first
            for v in range(values):
                if holders[v] > 0:
                    value[entries] = v
                    entries += 1
        for i in range(first, entries):
            v = value[i]
            k = i
            while k > first and value[k - 1] > v:
                value[k] = value[k - 1]
                k -= 1
            value[k] = v
        for i in range(first, entries):
            count[i] = holders[value[i]]
            holders[value[i]] = 0
        start[g + 1] = entries


@inner
def find_lists(past, past_start, past_exposure, people, number, lists):
    """Write for so many people how many past groups each was in, and where the exposures of these
    begin and end.

    Both ends of everybody's row are read first, then those of every list. Nothing waits for
    anything of another group or person, so that memory brings all of them together.
    """
    releases = past.shape[1]
    for k in range(number if releases > 0 else 0):
        lists[k, 2, 0] = past[people[k], 0] + past[people[k], releases - 1]
    for k in range(number):
        kept = 0
        for j in range(releases):
            # Written for every release, and kept for some: which ones they are cannot be foretold.
            lists[k, 0, kept] = past[people[k], j]
            kept += past[people[k], j] >= 0
        lists[k, 2, releases] = kept
    for k in range(number):
        for j in range(lists[k, 2, releases]):
            group = np.uint64(lists[k, 0, j])
            lists[k, 0, j], lists[k, 1, j] = past_start[group], past_start[group + np.uint64(1)]
    for k in range(number):
        for j in range(lists[k, 2, releases]):
            lists[k, 2, j] = past_exposure[np.uint64(lists[k, 1, j] - 1)]


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
    past_exposure,
    exposure_value,
    exposure_survival,
    least_survival,
    threshold,
    past_groups,
    fewest,
    most,
    largest,
    groups,
):
    """Follow the (member, value) pairs of these groups through the past, in which person i was in
    the groups ``past[i]``, or in none where that is negative. Of the members
    those are looked at whose ``past_groups``, a number for each member, are no fewer than
    ``fewest`` and no more than ``most``.

    Whoever cannot have a pair that is worse than ``largest``, nor one close to its threshold, is
    not followed. That is told from the number of its past groups: no single exposure to a value
    ever left less than its ``least_survival``.

    Returns the largest breach probability in floating point, with its pair if that is worse than
    what was known, and the pairs that are too close to their threshold, or above it, for floats to
    decide. A pair is (person, group, value).
    """
    # Of values that are not in the group at hand this holds anything: each member of a group
    # begins anew with the group's own values. To ask of each past value whether it is one of them
    # takes far longer than a multiplication, unless it is one of a number that has become so small
    # that processors are slow with it.
    survival = np.ones(len(threshold))
    now = np.empty(len(threshold))
    lists = np.empty((TOGETHER, 3, past.shape[1] + 1), dtype=np.int64)
    people = np.empty(TOGETHER, dtype=np.int64)
    close_person = [np.int64(0) for _ in range(0)]
    close_group = [np.int64(0) for _ in range(0)]
    close_value = [np.int64(0) for _ in range(0)]
    worst = np.full(3, -1, dtype=np.int64)
    for g in groups:
        begin, end = value_start[g], value_start[g + 1]
        if begin == end:
            continue
        worst_now = 1.0
        worst_past = 1.0
        least_threshold = 1.0
        for e in range(begin, end):
            now[e - begin] = 1.0 - count[e] / size[g]
            worst_now = min(worst_now, now[e - begin])
            worst_past = min(worst_past, least_survival[value[e]])
            least_threshold = min(least_threshold, threshold[value[e]])
        # So few past groups bring nobody here beyond the bound.
        few = -1
        least = worst_now
        while few < past.shape[1] and 1.0 - least <= min(largest, least_threshold - MARGIN):
            few += 1
            least *= worst_past
        few = max(few, fewest - 1)
        if few >= most:
            continue
        m = member_start[g]
        while m < member_start[g + 1]:
            number = 0
            while m < member_start[g + 1] and number < TOGETHER:
                # Written for everybody, and kept for some.
                people[number] = members[m]
                number += few < past_groups[m] <= most
                m += 1
            find_lists(past, past_start, past_exposure, people, number, lists)
            for k in range(number):
                person = people[k]
                for e in range(begin, end):
                    survival[value[e]] = now[e - begin]
                for j in range(lists[k, 2, past.shape[1]]):
                    for e in range(np.uint64(lists[k, 0, j]), np.uint64(lists[k, 1, j])):
                        exposure = np.uint32(past_exposure[e])
                        v = np.uint32(exposure_value[exposure])
                        survival[v] = max(survival[v] * exposure_survival[exposure], SMALLEST)
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
    close = np.empty((len(close_person), 3), dtype=np.int64)
    for i in range(len(close_person)):
        close[i, 0] = close_person[i]
        close[i, 1] = close_group[i]
        close[i, 2] = close_value[i]
    return largest, worst, close


@kernel
def first_overlap(low, high, boxes):
    """The first two of these boxes that overlap, or (-1, -1): each is compared with each."""
    for i in range(len(boxes)):
        for k in range(i + 1, len(boxes)):
            apart = False
            for d in range(low.shape[1]):
                if high[boxes[i], d] < low[boxes[k], d] or high[boxes[k], d] < low[boxes[i], d]:
                    apart = True
                    break
            if not apart:
                return boxes[i], boxes[k]
    return np.int64(-1), np.int64(-1)


@inner
def tenth(share, parts):
    """The part that a share of the threshold lies in; each holds its upper end."""
    return min(max(int(np.ceil(share * parts - MARGIN)) - 1, 0), parts - 1)


@kernel
def survey_exposures(
    first,
    release,
    group,
    start,
    value,
    risk,
    threshold,
    adds,
    pairs,
    total,
    by_probability,
    by_share,
    above,
    worst,
    largest,
    largest_value,
    crossing,
):
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
                        close_person.append(person)
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


@kernel
def matching_regions(codes, label, admits, offset):
    """The regions that each person lies in: two arrays of equal length, person and region.

    ``codes`` has one row a person, in lexicographic order; ``label[region, column]`` is the cell of
    a region; ``admits[offset[column] + cell, code]`` says whether a cell holds a code. Regions that
    the first columns leave over are kept from person to person for as long as these columns agree.
    """
    people, columns = codes.shape
    regions = len(label)
    left = np.empty((columns + 1, regions), dtype=np.int64)
    number = np.zeros(columns + 1, dtype=np.int64)
    left[0] = np.arange(regions)
    number[0] = regions
    person = [np.int64(0) for _ in range(0)]
    region = [np.int64(0) for _ in range(0)]
    for i in range(people):
        first = 0
        if i > 0:
            while first < columns and codes[i, first] == codes[i - 1, first]:
                first += 1
        for c in range(first, columns):
            kept = 0
            for k in range(number[c]):
                r = left[c, k]
                if admits[offset[c] + label[r, c], codes[i, c]]:
                    left[c + 1, kept] = r
                    kept += 1
            number[c + 1] = kept
        for k in range(number[columns]):
            person.append(np.int64(i))
            region.append(left[columns, k])
    return np.array(person, dtype=np.int64), np.array(region, dtype=np.int64)
