"""Compiled kernels that form groups. Arrays in, group numbers out; nothing here is believed
before ``serigraph.verification`` has checked it.

All kernels live in this one module, because Numba's cache does not notice an edit in another one.

Words used here: a *cell* is a range of ``order`` (the people, rearranged as cells are cut), a
*target* is the ratio n/n_s that the strategy asks for one person and value, and a cell is *dealt*
when its people are spread over several groups that interleave in space.

A cell is a row of whole numbers: begin, end, state, the number of groups that it was dealt into,
then, where it was cut, the row of its right half (the left one is the next row) and the column of
the cut, then its box of codes, low ends first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.compiled import inner, kernel, making

BEGIN, END, STATE, GROUPS, RIGHT, COLUMN, BOX = 0, 1, 2, 3, 4, 5, 6
UNKNOWN = -1
PLAIN = 0  # no protected value: records may stay as they are
VALID = 1
FAILED = 2  # no valid grouping was found

LARGE = 512  # people of a larger cell are sampled to choose its cut
SORTED_DIGITS = 10  # of a code, at once
SORTED_AT_ONCE = 1 << SORTED_DIGITS
SAMPLE = 40
TRIAL = 8192  # people of a cell that is cut in two ways, at the most
TRIES = 16  # cuts, before a cell is left as it is
TRIES_LARGE = 200  # cuts of a cell between LARGE and TRIAL
COMPETING = 8  # cuts of a large cell that both sides survive
GROUPS_TO_DEAL = 8  # in a cell at the least, where more than the values' shares matters
PATIENCE = 64  # groups in a cell, before they are made larger because of histories
NEIGHBOURHOOD = 32  # groups that are merged and cut anew, bottom-up
TOGETHER = 8  # people whose past is looked for at the same time
FALLING = 1024  # people that look for their district at the same time
ARRANGED = 1 << 16  # people that are put in order at the same time
EXCHANGES = 400  # tried for somebody that fits nowhere
THOROUGH = 2048  # cells up to this size are checked against every member's history
WASTEFUL = 1.5  # a cut that leaves room for fewer groups than before seems so much wider
CROWDED = 0.34  # part of a cell that its most frequent value needs: from there on, foresight
FORESIGHT = 2.0  # how much wider a cut seems for all that the values on its sides need
FAR_WORSE = 1e18
SMALLEST = 1e-300  # survival that is told from none: below, processors become slow
SLACK = 1e-12  # targets that are whole numbers must not be missed for a rounding error


class Facts(NamedTuple):
    """What a kernel knows: quasi-identifiers, values held, history and targets."""

    codes: NDArray[np.int32]  # [column, person]
    position: NDArray[np.float64]  # all columns' codes behind each other
    divergence: NDArray[np.int32]  # likewise; entry i is the boundary behind code i
    offset: NDArray[np.int64]  # where each column starts in the two above
    has_taxonomy: NDArray[np.bool_]  # of each column
    held_start: NDArray[np.int64]
    held: NDArray[np.int32]
    weight: NDArray[np.uint8]  # 1 if the person counts in n
    key: NDArray[np.int64]  # random and not negative, one a person
    past: NDArray[np.int32]  # [person, release] -> past group or -1
    past_start: NDArray[np.int64]
    past_exposure: NDArray[np.int32]
    exposure_value: NDArray[np.int32]
    exposure_survival: NDArray[np.float64]  # 1 - n_s/n
    own: NDArray[np.float64]  # largest target of a person for what it holds; 0 until looked for
    base: NDArray[np.float64]  # target of each value for a person without history
    rule: NDArray[np.int32]  # of each value, a row of the next
    rules: NDArray[np.float64]  # 1 - threshold, factor, two lengths, ratios, shares
    counts_links: bool  # some rule asks how often a pair was linked
    minimum_size: int
    interleave: bool


class Scratch(NamedTuple):
    """Room that is used again and again; ``holders`` is all zero between uses."""

    holders: NDArray[np.int64]  # of each value in the cell
    need: NDArray[np.float64]  # largest target of each value among the cell's people
    linked: NDArray[np.int64]  # people of the cell that were linked to the value before
    links: NDArray[np.int64]  # of one person to each value
    survival: NDArray[np.float64]  # likewise
    sides: NDArray[np.int64]  # [side, value] holders on both sides of a cut
    touched: NDArray[np.int64]  # values in the cell
    local: NDArray[np.int64]  # place of a value among the touched ones


class Dealing(NamedTuple):
    """A cell while its people are dealt to groups; values are numbered as the cell has them."""

    start: NDArray[np.uint32]  # where the values of each person begin in the next
    value: NDArray[np.uint32]
    seat: NDArray[np.int64]  # the group of each, or -1
    room: NDArray[np.int64]  # seats left in each group
    cap: NDArray[np.int32]  # how many of a value any group may hold
    held: NDArray[np.int32]  # [group, value]
    limit: NDArray[np.int32]  # [group, value] how many its members allow
    allowed: NDArray[np.int32]  # [person, value] likewise of each, or of nobody if there is no past


class Board(NamedTuple):
    """The people of a cell by numbers of their own, in the order of each column.

    A cell that was cut out of it is a range in all of these orders.
    """

    who: NDArray[np.uint32]
    at: NDArray[np.float64]  # [column, person] position
    ranked: NDArray[np.uint32]  # [column, place] -> person
    held_start: NDArray[np.uint32]
    held: NDArray[np.uint32]
    is_left: NDArray[np.bool_]  # [person]
    spare: NDArray[np.uint32]
    block: NDArray[np.float64]  # [end, block] of the people between two possible cuts
    width: NDArray[np.float64]  # [side, blocks on that side]
    need: NDArray[np.float64]  # likewise
    cuts: NDArray[np.int64]  # [cut, (column, people on the left, last code on the left)]
    score: NDArray[np.float64]


@inner
def next_target(rules, rule, links, survival):
    """The ratio asked for the next link of a pair; the floating twin of Strategy.ratio."""
    left = survival - rules[rule, 0]
    if left <= 1e-13 * survival:
        return np.inf
    target = rules[rule, 1] * survival / left
    ratios = int(rules[rule, 2])
    shares = int(rules[rule, 3])
    if ratios > 0:
        target = max(target, rules[rule, 4 + min(links, ratios - 1)])
    if shares > 0:
        share = rules[rule, 4 + ratios + min(links, shares - 1)]
        target = max(target, -1.0 / np.expm1(share * np.log1p(-left / survival)))
    return target


@inner
def tally(f, s, people, a, b):
    """Count the people and the values of a cell; returns (n, number of values touched)."""
    n = 0
    touched = 0
    for i in range(a, b):
        person = people[i]
        n += f.weight[person]
        for h in range(f.held_start[person], f.held_start[person + 1]):
            value = f.held[h]
            if s.holders[value] == 0:
                s.touched[touched] = value
                s.need[value] = 0.0
                s.linked[value] = 0
                touched += 1
            s.holders[value] += 1
    return n, touched


@inner
def clear(s, touched):
    for t in range(touched):
        s.holders[s.touched[t]] = 0


@making
def spans_of(f):
    """Room for ``find_past``: of some people, where the exposures of each past group begin and end,
    and behind them how many groups there are."""
    return np.empty((TOGETHER, 3, f.past.shape[1] + 1), dtype=np.int64)


@inner
def find_past(f, people, first, last, spans):
    """Write the spans of the people from ``first`` to ``last``. The first and the last exposure of
    each group are read, too. Nothing here waits for anything of another group or person, so that
    memory brings all of them together."""
    releases = f.past.shape[1]
    for k in range(last - first):
        person, groups = people[first + k], 0
        for j in range(releases):
            # Written for every release, and kept for some: which ones they are cannot be foretold.
            spans[k, 0, groups] = f.past[person, j]
            groups += f.past[person, j] >= 0
        spans[k, 2, releases] = groups
    for k in range(last - first):
        for j in range(spans[k, 2, releases]):
            group = spans[k, 0, j]
            spans[k, 0, j], spans[k, 1, j] = f.past_start[group], f.past_start[group + 1]
    for k in range(last - first):
        for j in range(spans[k, 2, releases]):
            begin, end = spans[k, 0, j], spans[k, 1, j]
            if begin < end:
                spans[k, 2, j] = f.past_exposure[begin] + f.past_exposure[end - 1]


@inner
def walk_past(f, s, touched, spans, k):
    """Write the survival that the person with spans ``k`` has left of each of the values touched,
    and the links to them, if these count."""
    for t in range(touched):
        s.links[s.touched[t]] = 0
        s.survival[s.touched[t]] = 1.0
    # Of other values this leaves anything: to ask of each past value whether it is one of those
    # touched takes longer than to count it. Nothing becomes so small that a processor multiplies
    # it in a hundred times the time.
    for j in range(spans[k, 2, f.past.shape[1]]):
        for e in range(spans[k, 0, j], spans[k, 1, j]):
            exposure = f.past_exposure[e]
            value = f.exposure_value[exposure]
            s.survival[value] = max(s.survival[value] * f.exposure_survival[exposure], SMALLEST)
        for e in range(spans[k, 0, j], spans[k, 1, j] if f.counts_links else spans[k, 0, j]):
            s.links[f.exposure_value[f.past_exposure[e]]] += 1


@kernel
def find_own_targets(f, people):
    """Write for each of these people the largest target among the values that it holds itself: a
    group that is smaller cannot hold the person."""
    # Exposures are numbered by value: the number of one tells what it is to.
    first = np.zeros(len(f.base) + 1, dtype=np.int32)
    for value in f.exposure_value:
        first[value + 1] += 1
    for value in range(len(f.base)):
        first[value + 1] += first[value]
    spans = spans_of(f)
    for i in range(len(people)):
        k = i % TOGETHER
        if k == 0:
            find_past(f, people, i, min(i + TOGETHER, len(people)), spans)
        person, groups = people[i], spans[k, 2, f.past.shape[1]]
        f.own[person] = 0.0
        for h in range(f.held_start[person], f.held_start[person + 1]):
            value = f.held[h]
            low, high = first[value], first[value + 1]
            links = 0
            survival = 1.0
            for j in range(groups):
                met = -1  # looked for to the end: that is done for several exposures at once
                for e in range(spans[k, 0, j], spans[k, 1, j]):
                    exposure = f.past_exposure[e]
                    met = max(met, exposure if low <= exposure < high else -1)
                if met >= 0:
                    links += 1
                    survival *= f.exposure_survival[met]
            target = next_target(f.rules, f.rule[value], links, survival)
            f.own[person] = max(f.own[person], target)


@inner
def is_too_small(f, people, a, b, size):
    """Whether one of the people fits no group of this size, whoever else is in it."""
    for i in range(a, b if len(f.own) > 0 else a):
        if f.own[people[i]] > size * (1.0 + SLACK):
            return True
    return False


@making
def find_needs(f, s, people, a, b, touched, n):
    """Write the largest target of each value among the people of a cell, each by its own past.
    Returns whether a group of ``n`` meets all of them; if not, some may be larger than is written.
    """
    if f.past.shape[1] > 0 and touched > 0:
        spans = spans_of(f)
        for i in range(a, b):
            k = (i - a) % TOGETHER
            if k == 0:
                find_past(f, people, i, min(i + TOGETHER, b), spans)
            walk_past(f, s, touched, spans, k)
            is_met = True
            for t in range(touched):
                value = s.touched[t]
                if s.survival[value] < 1.0:
                    target = next_target(f.rules, f.rule[value], s.links[value], s.survival[value])
                    s.need[value] = max(s.need[value], target)
                    s.linked[value] += 1
                    is_met = is_met and s.holders[value] * target <= n * (1.0 + SLACK)
            if not is_met:
                return False
    is_met = True
    for t in range(touched):
        value = s.touched[t]
        if s.linked[value] < b - a:
            s.need[value] = max(s.need[value], f.base[value])
        is_met = is_met and s.holders[value] * s.need[value] <= n * (1.0 + SLACK)
    return is_met


@inner
def is_group(f, s, people, a, b):
    """Whether the cell is a valid group: every member bounded for every value, given its past."""
    n, touched = tally(f, s, people, a, b)
    valid = n >= f.minimum_size and find_needs(f, s, people, a, b, touched, n)
    clear(s, touched)
    return valid


@inner
def has_counts(f, s, people, a, b):
    """Whether the values' shares alone, without history, allow the cell; cheap and necessary."""
    n, touched = tally(f, s, people, a, b)
    valid = n >= f.minimum_size
    if valid and touched > 0:
        size = group_size(f, s, touched) if f.interleave else n
        valid = counts_fit(f, s, touched, n, size)
    clear(s, touched)
    return valid


