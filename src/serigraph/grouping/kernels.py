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

from serigraph.runtime.compiled import inner, kernel, making, shared

BEGIN, END, STATE, GROUPS, RIGHT, COLUMN, BOX = 0, 1, 2, 3, 4, 5, 6
UNKNOWN = -1
PLAIN = 0  # no protected value: records may stay as they are
VALID = 1
FAILED = 2  # no valid grouping was found

LARGE = 512  # people of a larger cell are sampled to choose its cut
SORTED_DIGITS = 10  # of a code, at once
SORTED_AT_ONCE = 1 << SORTED_DIGITS
SAMPLE = 40
MIDDLING = 8192  # people of a cell whose cuts are weighed against each other, at the most
TRIES = 16  # cuts, before a cell is left as it is
TRIES_LARGE = 200  # cuts of a cell between LARGE and MIDDLING
COMPETING = 8  # cuts of a large cell that both sides survive
FEW = 4  # holders in a cell: up to here, cuts do not depend on where they are
SIMILAR = 1.25  # targets that differ by less are dealt together
NEED_STEPS, LARGEST_NEED = 64.0, 4e9  # how finely targets are put in order
GROUPS_TO_DEAL = 8  # in a cell at the least, where more than the values' shares matters
NEIGHBOURHOOD = 32  # groups in a cell that is cut blind, bottom-up, and then with values in sight
TOGETHER = 8  # people whose past is looked for at the same time
FALLING = 1024  # people that look for their district at the same time
ARRANGED = 1 << 16  # people that are put in order at the same time
EXCHANGES = 400  # tried for somebody that fits nowhere
MERGED = 1 << 16  # people in a cell up to which it is merged where sets of values cannot be dealt
WASTEFUL = 1.5  # a cut that leaves room for fewer groups than before seems so much wider
CROWDED = 0.34  # part of a cell that its most frequent value needs: from there on, foresight
FORESIGHT = 2.0  # how much wider a cut seems for all that the values on its sides need
SMALLEST = 1e-300  # survival that is told from none: below, processors become slow
SCATTERING = np.uint64(0x9E3779B97F4A7C15)  # an odd number whose multiples lie far apart
SLACK = 1e-12  # targets that are whole numbers must not be missed for a rounding error


class GroupingInput(NamedTuple):
    """What a kernel knows: quasi-identifiers, values held, history and targets."""

    codes: NDArray[np.integer]  # [column, person]
    position: NDArray[np.float64]  # all columns' codes behind each other
    divergence: NDArray[np.int32]  # likewise; entry i is the boundary behind code i
    offset: NDArray[np.int64]  # where each column starts in the two above
    has_taxonomy: NDArray[np.bool_]  # of each column
    held_start: NDArray[np.int64]
    held: NDArray[np.int32]
    holds_one: bool  # everybody holds just one value
    weight: NDArray[np.uint8]  # 1 if the person counts in n
    key: NDArray[np.int64]  # random, one a person
    past: NDArray[np.int32]  # [row, release] -> the past group, or -1
    past_row: NDArray[np.uint32]  # of each person, if there is a past
    past_start: NDArray[np.int64]  # where the exposures of each past group begin in the next
    past_exposure: NDArray[np.integer]  # numbers of exposures; no group is without any
    exposure_value: NDArray[np.int32]
    exposure_survival: NDArray[np.float64]  # 1 - n_s/n
    neediest: NDArray[np.float64]  # of each row of the past, the largest target it asks for
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
    right: NDArray[np.int32]  # [value, cut] holders on the right of it; behind them all people
    touched: NDArray[np.uint32]  # values in the cell; room for one more
    local: NDArray[np.uint32]  # place of a value among the touched ones


class Dealing(NamedTuple):
    """A cell while its people are dealt to groups; values are numbered as the cell has them."""

    start: NDArray[np.uint32]  # where the values of each person begin in the next
    value: NDArray[np.uint32]
    seat: NDArray[np.int64]  # the group of each, or -1
    member: NDArray[np.uint32]  # [group, place]
    members: NDArray[np.int64]  # of each group
    seats: NDArray[np.int64]  # likewise
    cap: NDArray[np.int64]  # how many of a value any group may hold
    held: NDArray[np.int32]  # [group, value]


class SortedCell(NamedTuple):
    """The people of a cell by numbers of their own, in the order of each column.

    A cell that was cut out of it is a range in all of these orders.
    """

    who: NDArray[np.uint32]
    at: NDArray[np.float64]  # [column, person] position
    ranked: NDArray[np.uint32]  # [column, place] -> person
    value: NDArray[np.uint32]  # one that the person holds, numbered as the cell has it, or none
    more_start: NDArray[np.uint32]
    more: NDArray[np.uint32]  # what else it holds
    base: NDArray[np.float64]  # target of each value for a person without history; behind, of none
    holders: NDArray[np.float64]  # [side, value] of those people of a side that were counted
    is_left: NDArray[np.bool_]  # [person]
    spare: NDArray[np.uint32]
    begin: NDArray[np.int64]  # of each block: the people between two possible cuts
    block_of: NDArray[np.uint32]  # [place]
    block: NDArray[np.float64]  # [end, block]
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
def held_by(f, person):
    """Where the values that a person holds begin and end. Mostly that need not be looked up."""
    if f.holds_one:
        return np.int64(person), np.int64(person) + 1
    return f.held_start[person], f.held_start[person + 1]


@inner
def tally(f, s, people, a, b):
    """Count the people and the values of a cell; returns (n, number of values touched)."""
    n = 0
    touched = 0
    for i in range(a, b):
        person = people[i]
        n += f.weight[person]
        begin, end = held_by(f, person)
        for h in range(begin, end):
            # Written for every value, and kept if it is new: which one is cannot be foretold.
            value = np.uint32(f.held[h])
            holders = s.holders[value]
            s.touched[touched] = value
            touched += holders == 0
            s.holders[value] = holders + 1
    return n, touched


