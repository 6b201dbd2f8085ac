"""Cuts: which ones a cell may have, and how good each is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.counts import cover, size_for
from serigraph.grouping.layout import BOX, SLACK, Cell, GroupingInput, Scratch
from serigraph.grouping.past import are_both_valid
from serigraph.grouping.sorted_cell import SortedCell
from serigraph.runtime.compiled import int64, kernel_helper

TRIES = 16  # cuts tried before a cell is left as it is
WASTEFUL = 1.5  # penalty on the width of a cut that leaves room for fewer groups than before
FORESIGHT = 2.0  # penalty on the width of a cut if the values on its sides need all their people


class CutRules(NamedTuple):
    """What both sides of a cut must have."""

    weight: int  # people of the cell that count in its size
    size: int  # of the groups
    least: int  # people on either side
    is_crowded: bool  # a value needs much of the cell: what both sides need limits later cuts
    is_blind: bool  # ignores values
    asks_past: bool  # sides are checked against every member's past


@kernel_helper
def list_cuts(
    f: GroupingInput, view: SortedCell, box: NDArray[np.int64], cell: Cell, rules: CutRules
) -> int:
    """List the cuts of a ``cell`` of the view with their scores, lower is better; returns how many.

    A cut is a row: column, people on the left in the order of the column, last code on the left.
    ``box`` is the row of the cell: only its shallowest boundaries may be cut. The counts of values
    must allow each side as a group. The score is the width of both sides, weighted by people; it
    grows where people are left over, and in a crowded cell with what the values on both sides need.
    (In a cell with few holders, that would reveal where they are.)
    """
    found = int64(0)
    blocks = int64(0)
    is_possible = rules.weight >= 2 * rules.least
    if is_possible and f.interleave:
        blocks = find_whole_groups(view, cell, rules.size)
    for d in range(f.codes.shape[0] if is_possible else 0):
        lowest, highest = view.ranked[d, cell.begin], view.ranked[d, cell.end - 1]
        if f.codes[d, view.who[lowest]] != f.codes[d, view.who[highest]]:
            if not f.interleave:
                blocks = find_distinct(view, d, cell)
            found = list_cuts_of(f, view, box, d, blocks, rules, found)
    return found


@kernel_helper
def list_cuts_of(
    f: GroupingInput,
    view: SortedCell,
    box: NDArray[np.int64],
    d: int,
    blocks: int,
    rules: CutRules,
    found: int,
) -> int:
    """The same for one column, whose ``blocks`` the view has: adds its cuts to those ``found``;
    ``box`` is the row of the cell."""
    low, high = box[BOX + d], box[BOX + f.codes.shape[0] + d]
    shallowest = shallowest_boundary(f, d, low, high)
    ranked = view.ranked[d]
    a, n = view.begin[0], view.begin[blocks] - view.begin[0]
    first, last = possible_cuts(f, view, d, blocks, rules)
    if first <= last:  # widths are slow to compute
        find_widths(view, d, blocks, max(last, blocks - first))
    left = rules.weight
    for k in range(blocks - 1 if first <= last else -1, first - 1, -1):
        i = view.begin[k] - a
        for place in range(a + i, a + i if rules.weight == n else view.begin[k + 1]):
            left -= int64(f.weight[view.who[ranked[place]]])
        left = i if rules.weight == n else left
        code = int64(-1)
        if k <= last and may_cut(view, blocks, k, left, rules.weight - left, rules):
            code = int64(f.codes[d, view.who[ranked[a + i - 1]]])
            if not f.interleave:
                right_code = int64(f.codes[d, view.who[ranked[a + i]]])
                code = boundary(f, d, code, right_code, shallowest)
        if code >= 0:
            score = i * view.width[0, k] + (n - i) * view.width[1, blocks - k]
            if not f.interleave:
                if (n - i) % rules.size > n % rules.size:  # people beyond whole groups
                    score *= WASTEFUL
                if rules.is_crowded:
                    need = view.need[0, k] + view.need[1, blocks - k]
                    score *= 1.0 + FORESIGHT * need / n
            view.cuts[found, 0] = d
            view.cuts[found, 1] = i
            view.cuts[found, 2] = code
            view.score[found] = score
            found += 1
    return found


@kernel_helper
def possible_cuts(
    f: GroupingInput, view: SortedCell, d: int, blocks: int, rules: CutRules
) -> tuple[int, int]:
    """The first and the last cut between the ``blocks`` of a column that the counts allow if
    everybody counts: each as the number of blocks on its left."""
    first, last = int64(1), blocks - 1
    if not rules.is_blind:
        most = (rules.weight - rules.least) * (1.0 + SLACK)
        on_left, on_right = find_side_needs(f, view, d, blocks, rules.size, most)
        first, last = max(first, blocks - on_right), min(last, on_left)
    a, b = view.begin[0], view.begin[blocks]
    while first <= last and not may_cut(
        view, blocks, first, view.begin[first] - a, b - view.begin[first], rules
    ):
        first += 1
    while first <= last and not may_cut(
        view, blocks, last, view.begin[last] - a, b - view.begin[last], rules
    ):
        last -= 1
    return first, last


@kernel_helper
def may_cut(view: SortedCell, blocks: int, k: int, left: int, right: int, rules: CutRules) -> bool:
    """Whether the counts allow a cut behind ``k`` of the ``blocks``, with ``left`` and ``right``
    people on its sides that count."""
    return (
        left >= rules.least
        and right >= rules.least
        and (
            rules.is_blind
            or (
                view.need[0, k] <= left * (1.0 + SLACK)
                and view.need[1, blocks - k] <= right * (1.0 + SLACK)
            )
        )
    )


@kernel_helper
def find_whole_groups(view: SortedCell, cell: Cell, size: int) -> int:
    """Write where the blocks of a ``cell`` of the view begin if cuts are made behind whole groups;
    returns the number of blocks."""
    blocks = int64(0)
    begin = cell.begin
    while begin < cell.end:
        view.begin[blocks] = begin
        end = min(begin + size, cell.end)
        for i in range(begin, end):
            view.block_of[i] = blocks
        blocks += 1
        begin = end
    view.begin[blocks] = cell.end
    return blocks


@kernel_helper
def find_distinct(view: SortedCell, d: int, cell: Cell) -> int:
    """The same if cuts are made between people who differ in a column."""
    view.begin[0] = cell.begin
    blocks = int64(0)
    before = view.at[d, view.ranked[d, cell.begin]]
    for i in range(cell.begin, cell.end):
        behind = view.at[d, view.ranked[d, i]]
        blocks += before != behind
        view.begin[blocks + 1] = i + 1
        view.block_of[i] = blocks
        before = behind
    return blocks + 1


@kernel_helper
def find_widths(view: SortedCell, d: int, blocks: int, most: int) -> None:
    """Write the widths, summed over the columns, of both sides of the cuts between the ``blocks``
    of a column, for sides of up to ``most`` blocks."""
    ranked = view.ranked[d]
    a, b = view.begin[0], view.begin[blocks]
    for k in range(most + 1):
        view.width[0, k] = view.width[1, k] = 0.0
    for e in range(len(view.at)):
        at = view.at[e]
        is_one_place = at[view.ranked[e, a]] == at[view.ranked[e, b - 1]]
        for k in range(0 if is_one_place else blocks):
            begin, end = view.begin[k], view.begin[k + 1]
            low, high = at[ranked[begin]], at[ranked[end - 1]]
            for i in range(begin, begin if e == d else end):
                where = at[ranked[i]]
                low = where if where < low else low
                high = where if where > high else high
            view.block[0, k], view.block[1, k] = low, high
        if not is_one_place:
            add_widths(view, blocks, most)


@kernel_helper
def add_widths(view: SortedCell, blocks: int, most: int) -> None:
    """Add the widths in one column, of whose ``blocks`` the view has both ends, for sides of up to
    ``most`` blocks."""
    low, high = view.block[0, 0], view.block[1, 0]
    low_right, high_right = view.block[0, blocks - 1], view.block[1, blocks - 1]
    for k in range(most):
        first, last = view.block[0, k], view.block[1, k]
        low = first if first < low else low
        high = last if last > high else high
        width = high - low if high - low < 1.0 else 1.0
        view.width[0, k + 1] += width
        first, last = view.block[0, blocks - 1 - k], view.block[1, blocks - 1 - k]
        low_right = first if first < low_right else low_right
        high_right = last if last > high_right else high_right
        width = high_right - low_right if high_right - low_right < 1.0 else 1.0
        view.width[1, k + 1] += width


@kernel_helper
def find_side_needs(
    f: GroupingInput, view: SortedCell, d: int, blocks: int, size: int, most: float
) -> tuple[int, int]:
    """Write, for the cuts between the ``blocks`` of a column, what the values of each side need:
    the size of one group or, where groups interleave, of whole groups of ``size`` together.
    Returns how many blocks need at most ``most`` people on the left, and how many on the right;
    nothing of use is written beyond these."""
    room = cover(f, size) * (1.0 + SLACK) if f.interleave else -1.0
    known = 0 if f.interleave else f.known  # added at the end: the loop is the innermost one
    most = max(most - known, 0.0)
    for side in range(2):
        for value in range(len(view.base)):
            view.holders[side, value] = 0.0
    need_left, need_right = 0.0, 0.0
    a, b = view.begin[0], view.begin[blocks]
    left, right = a, b - 1
    first, last = a, b - 1
    while first < b and (need_left <= most or need_right <= most):
        # Branch-free: written for everybody, and the last of a block stays.
        need_left = with_person(view, int64(0), view.ranked[d, first], size, room, need_left)
        view.need[0, view.block_of[first] + 1] = need_left
        left += need_left <= most
        need_right = with_person(view, int64(1), view.ranked[d, last], size, room, need_right)
        view.need[1, blocks - view.block_of[last]] = need_right
        right -= need_right <= most
        first += 1
        last -= 1
    for k in range(1, blocks + 1 if known > 0 else 1):
        view.need[0, k] = size_for(f, view.need[0, k])
        view.need[1, k] = size_for(f, view.need[1, k])
    on_left = int64(view.block_of[left]) if left < b else blocks
    on_right = blocks - 1 - int64(view.block_of[right]) if right >= a else blocks
    return on_left, on_right


@kernel_helper
def with_person(
    view: SortedCell, side: int, person: int, size: int, room: float, need: float
) -> float:
    """Count what a ``person`` holds on a ``side``; returns what the values there need now, given
    the ``need`` before. Groups of ``size`` that interleave have ``room`` in which to hide holders;
    it is negative where groups do not."""
    need = with_holder(view, side, view.value[person], size, room, need)
    if len(view.more) > 0:
        for h in range(view.more_start[person], view.more_start[person + 1]):
            need = with_holder(view, side, view.more[h], size, room, need)
    return need


@kernel_helper
def with_holder(
    view: SortedCell, side: int, value: int, size: int, room: float, need: float
) -> float:
    """The same for one ``value``: what its ``side`` needs, if it had the ``need`` before, in groups
    of ``size`` with this ``room``."""
    holders = view.holders[side, value] + 1.0
    view.holders[side, value] = holders
    base = view.base[value]
    asked = holders * base
    if room >= 0.0 and base > 0.0:
        asked = holders * size
        if 2.0 * base <= room:
            cap = int(room / base)
            asked = float((int(holders) + cap - 1) // cap * size)
    return asked if asked > need else need


@kernel_helper
def shallowest_boundary(f: GroupingInput, d: int, first: int, last: int) -> int:
    """The depth in a column's taxonomy of the shallowest boundary between the codes ``first`` and
    ``last``; 0 without one."""
    depth = int64(0)
    if f.has_taxonomy[d]:
        depth = int64(f.divergence[f.offset[d] + first])
        for code in range(first, last):
            depth = min(depth, int64(f.divergence[f.offset[d] + code]))
    return depth


@kernel_helper
def boundary(f: GroupingInput, d: int, left: int, right: int, shallowest: int) -> int:
    """The code behind which a region may be cut between two neighbouring people with the codes
    ``left`` and ``right``, or -1; in a taxonomy, only boundaries as deep as the ``shallowest``."""
    code = left
    if f.has_taxonomy[d]:
        while code < right and f.divergence[f.offset[d] + code] != shallowest:
            code += 1
    return code if code < right else int64(-1)


@kernel_helper
def next_cut(view: SortedCell, found: int) -> int:
    """The row of the best of the cuts ``found``, or -1; a cut already tried scores infinity."""
    best = int64(-1)
    lowest = np.inf
    for c in range(found):
        if view.score[c] < lowest:
            lowest = view.score[c]
            best = int64(c)
    return best


@kernel_helper
def choose_cut(
    f: GroupingInput,
    s: Scratch,
    view: SortedCell,
    box: NDArray[np.int64],
    cell: Cell,
    rules: CutRules,
) -> int:
    """The row of the cut to make in a ``cell`` of the view, or -1 if none will do; ``box`` is the
    row of the cell. If the rules ask for it, a cut that the counts allow is also checked against
    every member's past."""
    found = list_cuts(f, view, box, cell, rules)
    cut = next_cut(view, found)
    is_checked = not rules.asks_past
    tries = 0
    while cut >= 0 and not is_checked:
        view.score[cut] = np.inf
        ranked = view.ranked[view.cuts[cut, 0]]
        for i in range(cell.end - cell.begin):
            view.spare[i] = view.who[ranked[cell.begin + i]]
        is_checked = are_both_valid(f, s, view.spare, view.cuts[cut, 1], cell.end - cell.begin)
        tries += 1
        if not is_checked:
            cut = next_cut(view, found) if tries < TRIES else int64(-1)
    return cut