@inner
def counts_fit(f, s, touched, n, size):
    """Whether n people can be dealt into groups of ``size`` as far as the counts go."""
    groups = max(n // size, 1)
    even = n // groups
    for t in range(touched):
        value = s.touched[t]
        if s.holders[value] > groups * int(even * (1.0 + SLACK) / f.base[value]):
            return False
    return True


@inner
def group_size(f, s, touched):
    """The smallest size in which every touched value may be held once."""
    size = max(f.minimum_size, 1)
    for t in range(touched):
        size = max(size, int(np.ceil(f.base[s.touched[t]] * (1.0 - SLACK))))
    return size


@inner
def size_needed(f, s, touched):
    """The size that a cell would need as one group, as far as the counts of its values go."""
    need = 0.0
    for t in range(touched):
        need = max(need, s.holders[s.touched[t]] * f.base[s.touched[t]])
    return need


@making
def deal(f, s, people, a, b, present, touched, size, slot):
    """Spread a cell over groups of about ``size`` so that every member is bounded.

    So many of its people are present, and hold so many values: ``s`` has their tally. Writes each
    person's group 0..g-1 to ``slot[a:b]`` and returns g, or 0 if it did not succeed. Looks at
    values, histories and random keys, never at quasi-identifiers: inside a cell, who sits where
    says nothing about who holds what.
    """
    n = b - a
    groups = n // size
    if groups == 0 or is_too_small(f, people, a, b, n // groups):
        return 0
    if not counts_fit(f, s, touched, present, size):
        return 0
    even = n // groups
    who = np.empty(n, dtype=np.uint32)
    for i in range(n):
        who[i] = people[a + i]
    room = np.empty(groups, dtype=np.int64)
    for g in range(groups):
        room[g] = even + (1 if g < n % groups else 0)
    cap = np.empty(touched, dtype=np.int32)  # how many of a value a group may hold
    for t in range(touched):
        s.local[s.touched[t]] = t
        cap[t] = int(even * (1.0 + SLACK) / f.base[s.touched[t]])
    allowed = find_allowed(f, s, who, touched, even * (1.0 + SLACK), cap)
    # Holders of the most frequent value first, then of the next, at random within.
    before = np.zeros(n + 2, dtype=np.int64)  # values by the number of those that lack them
    for t in range(touched):
        before[n - s.holders[s.touched[t]] + 1] += 1
    for k in range(n + 1):
        before[k + 1] += before[k]
    turn = np.empty(touched, dtype=np.int64)
    for t in range(touched):
        k = n - s.holders[s.touched[t]]
        turn[t] = before[k]
        before[k] += 1
    start = np.zeros(n + 1, dtype=np.uint32)
    for i in range(n):
        start[i + 1] = start[i] + f.held_start[who[i] + 1] - f.held_start[who[i]]
    value = np.empty(start[n], dtype=np.uint32)
    chance = np.empty(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    free = np.zeros(touched + 2, dtype=np.int64)
    for i in range(n):
        person = who[i]
        other = ((f.key[person] & ((1 << 31) - 1)) * (i + 1)) >> 31  # one before, or the same
        chance[i] = chance[other]
        chance[other] = i
        first[i] = touched
        for k in range(start[i + 1] - start[i]):
            value[start[i] + k] = s.local[f.held[f.held_start[person] + k]]
            first[i] = min(first[i], turn[value[start[i] + k]])
        free[first[i] + 1] += 1
    for k in range(touched + 1):
        free[k + 1] += free[k]
    people_first = np.empty(n, dtype=np.int64)
    for k in range(n):
        i = chance[k]
        people_first[free[first[i]]] = i
        free[first[i]] += 1

    limit = np.empty((groups, touched), dtype=np.int32)
    for g in range(groups):
        for t in range(touched):
            limit[g, t] = cap[t]
    seat = np.empty(n, dtype=np.int64)
    for i in range(n):
        seat[i] = -1
    held = np.zeros((groups, touched), dtype=np.int32)
    d = Dealing(start, value, seat, room, cap, held, limit, allowed)
    g = np.int64(0)
    for k in range(n):
        i = people_first[k]
        for _ in range(groups):
            is_free = room[g] > 0 and may_join(d, i, g)
            if is_free:
                join(d, i, g)
                room[g] -= 1
            g = g + 1 if g + 1 < groups else np.int64(0)
            if is_free:
                break
        if seat[i] < 0 and not exchange(d, i, people_first, k):
            return 0
    for i in range(n):
        slot[a + i] = seat[i]
    return groups


@making
def find_allowed(f, s, who, touched, size, cap):
    """How many of each value a group of this size may hold, as far as each person goes: [person,
    value touched], or nothing if nobody has a past."""
    allowed = np.empty((len(who) if f.past.shape[1] > 0 else 0, touched), dtype=np.int32)
    survival, keep, factor = np.empty(touched), np.empty(touched), np.empty(touched)
    for t in range(touched):
        rule = f.rule[s.touched[t]]
        keep[t], factor[t] = f.rules[rule, 0], f.rules[rule, 1]
    spans = spans_of(f)
    for i in range(len(allowed)):
        k = i % TOGETHER
        if k == 0:
            find_past(f, who, i, min(i + TOGETHER, len(who)), spans)
        walk_past(f, s, touched, spans, k)
        for t in range(touched):
            survival[t] = s.survival[s.touched[t]]
        # next_target in a loop of its own, which is done for several values at once.
        for t in range(touched):
            share = (survival[t] - keep[t]) / (factor[t] * survival[t])
            allowed[i, t] = np.int32(min(max(size * share, 0.0), float(cap[t])))
        if f.counts_links:
            for t in range(touched):
                value = s.touched[t]
                target = next_target(f.rules, f.rule[value], s.links[value], survival[t])
                allowed[i, t] = min(allowed[i, t], int(size / target))
    return allowed


@inner
def may_join(d, i, g):
    """Whether person i of the cell fits group g as it stands."""
    for h in range(d.start[i], d.start[i + 1]):
        t = d.value[h]
        if d.held[g, t] + 1 > d.limit[g, t]:
            return False
        if len(d.allowed) > 0 and d.held[g, t] + 1 > d.allowed[i, t]:
            return False
    too_many = np.int32(0)  # counted to the end: that is done for several values at once
    if len(d.allowed) > 0:
        for t in range(len(d.cap)):
            too_many += np.int32(d.held[g, t] > d.allowed[i, t])
    return too_many == 0


@inner
def join(d, i, g):
    """Seat person i in group g."""
    d.seat[i] = g
    for h in range(d.start[i], d.start[i + 1]):
        d.held[g, d.value[h]] += 1
    tighten(d, i, g)


@inner
def tighten(d, i, g):
    """Let a group allow no more of a value than person i does."""
    if len(d.allowed) > 0:
        for t in range(len(d.cap)):
            d.limit[g, t] = min(d.limit[g, t], d.allowed[i, t])


@inner
def leave(d, i, g):
    """Take person i out of group g again."""
    d.seat[i] = -1
    for h in range(d.start[i], d.start[i + 1]):
        d.held[g, d.value[h]] -= 1
    if len(d.allowed) > 0:
        for t in range(len(d.cap)):
            d.limit[g, t] = d.cap[t]
        for other in range(len(d.seat)):
            if d.seat[other] == g:
                tighten(d, other, g)


@inner
def exchange(d, i, placed, number):
    """Make room for person i by moving somebody that was placed; True if i has a seat then."""
    for k in range(min(number, EXCHANGES)):
        x = placed[(k * 7919 + i) % number]
        g = d.seat[x]
        leave(d, x, g)
        if may_join(d, i, g):
            for other in range(len(d.room)):
                if other != g and d.room[other] > 0 and may_join(d, x, other):
                    join(d, x, other)
                    d.room[other] -= 1
                    join(d, i, g)
                    return True
        join(d, x, g)
    return False


@making
def board_of(f, people, a, b, m):
    """A board for m of the people of a cell, taken evenly: each column's order, sorted once.

    Equal codes lie in random order.
    """
    columns = f.codes.shape[0]
    who = np.empty(m, dtype=np.uint32)
    for i in range(m):
        person = people[a + i if m == b - a else a + (i * (b - a)) // m]
        other = ((f.key[person] >> 31) * (i + 1)) >> 32  # somebody before, or the same
        who[i] = who[other]
        who[other] = person
    at = np.empty((columns, m), dtype=np.float64)
    ranked = np.empty((columns, m), dtype=np.uint32)
    code = np.empty(m, dtype=np.uint32)
    spare = np.empty(m, dtype=np.uint32)
    place = np.empty(SORTED_AT_ONCE + 1, dtype=np.uint32)
    for e in range(columns):
        for i in range(m):
            code[i] = f.codes[e, who[i]]
            at[e, i] = f.position[f.offset[e] + code[i]]
        sort_codes(code, ranked[e], spare, place)
    held_start = np.zeros(m + 1, dtype=np.uint32)
    for i in range(m):
        held_start[i + 1] = held_start[i] + f.held_start[who[i] + 1] - f.held_start[who[i]]
    held = np.empty(held_start[m], dtype=np.uint32)
    for i in range(m):
        for k in range(held_start[i + 1] - held_start[i]):
            held[held_start[i] + k] = f.held[f.held_start[who[i]] + k]
    return Board(
        who,
        at,
        ranked,
        held_start,
        held,
        np.zeros(m, dtype=np.bool_),
        spare,
        np.empty((2, m), dtype=np.float64),
        np.empty((2, m + 1), dtype=np.float64),
        np.empty((2, m + 1), dtype=np.float64),
        np.empty((columns * m, 3), dtype=np.int64),
        np.empty(columns * m, dtype=np.float64),
    )


@inner
def sort_codes(code, ranked, spare, place):
    """Write the people in the order of their codes to ``ranked``, equal ones in their own order.

    People are put to their places by some digits of the code at a time, the last ones first.
    """
    low, high = np.int64(1 << 32), np.int64(0)
    for i in range(len(code)):
        ranked[i] = i
        low = min(low, np.int64(code[i]))
        high = max(high, np.int64(code[i]))
    digits = 0
    while (high - low) >> digits > 0:
        places = min((high - low) >> digits, SORTED_AT_ONCE - 1) + 1
        for k in range(places + 1):
            place[k] = 0
        for i in range(len(code)):
            place[((code[i] - low) >> digits & (SORTED_AT_ONCE - 1)) + 1] += 1
        for k in range(places):
            place[k + 1] += place[k]
        for i in range(len(code)):
            person = ranked[i]
            k = (code[person] - low) >> digits & (SORTED_AT_ONCE - 1)
            spare[place[k]] = person
            place[k] += 1
        for i in range(len(code)):
            ranked[i] = spare[i]
        digits += SORTED_DIGITS


@inner
def find_widths(board, d, a, b, step, squared):
    """Write the widths, summed over the columns, of both sides of every cut of column d's order
    behind a multiple of ``step`` people. Squares make much of the widest column."""
    blocks = (b - a + step - 1) // step
    ranked = board.ranked[d]
    for k in range(blocks + 1):
        board.width[0, k] = board.width[1, k] = 0.0
    for e in range(len(board.at)):
        at = board.at[e]
        if at[board.ranked[e, a]] == at[board.ranked[e, b - 1]]:
            continue
        for k in range(blocks if step == 1 else 0):
            board.block[0, k] = board.block[1, k] = at[ranked[a + k]]
        for k in range(blocks if step > 1 else 0):
            begin, end = a + k * step, min(a + (k + 1) * step, b)
            low, high = at[ranked[begin]], at[ranked[end - 1]]
            for i in range(begin, begin if e == d else end):
                where = at[ranked[i]]
                low = where if where < low else low
                high = where if where > high else high
            board.block[0, k], board.block[1, k] = low, high
        low, high = board.block[0, 0], board.block[1, 0]
        low_right, high_right = board.block[0, blocks - 1], board.block[1, blocks - 1]
        for k in range(blocks):
            first, last = board.block[0, k], board.block[1, k]
            low = first if first < low else low
            high = last if last > high else high
            width = high - low if high - low < 1.0 else 1.0
            board.width[0, k + 1] += width * width if squared else width
            first, last = board.block[0, blocks - 1 - k], board.block[1, blocks - 1 - k]
            low_right = first if first < low_right else low_right
            high_right = last if last > high_right else high_right
            width = high_right - low_right if high_right - low_right < 1.0 else 1.0
            board.width[1, k + 1] += width * width if squared else width


@inner
def find_side_needs(f, s, board, d, a, b, step, size, touched):
    """Write, for the same cuts, what the values of each side need: the size of one group, or,
    where groups interleave, so many groups of ``size``."""
    blocks = (b - a + step - 1) // step
    for side in range(2):
        clear(s, touched)
        need = 0.0
        for k in range(blocks):
            block = blocks - 1 - k if side else k
            for i in range(a + block * step, min(a + (block + 1) * step, b)):
                person = board.ranked[d, i]
                for h in range(board.held_start[person], board.held_start[person + 1]):
                    value = board.held[h]
                    holders = s.holders[value] + 1
                    s.holders[value] = holders
                    if not f.interleave:
                        need = max(need, holders * f.base[value])
                    elif 2.0 * f.base[value] > size:
                        need = max(need, float(holders * size))
                    else:
                        cap = int(size * (1.0 + SLACK) / f.base[value])
                        need = max(need, float((holders + cap - 1) // cap * size))
            board.need[side, k + 1] = need


@inner
def shallowest_boundary(f, d, first, last):
    """How deep in the taxonomy the shallowest boundary between two codes lies."""
    depth = f.divergence[f.offset[d] + first]
    for code in range(first, last):
        depth = min(depth, f.divergence[f.offset[d] + code])
    return depth


@inner
def shrink(f, order, cells, row):
    """Where all people of a cell are in one branch of its box, let the box be that branch.

    That opens new cuts, since only the shallowest boundaries of a box may be cut.
    """
    columns = f.codes.shape[0]
    for d in range(columns):
        low, high = cells[row, BOX + d], cells[row, BOX + columns + d]
        if low == high or not f.has_taxonomy[d]:
            continue
        first, last = high, low
        for i in range(cells[row, BEGIN], cells[row, END]):
            code = np.int64(f.codes[d, order[i]])
            first = min(first, code)
            last = max(last, code)
        if first == last:
            continue
        depth = shallowest_boundary(f, d, first, last)
        if depth == shallowest_boundary(f, d, low, high):
            continue
        while first > low and f.divergence[f.offset[d] + first - 1] >= depth:
            first -= 1
        while last < high and f.divergence[f.offset[d] + last] >= depth:
            last += 1
        cells[row, BOX + d], cells[row, BOX + columns + d] = first, last


@inner
def boundary(f, d, left, right, shallowest):
    """The code behind which a region may be cut between two neighbouring people, or -1."""
    if not f.has_taxonomy[d]:
        return left if left < right else np.int64(-1)
    for code in range(left, right):
        if f.divergence[f.offset[d] + code] == shallowest:
            return code
    return np.int64(-1)


@inner
def list_cuts(f, s, board, box, a, b, weight, touched, size, least, squared, is_blind, one_side):
    """List the cuts of a cell with their scores, the lower the better; returns how many.

    A cut is a row: column, people on the left in the order of the column, last code on the left.
    ``box`` is the row of the cell: only its shallowest boundaries may be cut. ``weight`` and the
    number of values ``touched`` are its tally. Both sides must have ``least`` people and must be
    able to stand by themselves as far as the counts of values go; with ``one_side`` it is enough,
    though far worse, if one of them does. The score is the width of both sides, weighted by people;
    it grows where people are left over, and in a crowded cell with what the values on both sides
    need, since that is lost for further cuts. (In a cell with few holders, that would tell where
    they are.) If the cut ``is_blind`` values play no part.
    """
    n = b - a
    found = 0
    step = size if f.interleave else np.int64(1)
    blocks = (n + step - 1) // step
    for d in range(f.codes.shape[0]):
        ranked = board.ranked[d]
        if f.codes[d, board.who[ranked[a]]] == f.codes[d, board.who[ranked[b - 1]]]:
            continue
        low, high = box[BOX + d], box[BOX + f.codes.shape[0] + d]
        shallowest = shallowest_boundary(f, d, low, high) if f.has_taxonomy[d] else np.int32(0)
        find_widths(board, d, a, b, step, squared)
        if not is_blind:
            find_side_needs(f, s, board, d, a, b, step, size, touched)
        is_crowded = not is_blind and board.need[0, blocks] > CROWDED * n
        need_left, need_right = 0.0, 0.0
        on_left = weight
        last = b
        spare = np.int64(0)  # people on the right beyond whole groups
        for k in range(blocks - 1, 0, -1):
            i = k * step
            for place in range(a + i, a + i if weight == n else last):
                on_left -= f.weight[board.who[ranked[place]]]
            on_left = i if weight == n else on_left
            last = a + i
            spare = spare + 1 if spare < size - 1 else np.int64(0)
            if on_left < least or weight - on_left < least:
                continue
            if not is_blind:
                need_left, need_right = board.need[0, k], board.need[1, blocks - k]
            left = need_left <= on_left * (1.0 + SLACK)
            right = need_right <= (weight - on_left) * (1.0 + SLACK)
            if not (left and right) and not (one_side and (left or right)):
                continue
            before, behind = ranked[a + i - 1], ranked[a + i]
            if not f.interleave and board.at[d, before] == board.at[d, behind]:
                continue
            code = np.int64(f.codes[d, board.who[before]])
            if not f.interleave:
                right_code = np.int64(f.codes[d, board.who[behind]])
                code = boundary(f, d, code, right_code, shallowest)
            if code < 0:
                continue
            score = i * board.width[0, k] + (n - i) * board.width[1, blocks - k]
            if not f.interleave:
                if spare > n % size:
                    score *= WASTEFUL
                if is_crowded:
                    score *= 1.0 + FORESIGHT * (need_left + need_right) / n
            if not (left and right):
                score += FAR_WORSE
            board.cuts[found, 0] = d
            board.cuts[found, 1] = i
            board.cuts[found, 2] = code
            board.score[found] = score
            found += 1
    clear(s, touched)
    return found


@kernel
def list_cuts_of(f, s, order, cells):
    """The number of cuts of the first cell. Nobody asks for it: a second process calls this to
    compile a good part of ``cut_down`` while the first one is at another."""
    a, b, one, yes = cells[0, BEGIN], cells[0, END], np.int64(1), len(cells) > 0
    board = board_of(f, order, a, b, b - a)
    return list_cuts(f, s, board, cells[0], a, b, b - a, a, one, one, yes, yes, yes)


@inner
def next_cut(board, found):
    """The best of the cuts by its row, or -1; one that was tried has an infinite score."""
    best = np.int64(-1)
    lowest = np.inf
    for c in range(found):
        if board.score[c] < lowest:
            lowest = board.score[c]
            best = np.int64(c)
    return best


@inner
def choose_cut(f, s, board, box, a, b, n, touched, size, state, simple, squared, is_blind):
    """The cut of a cell, by its row in the board's list, or -1 if none will do.

    A cell that is not valid as it is may be cut so that one side becomes valid. Where people have
    a past, a cut that the counts allow is checked against every member's own.
    """
    is_failed = state == FAILED
    least = f.minimum_size if is_failed else size
    found = list_cuts(f, s, board, box, a, b, n, touched, size, least, squared, is_blind, is_failed)
    if is_blind or simple or f.interleave or b - a > THOROUGH:
        return next_cut(board, found)
    start = np.int64(0)
    fallback = np.int64(-1)
    for _ in range(TRIES):
        cut = next_cut(board, found)
        if cut < 0:
            break
        board.score[cut] = np.inf
        middle = board.cuts[cut, 1]
        ranked = board.ranked[board.cuts[cut, 0]]
        for i in range(b - a):
            board.spare[i] = board.who[ranked[a + i]]
        left = is_group(f, s, board.spare, start, middle)
        if not left and not is_failed:
            continue
        right = is_group(f, s, board.spare, middle, b - a)
        if left and right:
            return cut
        if is_failed and fallback < 0 and (left or right):
            fallback = cut
    return fallback


@inner
def apply_cut(board, a, b, cut, order, begin):
    """Part the cell in every column's order; its people go to ``order`` from ``begin`` on."""
    d, on_the_left = board.cuts[cut, 0], board.cuts[cut, 1]
    for i in range(a, b):
        board.is_left[board.ranked[d, i]] = i < a + on_the_left
        order[begin + i - a] = board.who[board.ranked[d, i]]
    for e in range(len(board.ranked)):
        if e == d:
            continue
        x = a
        y = np.int64(0)
        for i in range(a, b):
            # Written to both sides, and kept on one: which one it is cannot be foretold.
            person = board.ranked[e, i]
            board.ranked[e, x] = board.spare[y] = person
            x += board.is_left[person]
            y += not board.is_left[person]
        for i in range(y):
            board.ranked[e, x + i] = board.spare[i]


@inner
def people_in(f, people, a, b):
    """How many people of a cell count in its size."""
    n = 0
    for i in range(a, b):
        n += f.weight[people[i]]
    return n


@inner
def part(f, order, a, b, column, code, target):
    """Write the cell to ``target``, the side up to the code first; returns how many are there."""
    left = np.int64(0)
    right = b - a - 1
    for i in range(a, b):
        # Written to both sides, and kept on one: which one it is cannot be foretold.
        target[left] = target[right] = order[i]
        is_left = f.codes[column, order[i]] <= code
        left += is_left
        right -= not is_left
    return left


@making
def round_down(f, people, left, column, size):
    """Move the last of the left side over to the right until it is a whole number of groups.

    Interleaved groups may part people with equal codes; who of them goes is left to chance.
    """
    whole = left - left % size
    if left == whole:
        return left
    last = np.empty(left - whole + 1, dtype=np.int64)  # ranks, descending; the end is for the rest
    for k in range(len(last)):
        last[k] = -1
    for i in range(left):
        rank = rank_of(f, people[i], column)
        k = left - whole
        while k > 0 and last[k - 1] < rank:
            last[k] = last[k - 1]
            k -= 1
        last[k] = rank
    i = np.int64(0)
    while left > whole:
        if rank_of(f, people[i], column) >= last[len(last) - 2]:
            left -= 1
            people[i], people[left] = people[left], people[i]
        else:
            i += 1
    return left


@inner
def rank_of(f, person, column):
    """The code of a person, and at random among equal ones."""
    return (np.int64(f.codes[column, person]) << 32) | (f.key[person] >> 31)


@inner
def weigh_cut(f, s, order, a, b, column, code, size, is_blind):
    """Whether both sides of a cut have ``size`` people and can be one group each, as far as the
    counts of values go, and what the values of both need together."""
    left, right = np.int64(0), np.int64(0)
    values = np.int64(0 if is_blind else len(s.holders))
    for value in range(values):
        s.sides[0, value] = s.sides[1, value] = 0
    for i in range(a, b):
        person = order[i]
        side = np.uint32(f.codes[column, person] > code)
        counts = np.int64(1 if is_blind else f.weight[person])
        right += side * counts
        left += counts
        if not is_blind:
            for h in range(f.held_start[person], f.held_start[person + 1]):
                s.sides[side, f.held[h]] += 1
    left -= right
    need_left, need_right = 0.0, 0.0
    for value in range(values):
        need_left = max(need_left, s.sides[0, value] * f.base[value])
        need_right = max(need_right, s.sides[1, value] * f.base[value])
    is_valid = left >= size and right >= size
    is_valid = is_valid and need_left <= left * (1.0 + SLACK)
    return is_valid and need_right <= right * (1.0 + SLACK), need_left + need_right


@making
def cut_large(f, s, order, box, a, b, size, is_crowded, squared, is_blind, found_cut):
    """Cut a cell that is too large for a board of all of its people, by a sample of them.

    A sample sees how people are spread and not how far the farthest lie, which makes for better
    cuts. Parts ``order`` and returns how many are on the left, 0 if no cut was found; writes column
    and last code on the left to ``found_cut``.
    """
    start = np.int64(0)
    one = np.int64(1)
    yes = b > a
    target = np.empty(b - a, dtype=np.uint32)
    competes = is_crowded and not f.interleave and b - a <= TRIAL
    # Where a few people show no cut, the only ones may be around a branch that few people have.
    for m in (np.int64(SAMPLE), min(b - a, np.int64(TRIAL))):
        board = board_of(f, order, a, b, m)
        found = list_cuts(f, s, board, box, start, m, m, start, one, one, squared, yes, not yes)
        best = np.int64(-1)
        left = start
        lowest = np.inf
        valid = 0
        for _ in range(TRIES_LARGE if b - a <= TRIAL else TRIES):
            cut = next_cut(board, found)
            if cut < 0:
                break
            score = board.score[cut]
            board.score[cut] = np.inf
            column, code = board.cuts[cut, 0], board.cuts[cut, 2]
            need = 0.0
            if f.interleave:
                left = part(f, order, a, b, column, code, target)
                if b - a <= TRIAL:
                    left = round_down(f, target, left, column, size)
                is_valid = left >= size and b - a - left >= size
                if is_valid and not is_blind:
                    is_valid = has_counts(f, s, target, start, left)
                    is_valid = is_valid and has_counts(f, s, target, left, b - a)
            else:
                is_valid, need = weigh_cut(f, s, order, a, b, column, code, size, is_blind)
            if not is_valid:
                continue
            valid += 1
            if competes:
                score *= 1.0 + FORESIGHT * need / (b - a)
            if score < lowest:
                lowest = score
                best = cut
            if not competes or valid == COMPETING:
                break
        if best < 0:
            continue
        found_cut[0], found_cut[1] = board.cuts[best, 0], board.cuts[best, 2]
        if not f.interleave:
            left = part(f, order, a, b, found_cut[0], found_cut[1], target)
        for i in range(b - a):
            order[a + i] = target[i]
        return left
    return start


@inner
def box_state(f, s, people, a, b):
    """State of a cell that is to be one group."""
    _, touched = tally(f, s, people, a, b)
    clear(s, touched)
    if touched == 0 and f.minimum_size <= 1:
        return PLAIN
    return VALID if is_group(f, s, people, a, b) else FAILED


@making
def with_room(rows, used):
    """The rows, with room for one more at least."""
    if used < len(rows):
        return rows
    wider = np.empty((2 * len(rows) + 2, rows.shape[1]), dtype=np.int64)
    for i in range(used):
        copy_row(wider, i, rows, i)
    return wider


@inner
def copy_row(target, i, source, k):
    # Plain loops: slices of arrays take Numba seconds to compile.
    for column in range(source.shape[1]):
        target[i, column] = source[k, column]


@making
def push_halves(f, stack, top, tree, row, middle, column, code):
    """Put both halves of a cell on the stack, the left one on top; returns the stack.

    The right half remembers whose it is.
    """
    for half in range(2):
        stack = with_room(stack, top)
        copy_row(stack, top, tree, row)
        if half == 0:
            stack[top, BEGIN] = middle
            stack[top, BOX + column] = code + 1
            stack[top, RIGHT] = row
        else:
            stack[top, END] = middle
            stack[top, BOX + f.codes.shape[0] + column] = code
            stack[top, RIGHT] = -1
        top += 1
    return stack


@kernel
def cut_down(f, s, order, cells, simple, squared, until, blind_size):
    """Cut cells top-down, at the cut that leaves the narrowest boxes and that both sides survive.

    Rearranges ``order`` in place and returns the trees of the cells in pre-order; what was not cut
    further are the rows whose right half is row 0. No cell is cut that has at most ``until``
    people. A cell that is not valid itself is cut all the same where one side becomes valid: with
    histories that differ, the parts of an invalid group may be valid. With a ``blind_size`` values
    play no part, and halves have at least so many people.
    """
    is_blind = blind_size > 0
    stack = np.empty_like(cells)
    for i in range(len(cells)):
        copy_row(stack, i, cells, len(cells) - 1 - i)
        stack[i, RIGHT] = -1
    top = len(stack)
    tree = np.empty((len(cells) + 64, cells.shape[1]), dtype=np.int64)
    row = np.int64(0)
    found_cut = np.zeros(2, dtype=np.int64)
    # Where histories or sets of values matter, dealing needs some freedom.
    smallest = 2 if simple else 2 * GROUPS_TO_DEAL
    start = np.int64(0)
    board = board_of(f, order, start, start, start)
    board_begin, board_end = start, start
    while top > 0:
        top -= 1
        tree = with_room(tree, row)
        copy_row(tree, row, stack, top)
        if tree[row, RIGHT] >= 0:
            tree[tree[row, RIGHT], RIGHT] = row
        tree[row, RIGHT] = 0
        a, b = tree[row, BEGIN], tree[row, END]
        size = blind_size
        n, touched = b - a, start
        is_crowded = False
        if not is_blind:
            n, touched = tally(f, s, order, a, b)
            size = group_size(f, s, touched)
            is_crowded = b - a > LARGE and size_needed(f, s, touched) > CROWDED * (b - a)
            clear(s, touched)
        thorough = not simple and not f.interleave and b - a <= THOROUGH
        state = VALID
        if is_blind:
            pass
        elif touched == 0 and f.minimum_size <= 1:
            state = PLAIN
        elif b - a <= until:
            state = UNKNOWN
        elif thorough:
            state = box_state(f, s, order, a, b)
        if not f.interleave and not is_blind:
            shrink(f, order, tree, row)
        is_final = state <= PLAIN or (is_blind and b - a < 2 * size)
        if f.interleave and not is_blind:
            is_final = is_final or b - a < smallest * size
        middle = start
        if is_final:
            pass
        elif b - a > LARGE:
            middle = cut_large(
                f, s, order, tree[row], a, b, size, is_crowded, squared, is_blind, found_cut
            )
        else:
            if b > board_end or a < board_begin:
                board_begin, board_end = a, b
                board = board_of(f, order, a, b, b - a)
            x, y = a - board_begin, b - board_begin
            best = choose_cut(
                f, s, board, tree[row], x, y, n, touched, size, state, simple, squared, is_blind
            )
            if best >= 0:
                apply_cut(board, x, y, best, order, a)
                middle = board.cuts[best, 1]
                found_cut[0], found_cut[1] = board.cuts[best, 0], board.cuts[best, 2]
        if middle > 0:
            tree[row, COLUMN] = found_cut[0]
            stack = push_halves(f, stack, top, tree, row, a + middle, found_cut[0], found_cut[1])
            top += 2
        elif state == VALID and (is_blind or f.interleave):
            state = UNKNOWN
        elif state == VALID and not thorough:
            state = box_state(f, s, order, a, b)
        tree[row, STATE] = state
        row += 1
    return tree[:row]


@kernel
def total_width(f, order, cells):
    """Width of the groups, summed over people and columns; where records stay as they are, none."""
    total = 0.0
    for i in range(len(cells)):
        if cells[i, STATE] == PLAIN:
            continue
        a, b = cells[i, BEGIN], cells[i, END]
        for e in range(f.codes.shape[0]):
            low = np.inf
            high = -np.inf
            for k in range(a, b):
                where = f.position[f.offset[e] + f.codes[e, order[k]]]
                low = min(low, where)
                high = max(high, where)
            total += (b - a) * min(high - low, 1.0)
    return total


@kernel
def find_leaves(codes, tree, begin, end, leaf):
    """Let people fall into the leaves of a tree that was grown from a sample: write their rows.

    Many people fall one step at a time, and whoever has arrived falls on the spot: no step has to
    wait for the one before, and none is foretold wrongly.
    """
    columns = codes.shape[0]
    column = np.zeros(len(tree), dtype=np.uint32)
    code = np.zeros(len(tree), dtype=np.int32)
    child = np.empty((len(tree), 2), dtype=np.uint32)
    depth = np.zeros(len(tree), dtype=np.int64)
    deepest = np.int64(0)
    for row in range(len(tree)):
        child[row, 0] = child[row, 1] = row
        if tree[row, RIGHT] > 0:
            column[row] = tree[row, COLUMN]
            code[row] = tree[row + 1, BOX + columns + tree[row, COLUMN]]
            child[row, 0], child[row, 1] = row + 1, tree[row, RIGHT]
            depth[row + 1] = depth[tree[row, RIGHT]] = depth[row] + 1
        deepest = max(deepest, depth[row])
    for first in range(begin, end, FALLING):
        last = min(first + FALLING, end)
        for person in range(first, last):
            leaf[person] = 0
        for _ in range(deepest):
            for person in range(first, last):
                row = leaf[person]
                is_right = np.uint32(codes[column[row], person] > code[row])
                leaf[person] = child[row, is_right]


@kernel
def arrange(leaf, begin, end, start, codes, held, people, arranged_codes, arranged_held):
    """Put people in the order of their leaves, those from ``begin`` to ``end``: the next one of a
    leaf has the place ``start[leaf]``. Writes who is at each place, the codes, and the values held,
    if everybody holds one.

    Column by column for so many at a time that those of a leaf share a line of the cache.
    """
    place = np.empty(ARRANGED, dtype=np.uint32)
    for first in range(begin, end, ARRANGED):
        last = min(first + ARRANGED, end)
        for i in range(first, last):
            at = start[leaf[i]]
            start[leaf[i]] = at + 1
            place[i - first] = at
            people[at] = i
        for e in range(codes.shape[0]):
            for i in range(first, last):
                arranged_codes[e, place[i - first]] = codes[e, i]
        for i in range(first, last if len(held) > 0 else first):
            arranged_held[place[i - first]] = held[i]


@kernel
def check_leaves(f, s, order, tree, begin, end, fits):
    """Write for each of these rows of a tree that is a leaf whether the values' shares allow it."""
    for row in range(begin, end):
        if tree[row, RIGHT] == 0:
            fits[row] = has_counts(f, s, order, tree[row, BEGIN], tree[row, END])


@kernel
def merge_districts(f, s, order, tree, fits):
    """Merge leaves into which the values do not fit bottom-up along a tree until they do, by the
    values' shares alone; states of the rows that remain, -1 for the others."""
    rows = len(tree)
    state = np.full(rows, -1, dtype=np.int64)
    resolved = np.zeros(rows, dtype=np.bool_)
    end = np.empty(rows, dtype=np.int64)
    for row in range(rows - 1, -1, -1):
        right = tree[row, RIGHT]
        end[row] = end[right] if right > 0 else row + 1
        is_valid = fits[row]
        if right > 0:
            if resolved[row + 1] and resolved[right]:
                resolved[row] = True
                continue
            is_valid = has_counts(f, s, order, tree[row, BEGIN], tree[row, END])
        if is_valid or row == 0:
            for below in range(row, end[row]):
                state[below] = -1
            state[row] = VALID if is_valid else FAILED
            resolved[row] = is_valid
    return state


@kernel
def merge_siblings(f, s, order, tree):
    """Merge cells bottom-up along a tree until they are valid; states of the rows that remain.

    A row that is part of a merged one, or that has been cut further, gets -1. Valid neighbours are
    merged as well until they are a neighbourhood, which is then cut anew with the values in sight.
    """
    rows = len(tree)
    state = np.full(rows, -1, dtype=np.int64)
    resolved = np.zeros(rows, dtype=np.bool_)
    end = np.empty(rows, dtype=np.int64)
    for row in range(rows - 1, -1, -1):
        a, b, right = tree[row, BEGIN], tree[row, END], tree[row, RIGHT]
        may_part = False
        if right == 0:
            end[row] = row + 1
        else:
            end[row] = end[right]
            if resolved[row + 1] and resolved[right]:
                _, touched = tally(f, s, order, a, b)
                least = group_size(f, s, touched)
                clear(s, touched)
                middle = tree[right, BEGIN]
                may_part = (
                    people_in(f, order, a, middle) >= least
                    and people_in(f, order, middle, b) >= least
                )
                if touched == 0 or (may_part and b - a >= NEIGHBOURHOOD * least):
                    resolved[row] = True
                    continue
        now = box_state(f, s, order, a, b)
        if now == FAILED and may_part:
            resolved[row] = True
            continue
        if now != FAILED or row == 0:
            for below in range(row, end[row]):
                state[below] = -1
            state[row] = now
            resolved[row] = now != FAILED
    return state


@inner
def deal_cell(f, s, people, a, b, last_resort, slot):
    """Deal a cell into groups that are as small as can be; returns its state and their number.

    A small cell is not dealt into groups that are larger than need be: it is better merged with a
    neighbour, unless that is no longer possible (``last_resort``).
    """
    present, touched = tally(f, s, people, a, b)
    size = group_size(f, s, touched)
    if touched == 0 and f.minimum_size <= 1:
        return PLAIN, np.int64(0)
    may_enlarge = last_resort or (f.past.shape[1] > 0 and b - a >= PATIENCE * size)
    largest = b - a if may_enlarge else size
    while size <= min(largest, b - a):
        groups = deal(f, s, people, a, b, present, touched, size, slot)
        if groups > 0:
            clear(s, touched)
            return VALID, groups
        size = max(size + 1, size + size // 5)
    clear(s, touched)
    return FAILED, np.int64(0)


@kernel
def deal_cells(f, s, order, cells, simple, last_resort, slot):
    """Deal every cell that was not dealt yet: ``slot`` becomes the group within the cell of each
    place of the order. Cells that cannot be dealt are merged with a neighbour in the order until
    they can be. Returns the cells, with their states and the numbers of their groups."""
    kept = np.empty_like(cells)
    top = 0
    i = 0
    while i < len(cells):
        copy_row(kept, top, cells, i)
        a, b = cells[i, BEGIN], cells[i, END]
        state, groups = cells[i, STATE], cells[i, GROUPS]
        i += 1
        is_last = len(cells) < 0  # no literal: it would be a type of its own
        while True:
            # Dealt in one place of the code alone, since to compile it takes long.
            if state == UNKNOWN:
                state, groups = deal_cell(f, s, order, a, b, is_last, slot)
            if state != FAILED or is_last:
                break
            if (top > 0 or i < len(cells)) and (simple or b - a < 4 * THOROUGH):
                wanted = b - a + (b - a) // 4 + 1
                while b - a < wanted and (top > 0 or i < len(cells)):
                    no_cell = len(order) + 1
                    before = kept[top - 1, END] - kept[top - 1, BEGIN] if top > 0 else no_cell
                    after = cells[i, END] - cells[i, BEGIN] if i < len(cells) else no_cell
                    if before <= after:
                        top -= 1
                        a = kept[top, BEGIN]
                    else:
                        b = cells[i, END]
                        i += 1
            elif last_resort:
                is_last = last_resort
            else:
                break
            state = np.int64(UNKNOWN)
        kept[top, BEGIN], kept[top, END] = a, b
        kept[top, STATE], kept[top, GROUPS] = state, groups
        top += 1
    return kept[:top]


@kernel
def write_groups(order, people, cells, first, slot, group):
    """Write the groups of everybody in these cells: the first one of the cell and those that
    follow. Whoever is in the order is a place among the people."""
    for i in range(len(cells)):
        for k in range(cells[i, BEGIN], cells[i, END]):
            group[people[order[k]]] = first[i] + slot[k]


@kernel
def excesses(f, s, people, ends):
    """The (group, value) pairs that some member cannot bear; groups lie behind each other."""
    groups = [np.int64(0) for _ in range(0)]
    values = [np.int64(0) for _ in range(0)]
    a = 0
    for g in range(len(ends)):
        b = ends[g]
        n, touched = tally(f, s, people, a, b)
        find_needs(f, s, people, a, b, touched, np.inf)
        for t in range(touched):
            value = s.touched[t]
            if s.holders[value] * s.need[value] > n * (1.0 + SLACK):
                groups.append(np.int64(g))
                values.append(np.int64(value))
        clear(s, touched)
        a = b
    found = np.empty((len(groups), 2), dtype=np.int64)
    for i in range(len(groups)):
        found[i, 0] = groups[i]
        found[i, 1] = values[i]
    return found