@inner
def sort_values(s, touched):
    """Put the values touched in the order of their numbers."""
    for t in range(1, touched):
        value, k = s.touched[t], t
        while k > 0 and s.touched[k - 1] > value:
            s.touched[k] = s.touched[k - 1]
            k -= 1
        s.touched[k] = value


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
    """Write the spans of the people from ``first`` to ``last``.

    Both ends of everybody's row are read first, and those of every group's exposures before these.
    Nothing waits for anything of another group or person, so that memory brings all of them
    together.
    """
    releases = f.past.shape[1]
    for k in range(last - first):
        row = f.past_row[people[first + k]]
        spans[k, 2, 0] = f.past[row, 0] + f.past[row, releases - 1]
    for k in range(last - first):
        row, groups = f.past_row[people[first + k]], 0
        for j in range(releases):
            # Written for every release, and kept for some: which ones they are cannot be foretold.
            spans[k, 0, groups] = f.past[row, j]
            groups += f.past[row, j] >= 0
        spans[k, 2, releases] = groups
    for k in range(last - first):
        for j in range(spans[k, 2, releases]):
            group = np.uint64(spans[k, 0, j])
            spans[k, 0, j], spans[k, 1, j] = f.past_start[group], f.past_start[group + np.uint64(1)]
    for k in range(last - first):
        for j in range(spans[k, 2, releases]):
            spans[k, 2, j] = f.past_exposure[np.uint64(spans[k, 1, j] - 1)]


@inner
def walk_past(f, s, touched, spans, k):
    """Write the survival that the person with spans ``k`` has left of each of the values touched,
    and the links to them, if these count."""
    for t in range(touched):
        s.survival[s.touched[t]] = 1.0
    for t in range(touched if f.counts_links else 0):
        s.links[s.touched[t]] = 0
    # Of other values this leaves anything: to ask of each past value whether it is one of those
    # touched takes longer than to count it. Nothing becomes so small that a processor multiplies
    # it in a hundred times the time.
    for j in range(spans[k, 2, f.past.shape[1]]):
        for e in range(np.uint64(spans[k, 0, j]), np.uint64(spans[k, 1, j])):
            exposure = np.uint32(f.past_exposure[e])
            value = np.uint32(f.exposure_value[exposure])
            s.survival[value] = max(s.survival[value] * f.exposure_survival[exposure], SMALLEST)
        for e in range(spans[k, 0, j], spans[k, 1, j] if f.counts_links else spans[k, 0, j]):
            s.links[f.exposure_value[f.past_exposure[e]]] += 1


@making
def find_needs(f, s, people, a, b, touched, n):
    """Write the largest target of each value among the people of a cell, each by its own past.
    Returns whether a group of ``n`` meets all of them; if not, some may be larger than is written.
    """
    for t in range(touched):
        s.need[s.touched[t]] = 0.0
        s.linked[s.touched[t]] = 0
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
def start_anew(f, s):
    """Let ``s`` know of no past, as ``meet_values`` expects it."""
    for value in range(len(f.base)):
        s.survival[value] = 1.0
        s.links[value] = 0


@inner
def meet_values(f, s, row):
    """Write the values that a row of the past has met, the links to each and what they left of its
    survival; returns how many values they are."""
    met = 0
    for j in range(f.past.shape[1]):
        group = f.past[row, j]
        if group < 0:
            continue
        for e in range(f.past_start[group], f.past_start[group + 1]):
            exposure = f.past_exposure[e]
            value = f.exposure_value[exposure]
            s.touched[met] = value
            met += s.links[value] == 0
            s.links[value] += 1
            s.survival[value] = max(s.survival[value] * f.exposure_survival[exposure], SMALLEST)
    return met


@kernel
def largest_targets(f, s, people, a, b):
    """The largest target of each value that the past of one of these people asks for, whether or
    not anybody here holds it; 0 where nobody has met it."""
    need = np.zeros(len(f.base))
    start_anew(f, s)
    for i in range(a, b if f.past.shape[1] > 0 else a):
        for t in range(meet_values(f, s, f.past_row[people[i]])):
            value = s.touched[t]
            target = next_target(f.rules, f.rule[value], s.links[value], s.survival[value])
            need[value] = max(need[value], target)
            s.survival[value] = 1.0
            s.links[value] = 0
    return need


@kernel
def find_neediest(f, s, begin, end, neediest):
    """Write for these rows of the past the largest target that each asks, of all values.

    Of values with the same rule and number of links the one with the least survival asks the most:
    only that one's target is worked out.
    """
    rules, most = f.rules.shape[0], f.past.shape[1]
    least = np.ones((rules, most + 1))
    start_anew(f, s)
    for row in range(begin, end):
        for t in range(meet_values(f, s, row)):
            value = s.touched[t]
            rule, links = f.rule[value], s.links[value]
            least[rule, links] = min(least[rule, links], s.survival[value])
            s.survival[value] = 1.0
            s.links[value] = 0
        largest = 0.0
        for rule in range(rules):
            for links in range(1, most + 1):
                if least[rule, links] < 1.0:
                    target = next_target(f.rules, rule, links, least[rule, links])
                    largest = max(largest, target)
                    least[rule, links] = 1.0
        neediest[row] = largest


@inner
def bear_all(f, people, a, b, most, n):
    """Whether the pasts of the people of a cell let ``most`` of n people hold any of the values; if
    not, or if that was not worked out, they may still bear those that are held."""
    if len(f.neediest) == 0:
        return f.past.shape[1] == 0
    largest = 0.0
    for i in range(a, b):
        largest = max(largest, f.neediest[f.past_row[people[i]]])
    return most * largest <= n * (1.0 + SLACK)


@making
def is_borne(f, s, people, a, b, touched, n):
    """Whether every member of a cell bears every value that ``s`` has the tally of, if the n people
    are one group."""
    most = 0
    for t in range(touched):
        most = max(most, s.holders[s.touched[t]])
    if size_needed(f, s, touched) <= n * (1.0 + SLACK) and bear_all(f, people, a, b, most, n):
        return True
    return find_needs(f, s, people, a, b, touched, n)


@inner
def has_counts(f, s, people, a, b):
    """Whether the values' shares alone, without history, allow the cell; cheap and necessary."""
    n, touched = tally(f, s, people, a, b)
    valid = n >= f.minimum_size
    if valid and touched > 0:
        size = group_size(f, s, touched) if f.interleave else n
        valid = counts_fit(s, f.base, touched, n, size)
    clear(s, touched)
    return valid


