"""Compiled kernels that form groups. Arrays in, group numbers out; nothing here is believed
before ``serigraph.verification`` has checked it.

All kernels live in this one module, because Numba's cache does not notice an edit in another one.

Words used here: a *cell* is a range of ``order`` (the people, rearranged as cells are cut), a
*target* is the ratio n/n_s that the strategy asks for one person and value, and a cell is *dealt*
when its people are spread over several groups that interleave in space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.compiled import kernel

CANDIDATES_A_COLUMN = 50
SAMPLE = 1024  # people that are looked at to choose a cut of a large cell
TRIES_IN_LARGE_CELL = 16
THOROUGH = 2048  # cells up to this size are checked against every member's history
SLACK = 1e-12  # targets that are whole numbers must not be missed for a rounding error


class Facts(NamedTuple):
    """What a kernel knows: quasi-identifiers, values held, history and targets."""

    codes: NDArray[np.int32]  # [column, person]
    position: NDArray[np.float64]  # all columns' codes behind each other
    divergence: NDArray[np.int32]  # likewise; entry i is the boundary behind code i
    offset: NDArray[np.int64]  # where each column starts in the two above
    held_start: NDArray[np.int64]
    held: NDArray[np.int32]
    weight: NDArray[np.uint8]  # 1 if the person counts in n
    key: NDArray[np.uint64]  # random, one a person
    past: NDArray[np.int32]  # [person, release] -> past group or -1
    past_start: NDArray[np.int64]
    past_value: NDArray[np.int32]
    past_log: NDArray[np.float64]  # ln(1 - n_s/n)
    base: NDArray[np.float64]  # target of each value for a person without history
    rule: NDArray[np.int32]  # of each value, a row of the tables below
    log_keep: NDArray[np.float64]  # ln(1 - threshold)
    factor: NDArray[np.float64]
    ratio_length: NDArray[np.int64]
    ratio_table: NDArray[np.float64]
    share_length: NDArray[np.int64]
    share_table: NDArray[np.float64]
    minimum_size: int
    interleave: bool


class Scratch(NamedTuple):
    """Room that is used again and again; ``count`` is all zero between uses."""

    count: NDArray[np.int64]  # of each value in the cell
    need: NDArray[np.float64]  # largest target of each value among the cell's people
    links: NDArray[np.int64]
    logs: NDArray[np.float64]
    touched: NDArray[np.int32]  # values in the cell
    seen: NDArray[np.int32]  # values in one person's past
    local: NDArray[np.int32]  # place of a value among the touched ones


@kernel
def next_target(f, value, links, log_survival):
    """The ratio asked for the next link of a pair; the floating twin of Strategy.ratio."""
    row = f.rule[value]
    budget = log_survival - f.log_keep[row]
    if budget <= 1e-13:
        return np.inf
    target = -f.factor[row] / np.expm1(-budget)
    length = f.ratio_length[row]
    if length > 0:
        target = max(target, f.ratio_table[row, min(links, length - 1)])
    length = f.share_length[row]
    if length > 0:
        share = f.share_table[row, min(links, length - 1)]
        target = max(target, -1.0 / np.expm1(-share * budget))
    return target


@kernel
def tally(f, s, people, a, b):
    """Count the people and the values of a cell; returns (n, number of values touched)."""
    n = 0
    touched = 0
    for i in range(a, b):
        person = people[i]
        n += f.weight[person]
        for h in range(f.held_start[person], f.held_start[person + 1]):
            value = f.held[h]
            if s.count[value] == 0:
                s.touched[touched] = value
                s.need[value] = f.base[value]
                touched += 1
            s.count[value] += 1
    return n, touched


@kernel
def clear(s, touched):
    for t in range(touched):
        s.count[s.touched[t]] = 0


@kernel
def walk_past(f, s, person):
    """Sum up a person's past for the values that the cell holds; returns how many were seen."""
    seen = 0
    for j in range(f.past.shape[1]):
        group = f.past[person, j]
        if group < 0:
            continue
        for e in range(f.past_start[group], f.past_start[group + 1]):
            value = f.past_value[e]
            if s.count[value] > 0:
                if s.links[value] == 0:
                    s.seen[seen] = value
                    s.logs[value] = 0.0
                    seen += 1
                s.links[value] += 1
                s.logs[value] += f.past_log[e]
    return seen


