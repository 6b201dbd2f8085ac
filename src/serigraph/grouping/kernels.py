"""Compiled kernels that form groups. Arrays in, group numbers out; nothing here is believed
before ``serigraph.verification`` has checked it.

All kernels live in this one module, because Numba's cache does not notice an edit in another one.

Words used here: a *cell* is a range of ``order`` (the people, rearranged as cells are cut), a
*target* is the ratio n/n_s that the strategy asks for one person and value, and a cell is *dealt*
when its people are spread over several groups that interleave in space.

A cell is a row of whole numbers: begin, end, state, size of its groups, then its box of codes, low
ends first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.compiled import kernel

BEGIN, END, STATE, SIZE, BOX = 0, 1, 2, 3, 4
UNKNOWN = -1
PLAIN = 0  # no protected value: records may stay as they are
VALID = 1
FAILED = 2  # no valid grouping was found

CUTS_A_COLUMN = 50
WHOLE = 512  # people of a larger cell are sampled to choose its cut
SAMPLE = 128
LARGE = 8192  # in a larger cell few cuts are tried; hardly ever is more than one
TRIES_IN_LARGE_CELL = 16
GROUPS_TO_DEAL = 8  # in a cell at the least, where more than the values' shares matters
PATIENCE = 64  # groups in a cell, before they are made larger because of histories
NEIGHBOURHOOD = 32  # groups that are merged and cut anew, bottom-up
EXCHANGES = 400  # tried for somebody that fits nowhere
THOROUGH = 2048  # cells up to this size are checked against every member's history
WASTEFUL = 1.5  # a cut that leaves room for fewer groups than before seems so much wider
CROWDED = 0.34  # part of a cell that its most frequent value needs, from which on cuts compete
COMPETING = 24  # cuts
FORESIGHT = 2.0  # how much wider a cut may be that leaves both sides room for further cuts
TRIAL = 8192  # people of a cell that is cut in two ways, at the most
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
    key: NDArray[np.int64]  # random and not negative, one a person
    past: NDArray[np.int32]  # [person, release] -> past group or -1
    past_start: NDArray[np.int64]
    past_value: NDArray[np.int32]
    past_log: NDArray[np.float64]  # ln(1 - n_s/n)
    base: NDArray[np.float64]  # target of each value for a person without history
    rule: NDArray[np.int32]  # of each value, a row of the next
    rules: NDArray[np.float64]  # ln(1 - threshold), factor, two lengths, ratios, shares
    minimum_size: int
    interleave: bool


class Scratch(NamedTuple):
    """Room that is used again and again; ``holders`` is all zero between uses."""

    holders: NDArray[np.int64]  # of each value in the cell
    need: NDArray[np.float64]  # largest target of each value among the cell's people
    linked: NDArray[np.int64]  # people of the cell that were linked to the value before
    links: NDArray[np.int64]
    logs: NDArray[np.float64]
    touched: NDArray[np.int64]  # values in the cell
    seen: NDArray[np.int64]  # values in one person's past
    local: NDArray[np.int64]  # place of a value among the touched ones


class Dealing(NamedTuple):
    """A cell while its people are dealt to groups; values are numbered as the cell has them."""

    who: NDArray[np.int64]  # the people
    seat: NDArray[np.int64]  # the group of each, or -1
    room: NDArray[np.int64]  # seats left in each group
    cap: NDArray[np.int64]  # how many of a value any group may hold
    held: NDArray[np.int64]  # [group, value]
    limit: NDArray[np.int64]  # [group, value] how many its members allow
    tight_start: NDArray[np.int64]
    tight: NDArray[np.int64]  # of each person, the values that it allows less of, and how many


@kernel
def next_target(f, value, links, log_survival):
    """The ratio asked for the next link of a pair; the floating twin of Strategy.ratio."""
    rule = f.rules[f.rule[value]]
    budget = log_survival - rule[0]
    if budget <= 1e-13:
        return np.inf
    target = -rule[1] / np.expm1(-budget)
    ratios = int(rule[2])
    shares = int(rule[3])
    if ratios > 0:
        target = max(target, rule[4 + min(links, ratios - 1)])
    if shares > 0:
        target = max(target, -1.0 / np.expm1(-rule[4 + ratios + min(links, shares - 1)] * budget))
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
            if s.holders[value] == 0:
                s.touched[touched] = value
                s.need[value] = 0.0
                s.linked[value] = 0
                touched += 1
            s.holders[value] += 1
    return n, touched


@kernel
def clear(s, touched):
    for t in range(touched):
        s.holders[s.touched[t]] = 0


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
            if s.holders[value] > 0:
                if s.links[value] == 0:
                    s.seen[seen] = value
                    s.logs[value] = 0.0
                    seen += 1
                s.links[value] += 1
                s.logs[value] += f.past_log[e]
    return seen


@kernel
def find_needs(f, s, people, a, b, touched):
    """Write the largest target of each value among the people of a cell, each by its own past."""
    if f.past.shape[1] > 0 and touched > 0:
        for i in range(a, b):
            seen = walk_past(f, s, people[i])
            for k in range(seen):
                value = s.seen[k]
                target = next_target(f, value, s.links[value], s.logs[value])
                s.need[value] = max(s.need[value], target)
                s.linked[value] += 1
                s.links[value] = 0
    for t in range(touched):
        value = s.touched[t]
        if s.linked[value] < b - a:
            s.need[value] = max(s.need[value], f.base[value])


@kernel
def is_group(f, s, people, a, b):
    """Whether the cell is a valid group: every member bounded for every value, given its past."""
    n, touched = tally(f, s, people, a, b)
    valid = n >= f.minimum_size
    if valid:
        find_needs(f, s, people, a, b, touched)
        for t in range(touched):
            value = s.touched[t]
            if s.holders[value] * s.need[value] > n * (1.0 + SLACK):
                valid = False
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
        if s.holders[value] > groups * int(even * (1.0 + SLACK) / f.base[value]):
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
    _, touched = tally(f, s, people, a, b)
    even = n // groups
    who = np.empty(n, dtype=np.int64)
    for i in range(n):
        who[i] = people[a + i]
    room = np.empty(groups, dtype=np.int64)
    for g in range(groups):
        room[g] = even + (1 if g < n % groups else 0)
    cap = np.empty(touched, dtype=np.int64)  # how many of a value a group may hold
    for t in range(touched):
        s.local[s.touched[t]] = t
        cap[t] = int(even * (1.0 + SLACK) / f.base[s.touched[t]])
    # Whoever has a past may allow less of some values: its tight list.
    tight_start = np.zeros(n + 1, dtype=np.int64)
    tight = np.empty((16, 2), dtype=np.int64)  # value, how many of it
    entries = 0
    if f.past.shape[1] > 0 and touched > 0:
        for i in range(n):
            seen = walk_past(f, s, who[i])
            for k in range(seen):
                value = s.seen[k]
                t = s.local[value]
                allowed = int(
                    even * (1.0 + SLACK) / next_target(f, value, s.links[value], s.logs[value])
                )
                s.links[value] = 0
                if allowed < cap[t]:
                    tight = with_room(tight, entries)
                    tight[entries, 0] = t
                    tight[entries, 1] = allowed
                    entries += 1
            tight_start[i + 1] = entries
    # Holders of the most frequent value first, then of the next, at random within.
    frequency = np.empty(touched, dtype=np.int64)
    for t in range(touched):
        frequency[t] = -s.holders[s.touched[t]]
    turn = np.empty(touched, dtype=np.int64)
    by_frequency = np.argsort(frequency)
    for k in range(touched):
        turn[by_frequency[k]] = k
    lead = np.empty(n, dtype=np.int64)
    for i in range(n):
        person = who[i]
        first = touched
        for h in range(f.held_start[person], f.held_start[person + 1]):
            first = min(first, turn[s.local[f.held[h]]])
        lead[i] = (first << 40) | (f.key[person] >> 23)
    people_first = np.argsort(lead)
    clear(s, touched)

    limit = np.empty((groups, touched), dtype=np.int64)
    for g in range(groups):
        for t in range(touched):
            limit[g, t] = cap[t]
    seat = np.empty(n, dtype=np.int64)
    for i in range(n):
        seat[i] = -1
    held = np.zeros((groups, touched), dtype=np.int64)
    d = Dealing(who, seat, room, cap, held, limit, tight_start, tight)
    start = 0
    for k in range(n):
        i = people_first[k]
        for step in range(groups):
            g = (start + step) % groups
            if room[g] > 0 and may_join(f, s, d, i, g):
                join(f, s, d, i, g)
                room[g] -= 1
                start = g + 1
                break
        if seat[i] < 0 and not exchange(f, s, d, i, people_first, k):
            return 0
    for i in range(n):
        slot[a + i] = seat[i]
    return groups


@kernel
def may_join(f, s, d, i, g):
    """Whether person i of the cell fits group g as it stands."""
    person = d.who[i]
    for h in range(f.held_start[person], f.held_start[person + 1]):
        t = s.local[f.held[h]]
        if d.held[g, t] + 1 > d.limit[g, t]:
            return False
    for e in range(d.tight_start[i], d.tight_start[i + 1]):
        t = d.tight[e, 0]
        holds = 0
        for h in range(f.held_start[person], f.held_start[person + 1]):
            if s.local[f.held[h]] == t:
                holds = 1
        if d.held[g, t] + holds > d.tight[e, 1]:
            return False
    return True


@kernel
def join(f, s, d, i, g):
    """Seat person i in group g."""
    d.seat[i] = g
    person = d.who[i]
    for h in range(f.held_start[person], f.held_start[person + 1]):
        d.held[g, s.local[f.held[h]]] += 1
    tighten(d, i, g)


@kernel
def tighten(d, i, g):
    """Let a group allow no more of a value than person i does."""
    for e in range(d.tight_start[i], d.tight_start[i + 1]):
        t = d.tight[e, 0]
        d.limit[g, t] = min(d.limit[g, t], d.tight[e, 1])


@kernel
def leave(f, s, d, i, g):
    """Take person i out of group g again."""
    d.seat[i] = -1
    person = d.who[i]
    for h in range(f.held_start[person], f.held_start[person + 1]):
        d.held[g, s.local[f.held[h]]] -= 1
    if d.tight_start[i + 1] > d.tight_start[i]:
        for t in range(len(d.cap)):
            d.limit[g, t] = d.cap[t]
        for other in range(len(d.seat)):
            if d.seat[other] == g:
                tighten(d, other, g)


@kernel
def exchange(f, s, d, i, placed, number):
    """Make room for person i by moving somebody that was placed; True if i has a seat then."""
    for k in range(min(number, EXCHANGES)):
        x = placed[(k * 7919 + i) % number]
        g = d.seat[x]
        leave(f, s, d, x, g)
        if may_join(f, s, d, i, g):
            for other in range(len(d.room)):
                if other != g and d.room[other] > 0 and may_join(f, s, d, x, other):
                    join(f, s, d, x, other)
                    d.room[other] -= 1
                    join(f, s, d, i, g)
                    return True
        join(f, s, d, x, g)
    return False


@kernel
def boundary(f, d, left, right, shallowest):
    """The code behind which a region may be cut between two neighbouring people, or -1."""
    for code in range(left, right):
        if f.divergence[f.offset[d] + code] == shallowest:
            return code
    return -1


@kernel
def outward_widths(f, people, order, widths, squared):
    """widths[i]: width, summed over the columns, of the box around the first i people.

    Squares make much of the widest column.
    """
    columns = f.codes.shape[0]
    for i in range(len(widths)):
        widths[i] = 0.0
    for e in range(columns):
        low = np.inf
        high = -np.inf
        for i in range(len(order)):
            where = f.position[f.offset[e] + f.codes[e, people[order[i]]]]
            low = min(low, where)
            high = max(high, where)
            width = min(high - low, 1.0)
            widths[i + 1] += width * width if squared else width


@kernel
def rank_cuts(f, people, a, b, step, squared, cuts, ranking, cost, orders):
    """List the cuts of a cell, and their ranking by the width that results; returns how many.

    A cut is a row of ``cuts``: column, people on the left in ``orders[column]`` (0 in a cell
    that is sampled), last code on the left. Values held play no part in the ranking.
    """
    n = b - a
    sampled = n > WHOLE
    m = SAMPLE if sampled else n
    who = np.empty(m, dtype=np.int64)
    for i in range(m):
        who[i] = people[a + (i * n) // m]
    left = np.zeros(m + 1)
    right = np.zeros(m + 1)
    packed = np.empty(m, dtype=np.int64)
    backwards = np.empty(m, dtype=np.int64)
    code_behind = np.empty(m, dtype=np.int64)
    found = 0
    for d in range(f.codes.shape[0]):
        for i in range(m):
            packed[i] = (np.int64(f.codes[d, who[i]]) << 32) | (f.key[who[i]] >> 31)
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
        outward_widths(f, who, order, left, squared)
        for i in range(m):
            backwards[i] = order[m - 1 - i]
        outward_widths(f, who, backwards, right, squared)
        every = (possible + CUTS_A_COLUMN - 1) // CUTS_A_COLUMN
        passed = 0
        for i in range(1, m):
            if code_behind[i] < 0:
                continue
            passed += 1
            if (passed - 1) % every == every // 2:
                loss = i * left[i] + (m - i) * right[m - i]
                if not sampled and not f.interleave and i // step + (m - i) // step < m // step:
                    loss *= WASTEFUL
                cost[found] = int(loss * 2.0**30)
                cuts[found, 0] = d
                cuts[found, 1] = 0 if sampled else i
                cuts[found, 2] = code_behind[i]
                found += 1
    chosen = np.argsort(cost[:found])
    for c in range(found):
        ranking[c] = chosen[c]
    return found


@kernel
def apply_cut(f, people, a, b, step, cuts, cut, orders, target):
    """Write the cell to ``target[:b-a]``, left side first; returns how many are on the left."""
    d, on_the_left, last = cuts[cut, 0], cuts[cut, 1], cuts[cut, 2]
    if on_the_left > 0:
        for i in range(b - a):
            target[i] = orders[d, i]
        return on_the_left
    left = 0
    for i in range(a, b):
        left += f.codes[d, people[i]] <= last
    if f.interleave and left % step > 0 and b - a <= LARGE:
        # Interleaved groups may part people with equal codes: the left side becomes a whole number
        # of groups, at random among equals.
        packed = np.empty(b - a, dtype=np.int64)
        for i in range(b - a):
            person = people[a + i]
            packed[i] = (np.int64(f.codes[d, person]) << 32) | (f.key[person] >> 31)
        by_code = np.argsort(packed)
        for i in range(b - a):
            target[i] = people[a + by_code[i]]
        return left - left % step
    x = 0
    y = left
    for i in range(a, b):
        person = people[i]
        if f.codes[d, person] <= last:
            target[x] = person
            x += 1
        else:
            target[y] = person
            y += 1
    return left


@kernel
def people_in(f, people, a, b):
    """How many people of a cell count in its size."""
    n = 0
    for i in range(a, b):
        n += f.weight[people[i]]
    return n


@kernel
def judge(f, s, people, a, b, simple):
    """Whether one side of a cut can stand by itself, as far as is worth finding out now."""
    if not has_counts(f, s, people, a, b):
        return False
    return simple or f.interleave or b - a > THOROUGH or is_group(f, s, people, a, b)


@kernel
def cell_state(f, s, people, a, b, simple, last_resort, slot):
    """State of a cell that is not cut further, and the group size that it can be dealt into.

    A small cell is not dealt into groups that are larger than need be: it is better merged with a
    neighbour, unless that is no longer possible (``last_resort``).
    """
    n, touched = tally(f, s, people, a, b)
    size = group_size(f, s, touched)
    clear(s, touched)
    if touched == 0 and f.minimum_size <= 1:
        return PLAIN, size
    if not f.interleave:
        return (VALID if is_group(f, s, people, a, b) else FAILED), size
    may_enlarge = last_resort or (f.past.shape[1] > 0 and b - a >= PATIENCE * size)
    largest = b - a if may_enlarge else size
    while size <= min(largest, b - a):
        if simple:
            n, touched = tally(f, s, people, a, b)
            fits = counts_fit(f, s, touched, n, size)
            clear(s, touched)
        else:
            fits = deal(f, s, people, a, b, size, slot) > 0
        if fits:
            return VALID, size
        size = max(size + 1, size + size // 5)
    return FAILED, size


@kernel
def with_room(rows, used):
    """The rows, with room for one more at least."""
    if used < len(rows):
        return rows
    wider = np.empty((2 * len(rows) + 2, rows.shape[1]), dtype=np.int64)
    for i in range(used):
        copy_row(wider, i, rows, i)
    return wider


@kernel
def copy_row(target, i, source, k):
    # Plain loops: slices of arrays take Numba seconds to compile.
    for column in range(source.shape[1]):
        target[i, column] = source[k, column]


@kernel
def copy_back(order, a, b, arranged):
    for i in range(a, b):
        order[i] = arranged[i - a]


@kernel
def push_halves(f, stack, top, cells, row, middle, cuts, cut):
    """Put both sides of a cut cell on the stack, the left one on top; returns the stack."""
    column, code = cuts[cut, 0], cuts[cut, 2]
    for side in range(2):
        stack = with_room(stack, top)
        copy_row(stack, top, cells, row)
        if side == 0:
            stack[top, BEGIN] = middle
            stack[top, BOX + column] = code + 1
        else:
            stack[top, END] = middle
            stack[top, BOX + f.codes.shape[0] + column] = code
        top += 1
    return stack


@kernel
def size_needed(f, s, people, a, b):
    """The size that a cell would need as one group: at most its own, if it is valid."""
    _, touched = tally(f, s, people, a, b)
    needed = 0.0
    for t in range(touched):
        value = s.touched[t]
        needed = max(needed, s.holders[value] * f.base[value])
    clear(s, touched)
    return needed


@kernel
def choose_cut(
    f, s, order, a, b, size, state, simple, squared, cuts, ranking, cost, orders, target
):
    """The cut of a cell, by its row in ``cuts``, or -1 if none will do.

    The narrowest cut that both sides survive is taken. Where some value needs a good part of the
    cell, such cuts compete: one that leaves both sides room for further cuts may be wider. A cell
    that is not valid as it is may be cut so that one side becomes valid.
    """
    found = rank_cuts(f, order, a, b, size, squared, cuts, ranking, cost, orders)
    if b - a > LARGE:
        found = min(found, TRIES_IN_LARGE_CELL)
    crowded = (
        not f.interleave and b - a <= LARGE and size_needed(f, s, order, a, b) > CROWDED * (b - a)
    )
    start = np.int64(0)  # a literal would be a type of its own, and compile everything twice
    best = np.int64(-1)
    best_score = 0.0
    competing = 0
    for c in range(found):
        cut = ranking[c]
        middle = apply_cut(f, order, a, b, size, cuts, cut, orders, target)
        if middle == 0 or middle == b - a:
            continue
        if not f.interleave:
            # What a side must have does not depend on which side holds the values.
            least = f.minimum_size if state == FAILED else size
            if (
                people_in(f, target, start, middle) < least
                or people_in(f, target, middle, b - a) < least
            ):
                continue
        left = judge(f, s, target, start, middle, simple)
        if not left and (best >= 0 or state != FAILED):
            continue
        right = judge(f, s, target, middle, b - a, simple)
        if left and right:
            needed = size_needed(f, s, target, start, middle)
            needed += size_needed(f, s, target, middle, b - a)
            score = cost[cut] * (1.0 + FORESIGHT * needed / (b - a))
            if competing == 0 or score < best_score:
                best = cut
                best_score = score
            competing += 1
            if not crowded or competing == COMPETING:
                break
        elif state == FAILED and best < 0 and (left or right):
            best = cut
    return best


@kernel
def cut_down(f, s, order, cells, simple, squared, until):
    """Cut cells top-down, at the cut that leaves the narrowest boxes and that both sides survive.

    Rearranges ``order`` in place and returns the cells that remain. A cell that is not valid itself
    is cut all the same where one side becomes valid: with histories that differ, the parts of an
    invalid group may be valid.
    """
    columns = f.codes.shape[0]
    widest = 0
    for i in range(len(cells)):
        widest = max(widest, cells[i, END] - cells[i, BEGIN])
    orders = np.empty((columns, WHOLE), dtype=np.int64)
    cuts = np.empty((columns * (CUTS_A_COLUMN + 2), 3), dtype=np.int64)
    ranking = np.empty(len(cuts), dtype=np.int64)
    cost = np.empty(len(cuts), dtype=np.int64)
    target = np.empty(widest, dtype=np.int64)
    slot = np.empty(len(order), dtype=np.int64)
    stack = np.empty_like(cells)
    for i in range(len(cells)):
        copy_row(stack, i, cells, len(cells) - 1 - i)
    top = len(stack)
    done = np.empty((len(cells) + 64, cells.shape[1]), dtype=np.int64)
    finished = 0
    cell = np.empty((1, cells.shape[1]), dtype=np.int64)
    # Where histories or sets of values matter, dealing needs some freedom.
    smallest = 2 if simple else 2 * GROUPS_TO_DEAL
    start = np.int64(0)
    while top > 0:
        top -= 1
        copy_row(cell, start, stack, top)
        a, b = cell[0, BEGIN], cell[0, END]
        _, touched = tally(f, s, order, a, b)
        size = group_size(f, s, touched)
        clear(s, touched)
        thorough = not simple and not f.interleave and b - a <= THOROUGH
        if touched == 0 and f.minimum_size <= 1:
            state = PLAIN
        elif thorough:
            state, size = cell_state(f, s, order, a, b, simple, False, slot)
        else:
            state = VALID
        if state != PLAIN and b - a <= until:
            done = with_room(done, finished)
            copy_row(done, finished, cell, start)
            done[finished, STATE] = UNKNOWN
            finished += 1
            continue
        is_final = state == PLAIN or (f.interleave and b - a < smallest * size)
        best = np.int64(-1)
        if not is_final:
            best = choose_cut(
                f, s, order, a, b, size, state, simple, squared, cuts, ranking, cost, orders, target
            )
        if best < 0:
            if state == VALID and not thorough:
                state, size = cell_state(f, s, order, a, b, simple, False, slot)
            done = with_room(done, finished)
            copy_row(done, finished, cell, start)
            done[finished, STATE] = state
            done[finished, SIZE] = size
            finished += 1
            continue
        middle = a + apply_cut(f, order, a, b, size, cuts, best, orders, target)
        copy_back(order, a, b, target)
        stack = push_halves(f, stack, top, cell, start, middle, cuts, best)
        top += 2
    return done[:finished]


@kernel
def total_width(f, order, cells):
    """Width of the groups, summed over people and columns; records that stay as they are have none."""
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
def split_cells(f, s, order, cells, simple):
    """Cut cells top-down; returns those that remain.

    Small cells of the generalised form are cut in two ways, by widths and by their squares, and
    the narrower result is kept.
    """
    linear, squared = len(cells) < 0, len(cells) >= 0  # no literals: they are types of their own
    whole = np.int64(0)
    if f.interleave:
        return cut_down(f, s, order, cells, simple, linear, whole)
    coarse = cut_down(f, s, order, cells, simple, linear, np.int64(TRIAL))
    done = np.empty((len(coarse), cells.shape[1]), dtype=np.int64)
    finished = np.int64(0)
    one = np.empty((1, cells.shape[1]), dtype=np.int64)
    for i in range(len(coarse)):
        copy_row(one, whole, coarse, np.int64(i))
        if coarse[i, STATE] != UNKNOWN:
            best = one
        else:
            a, b = coarse[i, BEGIN], coarse[i, END]
            before = order[a:b].copy()
            best = cut_down(f, s, order, one, simple, linear, whole)
            after = order[a:b].copy()
            width = total_width(f, order, best)
            order[a:b] = before
            other = cut_down(f, s, order, one, simple, squared, whole)
            if total_width(f, order, other) < width:
                best = other
            else:
                order[a:b] = after
        for row in range(len(best)):
            done = with_room(done, finished)
            copy_row(done, finished, best, np.int64(row))
            finished += 1
    return done[:finished]


@kernel
def blind_tree(f, order, cell, size, squared):
    """Cut a cell into small ones without looking at values; returns the tree in pre-order.

    A row is a cell whose state is the row of its right child (0 in a leaf; the left child is the
    next row) and whose size is the column of its cut.
    """
    columns = f.codes.shape[0]
    orders = np.empty((columns, WHOLE), dtype=np.int64)
    cuts = np.empty((columns * (CUTS_A_COLUMN + 2), 3), dtype=np.int64)
    ranking = np.empty(len(cuts), dtype=np.int64)
    cost = np.empty(len(cuts), dtype=np.int64)
    target = np.empty(cell[END] - cell[BEGIN], dtype=np.int64)
    tree = np.empty((64, len(cell)), dtype=np.int64)
    rows = np.int64(0)
    stack = np.empty((64, len(cell)), dtype=np.int64)
    for column in range(len(cell)):
        stack[0, column] = cell[column]
    stack[0, STATE] = -1  # on the stack, the parent of a right child
    top = 1
    while top > 0:
        top -= 1
        tree = with_room(tree, rows)
        copy_row(tree, rows, stack, top)
        parent = tree[rows, STATE]
        if parent >= 0:
            tree[parent, STATE] = rows
        tree[rows, STATE] = 0
        a, b = tree[rows, BEGIN], tree[rows, END]
        if b - a >= 2 * size:
            found = rank_cuts(f, order, a, b, size, squared, cuts, ranking, cost, orders)
            for c in range(found):
                cut = ranking[c]
                middle = apply_cut(f, order, a, b, size, cuts, cut, orders, target)
                if middle >= size and b - a - middle >= size:
                    copy_back(order, a, b, target)
                    tree[rows, SIZE] = cuts[cut, 0]
                    stack = push_halves(f, stack, top, tree, rows, a + middle, cuts, cut)
                    stack[top, STATE] = rows
                    stack[top + 1, STATE] = -1
                    top += 2
                    break
        rows += 1
    return tree[:rows]


@kernel
def settle(f, tree, order):
    """Let everybody fall into the leaves of a tree that was grown from a sample.

    Writes the people to ``order``, leaf by leaf, and to each row of the tree where its people begin
    and end.
    """
    columns = f.codes.shape[0]
    people = f.codes.shape[1]
    leaf = np.empty(people, dtype=np.int64)
    free = np.zeros(len(tree) + 1, dtype=np.int64)
    for person in range(people):
        row = np.int64(0)
        while tree[row, STATE] > 0:
            d = tree[row, SIZE]
            is_left = f.codes[d, person] <= tree[row + 1, BOX + columns + d]
            row = row + 1 if is_left else tree[row, STATE]
        leaf[person] = row
        free[row + 1] += 1
    for row in range(len(tree)):
        tree[row, BEGIN] = free[row]
        free[row + 1] += free[row]
        tree[row, END] = free[row + 1]
    for row in range(len(tree) - 1, -1, -1):
        if tree[row, STATE] > 0:
            tree[row, END] = tree[tree[row, STATE], END]
    for person in range(people):
        order[free[leaf[person]]] = person
        free[leaf[person]] += 1


@kernel
def merge_siblings(f, s, order, tree, simple, coarse):
    """Merge cells bottom-up along a tree until they are valid; states of the rows that remain.

    A row that is part of a merged one, or that has been cut further, gets -1. Valid neighbours are
    merged as well until they are a neighbourhood, which is then cut anew with the values in sight.
    With ``coarse`` the values' shares decide alone, and nothing is merged that need not be.
    """
    rows = len(tree)
    state = np.full(rows, -1, dtype=np.int64)
    resolved = np.zeros(rows, dtype=np.bool_)
    slot = np.empty(1, dtype=np.int64)
    end = np.empty(rows, dtype=np.int64)
    for row in range(rows - 1, -1, -1):
        a, b, right = tree[row, BEGIN], tree[row, END], tree[row, STATE]
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
                may_part = coarse or (
                    people_in(f, order, a, middle) >= least
                    and people_in(f, order, middle, b) >= least
                )
                if coarse or touched == 0 or (may_part and b - a >= NEIGHBOURHOOD * least):
                    resolved[row] = True
                    continue
        if coarse:
            now = VALID if has_counts(f, s, order, a, b) else FAILED
        else:
            now, _ = cell_state(f, s, order, a, b, simple, False, slot)
        if now == FAILED and may_part:
            resolved[row] = True
            continue
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
        a, b, state, size = cells[i, BEGIN], cells[i, END], cells[i, STATE], cells[i, SIZE]
        i += 1
        if state == UNKNOWN:
            state, size = cell_state(f, s, order, a, b, simple, False, slot)
        while state == FAILED and (top > 0 or i < len(cells)) and (simple or b - a < 4 * THOROUGH):
            wanted = b - a + (b - a) // 4 + 1
            while b - a < wanted and (top > 0 or i < len(cells)):
                before = kept[top - 1, END] - kept[top - 1, BEGIN] if top > 0 else len(order) + 1
                after = cells[i, END] - cells[i, BEGIN] if i < len(cells) else len(order) + 1
                if before <= after:
                    top -= 1
                    a = kept[top, BEGIN]
                else:
                    b = cells[i, END]
                    i += 1
            state, size = cell_state(f, s, order, a, b, simple, False, slot)
        if state == FAILED:
            state, size = cell_state(f, s, order, a, b, simple, True, slot)
        copy_row(kept, top, cells, i - 1)
        kept[top, BEGIN], kept[top, END] = a, b
        kept[top, STATE], kept[top, SIZE] = state, size
        top += 1
    return kept[:top]


@kernel
def deal_cells(f, s, order, cells, slot):
    """Deal every valid cell: ``slot`` becomes the group within the cell of each place of the order.

    Returns the number of groups of each cell, 0 where it has none.
    """
    groups = np.zeros(len(cells), dtype=np.int64)
    for i in range(len(cells)):
        if cells[i, STATE] == VALID:
            groups[i] = deal(f, s, order, cells[i, BEGIN], cells[i, END], cells[i, SIZE], slot)
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
        find_needs(f, s, people, a, b, touched)
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