@inner
def counts_fit(s, need, touched, n, size):
    """Whether n people can be dealt into groups of ``size`` as far as the counts go, if groups are
    to have ``need`` members for each holder of a value."""
    groups = max(n // size, 1)
    even = n // groups
    for t in range(touched):
        value = s.touched[t]
        if s.holders[value] > groups * int(even * (1.0 + SLACK) / need[value]):
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
def holders_in(f, people, a, b):
    """How many people of a cell hold something that is protected."""
    holders = 0
    for i in range(a, b):
        begin, end = held_by(f, people[i])
        holders += begin < end
    return holders


@inner
def groups_apart(f, people, a, b):
    """How many groups a few holders need so that each can have one alone, if some hold several
    values: sets may exclude each other in ways that counts do not show. Otherwise 0."""
    holders, held = np.int64(0), np.int64(0)
    for i in range(a, b):
        begin, end = held_by(f, people[i])
        holders += begin < end
        held += end - begin
    return holders if held > holders and holders <= FEW else np.int64(0)


@inner
def room_for_all(f, s, touched, size, knows_needs, apart):
    """How many people a side of a cut needs so that it could hold every holder of the cell, in
    groups of ``size`` where these interleave, of which some need so many ``apart``; by the targets
    of the cell's own people, if ``s`` has them."""
    room = np.int64(size)
    if f.interleave:
        largest = np.int64(size)
        for t in range(touched if knows_needs else 0):
            largest = max(largest, np.int64(np.ceil(min(s.need[s.touched[t]], 1e15))))
        room = max(room, apart * largest)
    for t in range(touched):
        value = s.touched[t]
        if f.interleave and not knows_needs:
            cap = int(size * (1.0 + SLACK) / f.base[value])
            room = max(room, (s.holders[value] + cap - 1) // cap * size)
        elif f.interleave:
            room = max(room, s.holders[value] * np.int64(np.ceil(s.need[value] * (1.0 - SLACK))))
        else:
            need = s.need[value] if knows_needs else f.base[value]
            needed = np.ceil(min(s.holders[value] * need, 1e15) * (1.0 - SLACK))
            room = max(room, np.int64(needed))
    return room


@inner
def size_needed(f, s, touched):
    """The size that a cell would need as one group, as far as the counts of its values go."""
    need = 0.0
    for t in range(touched):
        need = max(need, s.holders[s.touched[t]] * f.base[s.touched[t]])
    return need


@making
def deal(f, s, people, a, b, present, touched, size, need, first_group, slot):
    """Spread a cell over groups of about ``size``, with ``need`` members for each holder.

    So many of its people are present, and hold so many values: ``s`` has their tally. Writes each
    person's group, counted from ``first_group``, to ``slot[a:b]`` and returns how many there are,
    or 0 if it did not succeed. Looks at values and random keys, never at quasi-identifiers or at
    anybody's past: inside a cell, who sits where says nothing about who holds what.
    """
    n = b - a
    groups = n // size
    if groups == 0 or not counts_fit(s, need, touched, present, size):
        return 0
    even = n // groups
    who = np.empty(n, dtype=np.uint32)
    for i in range(n):
        who[i] = people[a + i]
    seats = np.empty(groups, dtype=np.int64)
    members = np.zeros(groups, dtype=np.int64)
    for g in range(groups):
        seats[g] = even + (1 if g < n % groups else 0)
    cap = np.empty(touched, dtype=np.int64)
    sort_values(s, touched)  # they were met in the order of the people, which must not count
    for t in range(touched):
        s.local[s.touched[t]] = t
        cap[t] = int(even * (1.0 + SLACK) / need[s.touched[t]])
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
        chosen = (f.key[person] >> 1) & ((1 << 31) - 1)
        other = (chosen * (i + 1)) >> 31  # one before, or the same
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

    seat = np.empty(n, dtype=np.int64)
    for i in range(n):
        seat[i] = -1
    d = Dealing(
        start,
        value,
        seat,
        np.empty((groups, even + 1), dtype=np.uint32),
        members,
        seats,
        cap,
        np.zeros((groups, touched), dtype=np.int32),
    )
    g = np.int64(0)
    for k in range(n):
        i = people_first[k]
        for _ in range(groups):
            is_free = members[g] < seats[g] and may_join(d, i, g)
            if is_free:
                join(d, i, g)
            g = g + 1 if g + 1 < groups else np.int64(0)
            if is_free:
                break
        if seat[i] < 0 and not exchange(d, i, people_first, k):
            return 0
    for i in range(n):
        slot[a + i] = first_group + seat[i]
    return groups


@making
def sort_by_needs(f, s, people, a, b, touched):
    """Put the people of a cell in the order of the largest target that their past asks for any of
    the values touched; returns these targets, ascending, and writes the largest one of each value.
    Who holds a value is not looked at."""
    for t in range(touched):
        s.need[s.touched[t]] = 0.0
    n = b - a
    target = np.empty(n)
    code = np.empty(n, dtype=np.uint32)
    spans = spans_of(f)
    for i in range(n):
        k = i % TOGETHER
        if k == 0:
            find_past(f, people, a + i, min(a + i + TOGETHER, b), spans)
        walk_past(f, s, touched, spans, k)
        target[i] = 0.0
        for t in range(touched):
            value = s.touched[t]
            own = f.base[value]
            if s.survival[value] < 1.0:
                own = next_target(f.rules, f.rule[value], s.links[value], s.survival[value])
            target[i] = max(target[i], own)
            s.need[value] = max(s.need[value], own)
        code[i] = np.uint32(min(target[i] * NEED_STEPS, LARGEST_NEED))
    ranked, spare = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    sort_codes(code, ranked, spare, np.empty(SORTED_AT_ONCE + 1, dtype=np.uint32))
    who, ordered = np.empty(n, dtype=np.uint32), np.empty(n)
    highest = 0.0
    for i in range(n):
        who[i] = people[a + ranked[i]]
        highest = max(highest, target[ranked[i]])  # within a step, targets are in no order
        ordered[i] = highest
    for i in range(n):
        people[a + i] = who[i]
    return ordered


@inner
def stratum_room(s, touched, people, size, length, apart):
    """How many people a stratum needs that has at least ``length`` of the cell's ``people``, so
    that groups of ``size`` have room for its holders: for all that the cell has of a value, or, if
    these are many, for many more than fall to it by chance. ``apart`` is the number of groups that
    holders of sets need in any case."""
    length = max(length, size)
    while length < people:
        asked = float(apart)
        for t in range(touched):
            holders = s.holders[s.touched[t]]
            mean = holders * length / people
            likely = max(mean + 3.0 * np.sqrt(mean), float(FEW))
            asked = max(asked, min(float(holders), likely))
        if length // size >= asked:
            break
        length += size
    return length


@making
def deal_strata(f, s, people, a, b, touched, slot):
    """Deal a cell of people with a past: those who need large groups apart from those who do not.

    Strata are made of the people's pasts and of the cell's counts, and nothing else. In each,
    everybody bears every value of the cell in every group, so that who holds one plays no part in
    who sits where. If chance has put too many holders into a stratum, the cell is dealt as one, in
    groups as large as it takes. Returns the number of groups, or 0.
    """
    target = sort_by_needs(f, s, people, a, b, touched)
    if target[b - 1 - a] > b - a:
        return np.int64(0)
    apart = groups_apart(f, people, a, b)
    ends = np.empty(b - a + 1, dtype=np.int64)
    strata, end = 0, b
    while end > a:
        size = max(f.minimum_size, np.int64(np.ceil(target[end - 1 - a] * (1.0 - SLACK))))
        similar = np.int64(0)
        while end - similar > a and target[end - similar - 1 - a] * SIMILAR > size:
            similar += 1
        begin = end - stratum_room(s, touched, b - a, size, similar, apart)
        if begin > a:  # what is left must be able to stand by itself
            below = max(f.minimum_size, np.int64(np.ceil(target[begin - 1 - a])))
            if begin - a < stratum_room(s, touched, b - a, below, below, apart):
                begin = a
        ends[strata] = end
        strata += 1
        end = max(begin, a)
    ends[strata] = a
    values, holders = np.empty(touched, dtype=np.uint32), np.empty(touched, dtype=np.int64)
    for t in range(touched):
        values[t], holders[t] = s.touched[t], s.holders[s.touched[t]]
    clear(s, touched)
    groups = np.int64(0)
    while groups == 0 and strata > 0:
        for k in range(strata):
            begin, end = ends[k + 1], ends[k]
            size = max(f.minimum_size, np.int64(np.ceil(target[end - 1 - a] * (1.0 - SLACK))))
            present, now = tally(f, s, people, begin, end)
            need = np.full(len(f.base), target[end - 1 - a]) if strata > 1 else s.need
            found = np.int64(0)
            while found == 0 and size <= end - begin:
                found = np.int64(
                    deal(f, s, people, begin, end, present, now, size, need, groups, slot)
                )
                size = max(size + 1, size + size // 5) if strata == 1 else end - begin + 1
            clear(s, now)
            groups += found
            if found == 0:
                groups = np.int64(0)
                break
        ends[1] = a
        strata = 1 if groups == 0 and strata > 1 else 0
    for t in range(touched):
        s.touched[t], s.holders[values[t]] = values[t], holders[t]
    return groups


@inner
def may_join(d, i, g):
    """Whether person i of the cell fits group g as it stands."""
    for h in range(d.start[i], d.start[i + 1]):
        t = d.value[h]
        if d.held[g, t] + 1 > d.cap[t]:
            return False
    return True


@inner
def join(d, i, g):
    """Seat person i in group g."""
    d.seat[i] = g
    d.member[g, d.members[g]] = i
    d.members[g] += 1
    for h in range(d.start[i], d.start[i + 1]):
        d.held[g, d.value[h]] += 1


@inner
def leave(d, i, g):
    """Take person i out of group g again."""
    d.seat[i] = -1
    k = 0
    while d.member[g, k] != i:
        k += 1
    d.members[g] -= 1
    d.member[g, k] = d.member[g, d.members[g]]
    for h in range(d.start[i], d.start[i + 1]):
        d.held[g, d.value[h]] -= 1


@inner
def exchange(d, i, placed, number):
    """Make room for person i by moving somebody that was placed; True if i has a seat then."""
    for k in range(min(number, EXCHANGES)):
        x = placed[(k * 7919 + i) % number]
        g = d.seat[x]
        leave(d, x, g)
        if may_join(d, i, g):
            for other in range(len(d.seats)):
                is_free = other != g and d.members[other] < d.seats[other]
                if is_free and may_join(d, x, other):
                    join(d, x, other)
                    join(d, i, g)
                    return True
        join(d, x, g)
    return False


@shared
@making
def board_of(f, s, people, a, b, m, touched):
    """A board for m of the people of a cell, taken evenly: each column's order, sorted once.

    Equal codes lie in an order without a pattern. Values are on the board if it has everybody: so
    many are held, and ``s`` lists them.
    """
    columns = f.codes.shape[0]
    who = np.empty(m, dtype=np.uint32)
    for i in range(m):
        person = people[a + i if m == b - a else a + (i * (b - a)) // m]
        other = (scattered(person) * (i + 1)) >> 32  # somebody before, or the same
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
    base = np.zeros(touched + 1, dtype=np.float64)
    for t in range(touched):
        s.local[s.touched[t]] = t
        base[t] = f.base[s.touched[t]]
    value = np.empty(m, dtype=np.uint32)
    more_start = np.zeros(m + 1, dtype=np.uint32)
    for i in range(m):
        first, last = held_by(f, who[i])
        last = last if touched > 0 else first
        value[i] = s.local[f.held[first]] if first < last else touched
        more_start[i + 1] = more_start[i] + max(last - first - 1, 0)
    more = np.empty(more_start[m], dtype=np.uint32)
    for i in range(m if len(more) > 0 else 0):
        for k in range(more_start[i + 1] - more_start[i]):
            more[more_start[i] + k] = s.local[f.held[f.held_start[who[i]] + k + 1]]
    return SortedCell(
        who,
        at,
        ranked,
        value,
        more_start,
        more,
        base,
        np.empty((2, touched + 1), dtype=np.float64),
        np.zeros(m, dtype=np.bool_),
        spare,
        np.empty(m + 1, dtype=np.int64),
        np.empty(m, dtype=np.uint32),
        np.empty((2, m), dtype=np.float64),
        np.empty((2, m + 1), dtype=np.float64),
        np.empty((2, m + 1), dtype=np.float64),
        np.empty((columns * m, 3), dtype=np.int64),
        np.empty(columns * m, dtype=np.float64),
    )


@inner
def scattered(person):
    """A number of 32 bits without a pattern, always the same for a person: cells are mixed well,
    and yet the same for the same table, whatever is drawn."""
    return np.int64((np.uint64(person) + np.uint64(1)) * SCATTERING >> np.uint64(32))


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
def find_whole_groups(board, a, b, size):
    """Write where the blocks of a cell begin, if cuts are behind whole groups; returns their
    number."""
    blocks = np.int64(0)
    for begin in range(a, b, size):
        board.begin[blocks] = begin
        for i in range(begin, min(begin + size, b)):
            board.block_of[i] = blocks
        blocks += 1
    board.begin[blocks] = b
    return blocks


@inner
def find_those_apart(board, d, a, b):
    """The same, if cuts are between people that lie apart in column d."""
    board.begin[0] = a
    blocks = np.int64(0)
    before = board.at[d, board.ranked[d, a]]
    for i in range(a, b):
        # Written for everybody, and kept for some: which ones they are cannot be foretold.
        behind = board.at[d, board.ranked[d, i]]
        blocks += before != behind
        board.begin[blocks + 1] = i + 1
        board.block_of[i] = blocks
        before = behind
    return blocks + 1


@inner
def find_widths(board, d, blocks, most):
    """Write the widths, summed over the columns, of both sides of the cuts between the blocks of
    column d, for sides of up to ``most`` blocks."""
    ranked = board.ranked[d]
    a, b = board.begin[0], board.begin[blocks]
    for k in range(most + 1):
        board.width[0, k] = board.width[1, k] = 0.0
    for e in range(len(board.at)):
        at = board.at[e]
        if at[board.ranked[e, a]] == at[board.ranked[e, b - 1]]:
            continue
        for k in range(blocks):
            begin, end = board.begin[k], board.begin[k + 1]
            low, high = at[ranked[begin]], at[ranked[end - 1]]
            for i in range(begin, begin if e == d else end):
                where = at[ranked[i]]
                low = where if where < low else low
                high = where if where > high else high
            board.block[0, k], board.block[1, k] = low, high
        low, high = board.block[0, 0], board.block[1, 0]
        low_right, high_right = board.block[0, blocks - 1], board.block[1, blocks - 1]
        for k in range(most):
            first, last = board.block[0, k], board.block[1, k]
            low = first if first < low else low
            high = last if last > high else high
            width = high - low if high - low < 1.0 else 1.0
            board.width[0, k + 1] += width
            first, last = board.block[0, blocks - 1 - k], board.block[1, blocks - 1 - k]
            low_right = first if first < low_right else low_right
            high_right = last if last > high_right else high_right
            width = high_right - low_right if high_right - low_right < 1.0 else 1.0
            board.width[1, k + 1] += width


@inner
def find_side_needs(f, board, d, blocks, size, most):
    """Write, for the same cuts, what the values of each side need: the size of one group, or,
    where groups interleave, so many groups of ``size``. Returns how many blocks need no more than
    ``most`` people on the left, and how many on the right; nothing is written beyond both."""
    for side in range(2):
        for value in range(len(board.base)):
            board.holders[side, value] = 0.0
    need_left, need_right = 0.0, 0.0
    a, b = board.begin[0], board.begin[blocks]
    left, right = a, b - 1
    for i in range(b - a):
        first, last = np.uint64(a + i), np.uint64(b - 1 - i)
        # Written for everybody, and kept for the last of a block.
        need_left = with_person(f, board, 0, board.ranked[d, first], size, need_left)
        board.need[0, board.block_of[first] + 1] = need_left
        left += need_left <= most
        need_right = with_person(f, board, 1, board.ranked[d, last], size, need_right)
        board.need[1, blocks - board.block_of[last]] = need_right
        right -= need_right <= most
        if need_left > most and need_right > most:
            break
    on_left = np.int64(board.block_of[left]) if left < b else blocks
    on_right = blocks - 1 - np.int64(board.block_of[right]) if right >= a else blocks
    return on_left, on_right


@inner
def with_person(f, board, side, person, size, need):
    """Count what a person holds on a side; what the values there need then, if they needed so much
    before."""
    need = with_holder(f, board, side, board.value[person], size, need)
    if len(board.more) > 0:
        for h in range(board.more_start[person], board.more_start[person + 1]):
            need = with_holder(f, board, side, board.more[h], size, need)
    return need


@inner
def with_holder(f, board, side, value, size, need):
    """The same for one value."""
    holders = board.holders[side, value] + 1.0
    board.holders[side, value] = holders
    base = board.base[value]
    asked = holders * base
    if f.interleave and base > 0.0:
        asked = holders * size
        if 2.0 * base <= size * (1.0 + SLACK):
            cap = int(size * (1.0 + SLACK) / base)
            asked = float((int(holders) + cap - 1) // cap * size)
    return asked if asked > need else need


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


@shared
@inner
def list_cuts(f, board, box, a, b, weight, size, least, is_crowded, is_blind):
    """List the cuts of a cell with their scores, the lower the better; returns how many.

    A cut is a row: column, people on the left in the order of the column, last code on the left.
    ``box`` is the row of the cell: only its shallowest boundaries may be cut. ``weight`` is the
    number of its people that count. Both sides must have ``least`` people and must be able to stand
    by themselves as far as the counts of values go. The score is the width of both sides, weighted
    by people; it grows where people are left over, and in a crowded cell with what the values on
    both sides need, since that is lost for further cuts. (In a cell with few holders, that would
    tell where they are.) If the cut ``is_blind`` values play no part.
    """
    n = b - a
    found = 0
    if weight < 2 * least:
        return found
    blocks = find_whole_groups(board, a, b, size) if f.interleave else np.int64(0)
    most = (weight - least) * (1.0 + SLACK)
    for d in range(f.codes.shape[0]):
        ranked = board.ranked[d]
        if f.codes[d, board.who[ranked[a]]] == f.codes[d, board.who[ranked[b - 1]]]:
            continue
        low, high = box[BOX + d], box[BOX + f.codes.shape[0] + d]
        shallowest = shallowest_boundary(f, d, low, high) if f.has_taxonomy[d] else np.int32(0)
        if not f.interleave:
            blocks = find_those_apart(board, d, a, b)
        first, last = np.int64(1), blocks - 1
        if not is_blind:
            on_left, on_right = find_side_needs(f, board, d, blocks, size, most)
            first, last = max(first, blocks - on_right), min(last, on_left)
        # Widths take long: they are looked for where a cut is possible as far as counts go.
        while first <= last and not can_part(board, blocks, first, least, is_blind):
            first += 1
        while first <= last and not can_part(board, blocks, last, least, is_blind):
            last -= 1
        if first > last:
            continue
        find_widths(board, d, blocks, max(last, blocks - first))
        need_left, need_right = 0.0, 0.0
        weight_left = weight
        for k in range(blocks - 1, first - 1, -1):
            i = board.begin[k] - a
            for place in range(a + i, a + i if weight == n else board.begin[k + 1]):
                weight_left -= f.weight[board.who[ranked[place]]]
            weight_left = i if weight == n else weight_left
            if k > last or weight_left < least or weight - weight_left < least:
                continue
            if not is_blind:
                need_left, need_right = board.need[0, k], board.need[1, blocks - k]
            if need_left > weight_left * (1.0 + SLACK):
                continue
            if need_right > (weight - weight_left) * (1.0 + SLACK):
                continue
            code = np.int64(f.codes[d, board.who[ranked[a + i - 1]]])
            if not f.interleave:
                right_code = np.int64(f.codes[d, board.who[ranked[a + i]]])
                code = boundary(f, d, code, right_code, shallowest)
            if code < 0:
                continue
            score = i * board.width[0, k] + (n - i) * board.width[1, blocks - k]
            if not f.interleave:
                if (n - i) % size > n % size:  # people on the right beyond whole groups
                    score *= WASTEFUL
                if is_crowded:
                    score *= 1.0 + FORESIGHT * (need_left + need_right) / n
            board.cuts[found, 0] = d
            board.cuts[found, 1] = i
            board.cuts[found, 2] = code
            board.score[found] = score
            found += 1
    return found


@inner
def can_part(board, blocks, k, least, is_blind):
    """Whether a cut behind so many blocks is possible as far as counts go, if everybody counts."""
    left, right = board.begin[k] - board.begin[0], board.begin[blocks] - board.begin[k]
    if left < least or right < least:
        return False
    if is_blind:
        return True
    is_left = board.need[0, k] <= left * (1.0 + SLACK)
    return is_left and board.need[1, blocks - k] <= right * (1.0 + SLACK)


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
def choose_cut(f, s, board, box, a, b, n, size, least, is_crowded, simple, is_blind):
    """The cut of a cell, by its row in the board's list, or -1 if none will do. Where people have
    a past, a cut that the counts allow is checked against every member's own."""
    found = list_cuts(f, board, box, a, b, n, size, least, is_crowded, is_blind)
    if is_blind or simple:
        return next_cut(board, found)
    start = np.int64(0)
    for _ in range(TRIES):
        cut = next_cut(board, found)
        if cut < 0:
            break
        board.score[cut] = np.inf
        middle = board.cuts[cut, 1]
        ranked = board.ranked[board.cuts[cut, 0]]
        for i in range(b - a):
            board.spare[i] = board.who[ranked[a + i]]
        if are_sound(f, s, board.spare, start, middle, b - a):
            return cut
    return np.int64(-1)


@inner
def are_sound(f, s, people, begin, middle, end):
    """Whether both parts of a cell could be one group each, with every member's past."""
    if box_state(f, s, people, begin, middle) == FAILED:
        return False
    return box_state(f, s, people, middle, end) != FAILED


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

    Interleaved groups may part people with equal codes.
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
    """The code of a person, and among equal ones a number without a pattern."""
    return (np.int64(f.codes[column, person]) << 32) | scattered(person)


@inner
def weigh_cuts(f, s, order, a, b, cuts, weight, touched, least, is_blind, need):
    """Write for each of COMPETING cuts, rows of column and last code on the left, what the values
    of both sides need together; infinity if a side has fewer than ``least`` people, or cannot be
    one group as far as the counts of values go. ``weight`` and the number of values ``touched`` are
    the cell's tally, which ``s`` has."""
    people = len(s.right) - 1
    are_holders = f.holds_one and not is_blind  # whoever holds something counts
    for c in range(COMPETING):
        s.right[people, c] = 0
        for t in range(touched):
            s.right[s.touched[t], c] = 0
    for i in range(a, b):
        person = order[i]
        counts = 1 if is_blind else f.weight[person]
        for c in range(0 if are_holders else COMPETING):
            s.right[people, c] += counts * (f.codes[np.uint32(cuts[c, 0]), person] > cuts[c, 1])
        begin, end = held_by(f, person)
        for h in range(begin, begin if is_blind else end):
            value = np.uint32(f.held[h])
            for c in range(COMPETING):
                s.right[value, c] += f.codes[np.uint32(cuts[c, 0]), person] > cuts[c, 1]
    for c in range(COMPETING):
        right = np.int64(s.right[people, c])
        need_left, need_right = 0.0, 0.0
        for t in range(touched):
            value = s.touched[t]
            holders = s.right[value, c]
            right += holders if are_holders else 0
            need_left = max(need_left, (s.holders[value] - holders) * f.base[value])
            need_right = max(need_right, holders * f.base[value])
        left = weight - right
        is_valid = left >= least and right >= least
        is_valid = is_valid and need_left <= left * (1.0 + SLACK)
        is_valid = is_valid and need_right <= right * (1.0 + SLACK)
        need[c] = need_left + need_right if is_valid else np.inf


@making
def cut_large(f, s, order, box, a, b, size, least, is_crowded, asks_past, is_blind, found_cut):
    """Cut a cell that is too large for a board of all of its people, by a sample of them.

    A sample sees how people are spread and not how far the farthest lie, which makes for better
    cuts. Both sides have ``least`` people, in groups of ``size``, and bear their values with every
    member's past, if that ``asks_past``. Parts ``order`` and returns how many are on the left, 0 if
    no cut was found; writes column and last code on the left to ``found_cut``.
    """
    start = np.int64(0)
    one = np.int64(1)
    yes = b > a
    target = np.empty(b - a, dtype=np.uint32)
    competes = is_crowded and not f.interleave and b - a <= MIDDLING
    together = 1 if f.interleave else COMPETING
    cuts = np.empty((COMPETING, 3), dtype=np.int64)  # column, last code on the left, row
    score, need = np.empty(COMPETING), np.zeros(COMPETING)
    weight, touched = b - a, start
    if not f.interleave and not is_blind:
        weight, touched = tally(f, s, order, a, b)
    left = start
    # Where a few people show no cut, the only ones may be around a branch that few people have.
    for m in (np.int64(SAMPLE), min(b - a, np.int64(MIDDLING))):
        board = board_of(f, s, order, a, b, m, start)
        found = list_cuts(f, board, box, start, m, m, one, one, not yes, yes)
        best = np.int64(-1)
        lowest = np.inf
        valid = 0
        for number in range(TRIES_LARGE if b - a <= MIDDLING else TRIES):
            k = number % together
            if k == 0:
                for c in range(together):
                    take_cut(board, found, cuts, score, c)
                if not f.interleave:
                    weigh_cuts(f, s, order, a, b, cuts, weight, touched, least, is_blind, need)
            if cuts[k, 2] < 0:
                break
            if f.interleave:
                left = part(f, order, a, b, cuts[k, 0], cuts[k, 1], target)
                if b - a <= MIDDLING:
                    left = round_down(f, target, left, cuts[k, 0], size)
                is_valid = left >= least and b - a - left >= least
                if is_valid and not is_blind:
                    is_valid = has_counts(f, s, target, start, left)
                    is_valid = is_valid and has_counts(f, s, target, left, b - a)
            else:
                is_valid = need[k] < np.inf
            if is_valid and asks_past and f.interleave:
                is_valid = are_sound(f, s, target, start, left, b - a)
            elif is_valid and asks_past:
                left = part(f, order, a, b, cuts[k, 0], cuts[k, 1], target)
                clear(s, touched)
                is_valid = are_sound(f, s, target, start, left, b - a)
                weight, touched = tally(f, s, order, a, b)
            if not is_valid:
                continue
            valid += 1
            if competes:
                score[k] *= 1.0 + FORESIGHT * need[k] / (b - a)
            if score[k] < lowest:
                lowest = score[k]
                best = cuts[k, 2]
            if not competes or valid == COMPETING:
                break
        if best >= 0:
            found_cut[0], found_cut[1] = board.cuts[best, 0], board.cuts[best, 2]
            if not f.interleave:
                left = part(f, order, a, b, found_cut[0], found_cut[1], target)
            for i in range(b - a):
                order[a + i] = target[i]
            break
        left = start
    clear(s, touched)
    return left


@inner
def take_cut(board, found, cuts, score, c):
    """Take the best cut out of the list, if there is one: write its column, the last code on its
    left and its row."""
    cut = next_cut(board, found)
    cuts[c, 0] = cuts[c, 1] = 0
    cuts[c, 2] = cut
    if cut >= 0:
        cuts[c, 0], cuts[c, 1] = board.cuts[cut, 0], board.cuts[cut, 2]
        score[c] = board.score[cut]
        board.score[cut] = np.inf


@inner
def box_state(f, s, people, a, b):
    """State of a cell that is to be one group: every member is bounded for every value, given its
    past."""
    n, touched = tally(f, s, people, a, b)
    state = PLAIN
    if touched > 0 or f.minimum_size > 1:
        is_valid = n >= f.minimum_size and is_borne(f, s, people, a, b, touched, n)
        state = VALID if is_valid else FAILED
    clear(s, touched)
    return state


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
def cut_down(f, s, order, cells, simple, blind_size):
    """Cut cells top-down, at the cut that leaves the narrowest boxes and that both sides survive.

    Rearranges ``order`` in place and returns the trees of the cells in pre-order; what was not cut
    further are the rows whose right half is row 0. Every cell could be one group, and so could both
    sides of every cut; one that could not is left as it is. With histories that differ, its parts
    may be valid, but where it would have to be cut for that depends on who holds a value. With a
    ``blind_size`` values play no part, and halves have at least that many people.

    A cell with few holders is cut only where either side could hold all of them. Any member could
    then hold what a group shows: with the same counts, the same cuts would have been made. A cell
    with many holders is cut where its sides can stand, which tells a little about where they are.
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
    board = board_of(f, s, order, start, start, start, start)
    board_begin, board_end = start, start
    while top > 0:
        top -= 1
        tree = with_room(tree, row)
        copy_row(tree, row, stack, top)
        if tree[row, RIGHT] >= 0:
            tree[tree[row, RIGHT], RIGHT] = row
        tree[row, RIGHT] = 0
        a, b = tree[row, BEGIN], tree[row, END]
        size = least = blind_size
        n, touched = b - a, start
        is_crowded, is_few = False, False
        state = VALID
        if not is_blind:
            n, touched = tally(f, s, order, a, b)
            size = group_size(f, s, touched)
            is_few = holders_in(f, order, a, b) <= FEW
            is_crowded = not f.interleave and size_needed(f, s, touched) > CROWDED * (b - a)
            is_crowded = is_crowded and not is_few
            if touched == 0 and f.minimum_size <= 1:
                state = PLAIN
            elif not simple:
                is_valid = n >= f.minimum_size
                if is_few:
                    is_valid = find_needs(f, s, order, a, b, touched, n) and is_valid
                else:
                    is_valid = is_valid and is_borne(f, s, order, a, b, touched, n)
                state = VALID if is_valid else FAILED
            least = size
            if is_few:
                apart = groups_apart(f, order, a, b)
                least = room_for_all(f, s, touched, size, not simple, apart)
            clear(s, touched)
        if not f.interleave and not is_blind:
            shrink(f, order, tree, row)
        is_final = state != VALID or (is_blind and b - a < 2 * size)
        if f.interleave and not is_blind:
            is_final = is_final or b - a < smallest * size
        middle = start
        if is_final:
            pass
        elif b - a > LARGE:
            asks_past = not simple and not is_few and not is_blind
            middle = cut_large(
                f,
                s,
                order,
                tree[row],
                a,
                b,
                size,
                least,
                is_crowded,
                asks_past,
                is_blind or is_few,
                found_cut,
            )
        else:
            if b > board_end or a < board_begin:
                board_begin, board_end = a, b
                board = board_of(f, s, order, a, b, b - a, touched)
            x, y = a - board_begin, b - board_begin
            plainly = is_blind or is_few
            best = choose_cut(
                f, s, board, tree[row], x, y, n, size, least, is_crowded, simple, plainly
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
        elif state == VALID and simple:
            state = box_state(f, s, order, a, b)
        tree[row, STATE] = state
        row += 1
    return tree[:row]


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
    leaf has the place ``start[leaf]``. Writes who is at each place, the codes, and the value held,
    or whether any is.

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
        for i in range(first, last):
            arranged_held[place[i - first]] = held[i]


@kernel
def check_cells(f, s, order, cells, begin, end, at_least, fits):
    """Write for each of these cells whether it can stand by itself: the values' shares allow it,
    and its people's pasts would if it were one group, also if ``at_least`` so many of its people
    held each value, each in a group of its own. That many could, wherever they are."""
    few, largest = 0, 0.0
    for value in range(len(at_least)):
        few = max(few, at_least[value])
        largest = max(largest, f.base[value] if at_least[value] > 0 else 0.0)
    for i in range(begin, end):
        a, b = cells[i, BEGIN], cells[i, END]
        n, touched = tally(f, s, order, a, b)
        most = few
        for t in range(touched):
            most = max(most, s.holders[s.touched[t]])
        clear(s, touched)
        fits[i] = n >= few * np.ceil(largest) and has_counts(f, s, order, a, b)
        if fits[i] and not bear_all(f, order, a, b, most, n):
            need = largest_targets(f, s, order, a, b)
            n, touched = tally(f, s, order, a, b)
            for value in range(len(need)):
                holders = max(s.holders[value], at_least[value])
                if holders > 0 and holders * need[value] > n * (1.0 + SLACK):
                    fits[i] = False
            clear(s, touched)


@kernel
def merge_siblings(f, s, order, tree):
    """Merge cells bottom-up along a tree until each is valid; states of the rows that remain.

    A row that is part of a merged one, or that has been cut further, gets -1.
    """
    rows = len(tree)
    state = np.full(rows, -1, dtype=np.int64)
    resolved = np.zeros(rows, dtype=np.bool_)
    end = np.empty(rows, dtype=np.int64)
    for row in range(rows - 1, -1, -1):
        right = tree[row, RIGHT]
        end[row] = row + 1 if right == 0 else end[right]
        if right > 0 and resolved[row + 1] and resolved[right]:
            resolved[row] = True
            continue
        now = box_state(f, s, order, tree[row, BEGIN], tree[row, END])
        if now != FAILED or row == 0:
            for below in range(row, end[row]):
                state[below] = -1
            state[row] = now
            resolved[row] = now != FAILED
    return state


@making
def deal_cell(f, s, people, a, b, last_resort, slot):
    """Deal a cell into groups that are as small as can be; returns its state and their number.

    A small cell is not dealt into groups that are larger than need be: it is better merged with a
    neighbour, unless that is no longer possible (``last_resort``).
    """
    present, touched = tally(f, s, people, a, b)
    if touched == 0 and f.minimum_size <= 1:
        return PLAIN, np.int64(0)
    size = group_size(f, s, touched)
    groups = np.int64(0)
    if f.past.shape[1] > 0:
        groups = np.int64(deal_strata(f, s, people, a, b, touched, slot))
        size = b - a + 1
    largest = b - a if last_resort else min(size, b - a)
    while groups == 0 and size <= largest:
        groups = np.int64(
            deal(f, s, people, a, b, present, touched, size, f.base, np.int64(0), slot)
        )
        tried = size
        size = max(size + 1, size + size // 5)
        # As many groups as before would be the same, and fail again.
        while (b - a) // size == (b - a) // tried and present // size == present // tried:
            size += 1
    clear(s, touched)
    return VALID if groups > 0 else FAILED, groups


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
            if (top > 0 or i < len(cells)) and (simple or b - a < MERGED):
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
def number_alike(codes, order, cells, district, table, slot, somebody):
    """Number the people of these cells by their codes, from 0 on, equal ones alike: in ``slot``, as
    groups within a cell are. Writes somebody of each number; returns how many there are.

    Equal people are in the same district, and cells of a district follow each other: so numbers
    are looked up in a table that stays in the processor's cache. Its length is a power of two, and
    more than a district has people.
    """
    bits = np.uint64(0)
    while len(table) >> bits > 1:
        bits += np.uint64(1)
    numbers = np.uint32(0)
    for i in range(len(cells)):
        if i == 0 or district[i] != district[i - 1]:
            for place in range(len(table)):
                table[place] = 0  # free; others hold a number, counted from 1
        for k in range(cells[i, BEGIN], cells[i, END]):
            person = order[k]
            mixed = np.uint64(0)
            for e in range(codes.shape[0]):
                mixed = (mixed ^ np.uint64(codes[e, person])) * SCATTERING
            place = mixed >> (np.uint64(64) - bits)
            differ = np.uint32(1)
            while differ > 0:
                if table[place] == 0:
                    somebody[numbers] = person
                    numbers += np.uint32(1)
                    table[place] = numbers
                number = table[place] - np.uint32(1)
                differ = np.uint32(0)
                for e in range(codes.shape[0]):
                    differ |= np.uint32(codes[e, person]) ^ np.uint32(codes[e, somebody[number]])
                slot[k] = number
                place = (place + np.uint64(1)) & np.uint64(len(table) - 1)
    return numbers


@kernel
def write_groups(order, people, cells, first, slot, group):
    """Write the groups of everybody in these cells: the first one of the cell and those that
    follow. Whoever is in the order is a place among the people."""
    for i in range(len(cells)):
        for k in range(cells[i, BEGIN], cells[i, END]):
            group[people[order[k]]] = first[i] + slot[k]