@kernel
def is_group(f, s, people, a, b):
    """Whether the cell is a valid group: every member bounded for every value, given its past."""
    n, touched = tally(f, s, people, a, b)
    valid = n >= f.minimum_size
    limit = n * (1.0 + SLACK)
    for t in range(touched):
        value = s.touched[t]
        if s.count[value] * f.base[value] > limit:
            valid = False
            break
    if valid and touched > 0 and f.past.shape[1] > 0:
        for i in range(a, b):
            seen = walk_past(f, s, people[i])
            for k in range(seen):
                value = s.seen[k]
                if (
                    valid
                    and s.count[value] * next_target(f, value, s.links[value], s.logs[value])
                    > limit
                ):
                    valid = False
                s.links[value] = 0
            if not valid:
                break
    clear(s, touched)
    return valid


@kernel
def has_counts(f, s, people, a, b):
    """Whether the values' shares alone, without history, allow the cell; cheap and necessary."""
    n, touched = tally(f, s, people, a, b)
    valid = n >= f.minimum_size
    if valid and touched > 0:
        size = group_size(f, s, touched) if f.interleave else n
        valid = counts_fit(f, s, touched, n, size)
    clear(s, touched)
    return valid


@kernel
def counts_fit(f, s, touched, n, size):
    """Whether n people can be dealt into groups of ``size`` as far as the counts go."""
    groups = max(n // size, 1)
    even = n // groups
    for t in range(touched):
        value = s.touched[t]
        if s.count[value] > groups * int(even * (1.0 + SLACK) / f.base[value]):
            return False
    return True


@kernel
def group_size(f, s, touched):
    """The smallest size in which every touched value may be held once."""
    size = max(f.minimum_size, 1)
    for t in range(touched):
        size = max(size, int(np.ceil(f.base[s.touched[t]] * (1.0 - SLACK))))
    return size


@kernel
def deal(f, s, people, a, b, size, slot):
    """Spread a cell over groups of about ``size`` so that every member is bounded.

    Writes each person's group 0..g-1 to ``slot[a:b]`` and returns g, or 0 if it did not succeed.
    Looks at values, histories and random keys, never at quasi-identifiers: inside a cell, who
    sits where says nothing about who holds what.
    """
    n = b - a
    groups = n // size
    if groups == 0:
        return 0
    total, touched = tally(f, s, people, a, b)
    even = n // groups
    room = np.empty(groups, dtype=np.int64)
    for g in range(groups):
        room[g] = even + (1 if g < n % groups else 0)
    cap = np.empty(touched, dtype=np.int64)  # how many of a value a group may hold
    for t in range(touched):
        s.local[s.touched[t]] = t
        cap[t] = int(even * (1.0 + SLACK) / f.base[s.touched[t]])
    # Whoever has a past may allow less of some values: its tight list.
    tight_start = np.zeros(n + 1, dtype=np.int64)
    tight_value = np.empty(16, dtype=np.int32)
    tight_cap = np.empty(16, dtype=np.int64)
    entries = 0
    if f.past.shape[1] > 0 and touched > 0:
        for i in range(n):
            seen = walk_past(f, s, people[a + i])
            for k in range(seen):
                value = s.seen[k]
                t = s.local[value]
                allowed = int(
                    even * (1.0 + SLACK) / next_target(f, value, s.links[value], s.logs[value])
                )
                s.links[value] = 0
                if allowed < cap[t]:
                    if entries == len(tight_value):
                        tight_value = np.append(tight_value, np.empty(entries, dtype=np.int32))
                        tight_cap = np.append(tight_cap, np.empty(entries, dtype=np.int64))
                    tight_value[entries] = t
                    tight_cap[entries] = allowed
                    entries += 1
            tight_start[i + 1] = entries
    # Holders of frequent values first, holders of one value behind each other, at random within.
    rank = np.empty(n, dtype=np.int64)
    lead = np.empty(n, dtype=np.int64)
    for i in range(n):
        person = people[a + i]
        best = -1
        for h in range(f.held_start[person], f.held_start[person + 1]):
            t = s.local[f.held[h]]
            if best < 0 or s.count[f.held[h]] > s.count[s.touched[best]]:
                best = t
        frequency = s.count[s.touched[best]] if best >= 0 else 0
        lead[i] = ((n - frequency) << 32) | (best + 1)
        rank[i] = np.int64(f.key[person] >> np.uint64(1))
    by_key = np.argsort(rank)
    people_first = by_key[np.argsort(lead[by_key], kind="mergesort")]
    clear(s, touched)

    held_count = np.zeros(groups * touched, dtype=np.int32)
    limit = np.empty(groups * touched, dtype=np.int64)
    for g in range(groups):
        for t in range(touched):
            limit[g * touched + t] = cap[t]
    seat = np.full(n, -1, dtype=np.int64)
    start = 0
    for k in range(n):
        i = people_first[k]
        placed = False
        for step in range(groups):
            g = (start + step) % groups
            if room[g] > 0 and may_join(
                f,
                s,
                people[a + i],
                i,
                g,
                touched,
                held_count,
                limit,
                tight_start,
                tight_value,
                tight_cap,
            ):
                join(
                    f,
                    s,
                    people[a + i],
                    i,
                    g,
                    touched,
                    held_count,
                    limit,
                    tight_start,
                    tight_value,
                    tight_cap,
                )
                room[g] -= 1
                seat[i] = g
                placed = True
                start = g + 1
                break
        if not placed and not exchange(
            f,
            s,
            people,
            a,
            i,
            people_first[:k],
            seat,
            room,
            groups,
            touched,
            cap,
            held_count,
            limit,
            tight_start,
            tight_value,
            tight_cap,
        ):
            return 0
    for i in range(n):
        slot[a + i] = seat[i]
    return groups


@kernel
def may_join(f, s, person, i, g, touched, held_count, limit, tight_start, tight_value, tight_cap):
    """Whether person i of the cell fits group g as it stands."""
    for h in range(f.held_start[person], f.held_start[person + 1]):
        at = g * touched + s.local[f.held[h]]
        if held_count[at] + 1 > limit[at]:
            return False
    for e in range(tight_start[i], tight_start[i + 1]):
        t = tight_value[e]
        holds = 0
        for h in range(f.held_start[person], f.held_start[person + 1]):
            if s.local[f.held[h]] == t:
                holds = 1
        if held_count[g * touched + t] + holds > tight_cap[e]:
            return False
    return True


@kernel
def join(f, s, person, i, g, touched, held_count, limit, tight_start, tight_value, tight_cap):
    for h in range(f.held_start[person], f.held_start[person + 1]):
        held_count[g * touched + s.local[f.held[h]]] += 1
    for e in range(tight_start[i], tight_start[i + 1]):
        at = g * touched + tight_value[e]
        limit[at] = min(limit[at], tight_cap[e])


@kernel
def leave(
    f,
    s,
    people,
    a,
    i,
    g,
    seat,
    touched,
    cap,
    held_count,
    limit,
    tight_start,
    tight_value,
    tight_cap,
):
    person = people[a + i]
    for h in range(f.held_start[person], f.held_start[person + 1]):
        held_count[g * touched + s.local[f.held[h]]] -= 1
    seat[i] = -1
    if tight_start[i + 1] > tight_start[i]:
        for t in range(touched):
            limit[g * touched + t] = cap[t]
        for other in range(len(seat)):
            if seat[other] == g:
                for e in range(tight_start[other], tight_start[other + 1]):
                    at = g * touched + tight_value[e]
                    limit[at] = min(limit[at], tight_cap[e])


@kernel
def exchange(
    f,
    s,
    people,
    a,
    i,
    placed,
    seat,
    room,
    groups,
    touched,
    cap,
    held_count,
    limit,
    tight_start,
    tight_value,
    tight_cap,
):
    """Make room for person i by moving somebody else; True if i has a seat then."""
    for k in range(min(len(placed), 400)):
        x = placed[(k * 7919 + i) % len(placed)]
        g = seat[x]
        leave(
            f,
            s,
            people,
            a,
            x,
            g,
            seat,
            touched,
            cap,
            held_count,
            limit,
            tight_start,
            tight_value,
            tight_cap,
        )
        if may_join(
            f,
            s,
            people[a + i],
            i,
            g,
            touched,
            held_count,
            limit,
            tight_start,
            tight_value,
            tight_cap,
        ):
            for other in range(groups):
                if (
                    other != g
                    and room[other] > 0
                    and may_join(
                        f,
                        s,
                        people[a + x],
                        x,
                        other,
                        touched,
                        held_count,
                        limit,
                        tight_start,
                        tight_value,
                        tight_cap,
                    )
                ):
                    join(
                        f,
                        s,
                        people[a + x],
                        x,
                        other,
                        touched,
                        held_count,
                        limit,
                        tight_start,
                        tight_value,
                        tight_cap,
                    )
                    seat[x] = other
                    room[other] -= 1
                    join(
                        f,
                        s,
                        people[a + i],
                        i,
                        g,
                        touched,
                        held_count,
                        limit,
                        tight_start,
                        tight_value,
                        tight_cap,
                    )
                    seat[i] = g
                    return True
        join(
            f,
            s,
            people[a + x],
            x,
            g,
            touched,
            held_count,
            limit,
            tight_start,
            tight_value,
            tight_cap,
        )
        seat[x] = g
    return False


@kernel
def deal_smallest(f, s, people, a, b, slot, largest_size):
    """Deal a cell into groups as small as will do, at most ``largest_size``; returns the size or 0."""
    n, touched = tally(f, s, people, a, b)
    size = group_size(f, s, touched)
    clear(s, touched)
    while size <= min(n, largest_size):
        if deal(f, s, people, a, b, size, slot) > 0:
            return size
        size = max(size + 1, size + size // 5)
    return 0


@kernel
def boundary(f, d, left, right, shallowest):
    """The code behind which a region may be cut between two neighbouring people, or -1."""
    for code in range(left, right):
        if f.divergence[f.offset[d] + code] == shallowest:
            return code
    return -1


@kernel
def outward_widths(f, people, order, backwards, widths):
    """widths[i]: width, summed over the columns, of the box around the first i people."""
    columns = f.codes.shape[0]
    low = np.full(columns, np.inf)
    high = np.full(columns, -np.inf)
    m = len(order)
    for i in range(m):
        person = people[order[m - 1 - i] if backwards else order[i]]
        width = 0.0
        for e in range(columns):
            where = f.position[f.offset[e] + f.codes[e, person]]
            low[e] = min(low[e], where)
            high[e] = max(high[e], where)
            width += min(high[e] - low[e], 1.0)
        widths[i + 1] = width


@kernel
def rank_cuts(f, people, a, b, step, cuts, orders):
    """List the cuts of a cell, narrowest result first; returns how many.

    A cut is a row of ``cuts``: column, people on the left in ``orders[column]`` (0 in a cell that is
    larger than the sample), last code on the left. Values held play no part in the ranking.
    """
    n = b - a
    sampled = n > SAMPLE
    m = SAMPLE if sampled else n
    who = np.empty(m, dtype=np.int64)
    for i in range(m):
        who[i] = people[a + (i * n) // m]
    left = np.zeros(m + 1)
    right = np.zeros(m + 1)
    packed = np.empty(m, dtype=np.int64)
    code_behind = np.empty(m, dtype=np.int64)
    cost = np.empty(len(cuts))
    found = 0
    for d in range(f.codes.shape[0]):
        for i in range(m):
            packed[i] = (np.int64(f.codes[d, who[i]]) << 32) | np.int64(
                f.key[who[i]] >> np.uint64(33)
            )
        order = np.argsort(packed)
        first = f.codes[d, who[order[0]]]
        last = f.codes[d, who[order[m - 1]]]
        if first == last:
            continue
        if not sampled:
            for i in range(m):
                orders[d, i] = who[order[i]]
        shallowest = np.int32(2**30)
        for code in range(first, last):
            shallowest = min(shallowest, f.divergence[f.offset[d] + code])
        possible = 0
        for i in range(1, m):
            before = f.codes[d, who[order[i - 1]]]
            after = f.codes[d, who[order[i]]]
            if f.interleave:
                code_behind[i] = before if sampled or i % step == 0 else -1
            else:
                code_behind[i] = boundary(f, d, before, after, shallowest)
            possible += code_behind[i] >= 0
        if possible == 0:
            continue
        outward_widths(f, who, order, False, left)
        outward_widths(f, who, order, True, right)
        every = (possible + CANDIDATES_A_COLUMN - 1) // CANDIDATES_A_COLUMN
        passed = 0
        for i in range(1, m):
            if code_behind[i] < 0:
                continue
            passed += 1
            if (passed - 1) % every == every // 2:
                cost[found] = i * left[i] + (m - i) * right[m - i]
                cuts[found, 0] = d
                cuts[found, 1] = 0 if sampled else i
                cuts[found, 2] = code_behind[i]
                found += 1
    chosen = np.argsort(cost[:found], kind="mergesort")
    ranked = cuts[:found][chosen]
    cuts[:found] = ranked
    return found


@kernel
def apply_cut(f, people, a, b, step, cut, orders, target):
    """Write the cell to ``target[a:b]``, left side first; returns where the right side begins."""
    d = cut[0]
    if cut[1] > 0:
        for i in range(b - a):
            target[a + i] = orders[d, i]
        return a + cut[1]
    ties = 0
    left = 0
    for i in range(a, b):
        code = f.codes[d, people[i]]
        left += code <= cut[2]
        ties += code == cut[2]
    # Interleaved groups may part people with equal codes: the left side becomes a whole number
    # of groups, by random key.
    excess = left % step if f.interleave and left % step <= ties else 0
    last_key = np.uint64(2**64 - 1)
    if excess > 0:
        keys = np.empty(ties, dtype=np.uint64)
        k = 0
        for i in range(a, b):
            if f.codes[d, people[i]] == cut[2]:
                keys[k] = f.key[people[i]]
                k += 1
        keys.sort()
        last_key = keys[ties - excess]
    mid = a + left - excess
    x = a
    y = mid
    for i in range(a, b):
        person = people[i]
        code = f.codes[d, person]
        if code < cut[2] or (code == cut[2] and (excess == 0 or f.key[person] < last_key)):
            target[x] = person
            x += 1
        else:
            target[y] = person
            y += 1
    return mid


PLAIN = 0  # no protected value: records may stay as they are
VALID = 1
FAILED = 2  # no valid grouping was found


@kernel
def judge(f, s, people, a, b, size, simple, slot):
    """Whether a cell can stand by itself: as one group, or dealt into groups of ``size``."""
    if simple or b - a > THOROUGH:
        return has_counts(f, s, people, a, b)
    if f.interleave:
        return has_counts(f, s, people, a, b) and deal(f, s, people, a, b, size, slot) > 0
    return is_group(f, s, people, a, b)


@kernel
def cell_state(f, s, people, a, b, simple, slot):
    """State of a cell that is not cut further, and the group size that it can be dealt into."""
    n, touched = tally(f, s, people, a, b)
    size = group_size(f, s, touched)
    clear(s, touched)
    if touched == 0 and f.minimum_size <= 1:
        return PLAIN, size
    if not f.interleave:
        return (VALID if is_group(f, s, people, a, b) else FAILED), size
    if simple:
        n, touched = tally(f, s, people, a, b)
        while size <= n and not counts_fit(f, s, touched, n, size):
            size = max(size + 1, size + size // 5)
        clear(s, touched)
        return (VALID if size <= n else FAILED), size
    size = deal_smallest(f, s, people, a, b, slot, b - a)
    return (VALID if size > 0 else FAILED), size


@kernel
def split_cells(f, s, order, cells, low, high, simple):
    """Cut cells top-down, at the cut that leaves the narrowest boxes and that both sides survive.

    Takes and returns cells as rows (begin, end, state, size) with boxes low, high; rearranges
    ``order`` in place. A cell that is not valid itself is cut all the same where one side becomes
    valid: with histories that differ, the parts of an invalid group may be valid.
    """
    columns = f.codes.shape[0]
    stack = [(cells[i, 0], cells[i, 1], low[i].copy(), high[i].copy()) for i in range(len(cells))]
    done = [(np.int64(0), np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    done_low = [low[0] for _ in range(0)]
    done_high = [high[0] for _ in range(0)]
    orders = np.empty((columns, SAMPLE), dtype=np.int64)
    cuts = np.empty((columns * (CANDIDATES_A_COLUMN + 2), 3), dtype=np.int64)
    target = np.empty_like(order)
    best = np.empty_like(cuts[0])
    slot = np.empty(len(order), dtype=np.int64)
    while len(stack) > 0:
        a, b, box_low, box_high = stack.pop()
        n, touched = tally(f, s, order, a, b)
        size = group_size(f, s, touched)
        clear(s, touched)
        state = PLAIN
        if touched > 0 or f.minimum_size > 1:
            thorough = not simple and b - a <= THOROUGH
            state = VALID
            if thorough:
                state, size = cell_state(f, s, order, a, b, simple, slot)
        if state == PLAIN or b - a < 2 or (f.interleave and (b - a < 2 * size or state == FAILED)):
            if state == VALID and not f.interleave:
                state, size = cell_state(f, s, order, a, b, simple, slot)
            done.append((a, b, np.int64(state), np.int64(size)))
            done_low.append(box_low)
            done_high.append(box_high)
            continue
        found = rank_cuts(f, order, a, b, size, cuts, orders)
        if b - a > SAMPLE:
            found = min(found, TRIES_IN_LARGE_CELL)
        accepted = False
        half = False
        for c in range(found):
            mid = apply_cut(f, order, a, b, size, cuts[c], orders, target)
            if mid == a or mid == b:
                continue
            left = judge(f, s, target, a, mid, size, simple, slot)
            if not left and (half or state != FAILED):
                continue
            right = judge(f, s, target, mid, b, size, simple, slot)
            if left and right:
                best[:] = cuts[c]
                accepted = True
                break
            if state == FAILED and not half and (left or right):
                best[:] = cuts[c]
                half = True
        if not accepted and not half:
            if state == VALID and not thorough:
                state, size = cell_state(f, s, order, a, b, simple, slot)
            done.append((a, b, np.int64(state), np.int64(size)))
            done_low.append(box_low)
            done_high.append(box_high)
            continue
        mid = apply_cut(f, order, a, b, size, best, orders, target)
        order[a:b] = target[a:b]
        left_high = box_high.copy()
        right_low = box_low.copy()
        left_high[best[0]] = best[2]
        right_low[best[0]] = best[2] + 1
        stack.append((mid, b, right_low, box_high))
        stack.append((a, mid, box_low, left_high))
    return rows_of(done), stacked(done_low, columns), stacked(done_high, columns)


@kernel
def rows_of(tuples):
    rows = np.empty((len(tuples), 4), dtype=np.int64)
    for i in range(len(tuples)):
        rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3] = tuples[i]
    return rows


@kernel
def stacked(boxes, columns):
    together = np.empty((len(boxes), columns), dtype=np.int32)
    for i in range(len(boxes)):
        together[i] = boxes[i]
    return together


@kernel
def blind_cells(f, order, a0, b0, low, high, size):
    """Cut everything into small cells without looking at values; returns the tree in pre-order.

    Rows of the tree: begin, end, row of the right child (0 in a leaf; the left child is the next
    row); the fourth entry is not used.
    """
    columns = f.codes.shape[0]
    orders = np.empty((columns, SAMPLE), dtype=np.int64)
    cuts = np.empty((columns * (CANDIDATES_A_COLUMN + 2), 3), dtype=np.int64)
    target = np.empty_like(order)
    tree = [(np.int64(0), np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    boxes_low = [low for _ in range(0)]
    boxes_high = [high for _ in range(0)]
    stack = [(np.int64(a0), np.int64(b0), low.copy(), high.copy(), np.int64(-1))]
    while len(stack) > 0:
        a, b, box_low, box_high, parent = stack.pop()
        row = len(tree)
        if parent >= 0:
            tree[parent] = (tree[parent][0], tree[parent][1], np.int64(row), np.int64(0))
        tree.append((a, b, np.int64(0), np.int64(0)))
        boxes_low.append(box_low)
        boxes_high.append(box_high)
        if b - a < 2 * size:
            continue
        found = rank_cuts(f, order, a, b, size, cuts, orders)
        for c in range(found):
            mid = apply_cut(f, order, a, b, size, cuts[c], orders, target)
            if mid - a >= size and b - mid >= size:
                order[a:b] = target[a:b]
                left_high = box_high.copy()
                right_low = box_low.copy()
                left_high[cuts[c, 0]] = cuts[c, 2]
                right_low[cuts[c, 0]] = cuts[c, 2] + 1
                stack.append((mid, b, right_low, box_high, np.int64(row)))
                stack.append((a, mid, box_low, left_high, np.int64(-1)))
                break
    return rows_of(tree), stacked(boxes_low, columns), stacked(boxes_high, columns)


@kernel
def merge_siblings(f, s, order, tree, simple):
    """Merge cells bottom-up along the tree until they are valid; states of the rows that remain.

    A row that is part of a merged one, or that has been cut further, gets -1.
    """
    rows = len(tree)
    state = np.full(rows, -1, dtype=np.int64)
    resolved = np.zeros(rows, dtype=np.bool_)
    slot = np.empty(1, dtype=np.int64)
    end = np.empty(rows, dtype=np.int64)
    for row in range(rows - 1, -1, -1):
        a, b, right = tree[row, 0], tree[row, 1], tree[row, 2]
        if right == 0:
            end[row] = row + 1
        else:
            end[row] = end[right]
            if resolved[row + 1] and resolved[right]:
                resolved[row] = True
                continue
        now, _ = cell_state(f, s, order, a, b, simple, slot)
        if now != FAILED or row == 0:
            for below in range(row, end[row]):
                state[below] = -1
            state[row] = now
            resolved[row] = now != FAILED
    return state


@kernel
def merge_neighbours(f, s, order, cells, simple, slot):
    """Merge cells that failed with a neighbour in the order until they can be dealt."""
    kept = np.empty_like(cells)
    top = 0
    i = 0
    while i < len(cells):
        a, b = cells[i, 0], cells[i, 1]
        state, size = cells[i, 2], cells[i, 3]
        i += 1
        while state == FAILED and (top > 0 or i < len(cells)):
            before = kept[top - 1, 1] - kept[top - 1, 0] if top > 0 else len(order) + 1
            after = cells[i, 1] - cells[i, 0] if i < len(cells) else len(order) + 1
            if before <= after:
                top -= 1
                a = kept[top, 0]
            else:
                b = cells[i, 1]
                i += 1
            if simple or b - a <= 4 * THOROUGH:
                state, size = cell_state(f, s, order, a, b, simple, slot)
            else:
                break
        kept[top, 0], kept[top, 1], kept[top, 2], kept[top, 3] = a, b, state, size
        top += 1
    return kept[:top]


@kernel
def deal_cells(f, s, order, cells, slot, group):
    """Deal every valid cell and number the groups; returns how many groups there are.

    People of plain and failed cells keep the number -1.
    """
    groups = 0
    for i in range(len(cells)):
        a, b, state, size = cells[i, 0], cells[i, 1], cells[i, 2], cells[i, 3]
        if state != VALID:
            continue
        dealt = deal(f, s, order, a, b, size, slot)
        if dealt == 0:
            cells[i, 2] = FAILED
            continue
        for k in range(a, b):
            group[order[k]] = groups + slot[k]
        groups += dealt
    return groups


@kernel
def excesses(f, s, people, ends):
    """The (group, value) pairs that some member cannot bear; groups lie behind each other."""
    groups = [np.int64(0) for _ in range(0)]
    values = [np.int64(0) for _ in range(0)]
    a = 0
    for g in range(len(ends)):
        b = ends[g]
        n, touched = tally(f, s, people, a, b)
        if touched > 0:
            for i in range(a, b):
                seen = walk_past(f, s, people[i])
                for k in range(seen):
                    value = s.seen[k]
                    target = next_target(f, value, s.links[value], s.logs[value])
                    s.need[value] = max(s.need[value], target)
                    s.links[value] = 0
        for t in range(touched):
            value = s.touched[t]
            if s.count[value] * s.need[value] > n * (1.0 + SLACK):
                groups.append(np.int64(g))
                values.append(np.int64(value))
        clear(s, touched)
        a = b
    found = np.empty((len(groups), 2), dtype=np.int64)
    for i in range(len(groups)):
        found[i, 0] = groups[i]
        found[i, 1] = values[i]
    return found
