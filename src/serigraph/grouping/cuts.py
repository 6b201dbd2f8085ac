"""Cuts: which ones a cell may have, and how good each of them is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.layout import BOX, SLACK, Cell, GroupingInput, Scratch
from serigraph.grouping.past import are_sound
from serigraph.grouping.sorted_cell import SortedCell
from serigraph.runtime.compiled import int64, kernel_helper

TRIES = 16  # cuts, before a cell is left as it is
WASTEFUL = 1.5  # a cut that leaves room for fewer groups than before seems so much wider
FORESIGHT = 2.0  # how much wider a cut seems for all that the values on its sides need


class CutRules(NamedTuple):
    """What both sides of a cut must have."""

    weight: int  # people of the cell that count in its size
    size: int  # of the groups
    least: int  # people on either side
    is_crowded: bool  # a value needs much of the cell: what both sides need is lost for later cuts
    is_blind: bool  # values play no part
    asks_past: bool  # sides are checked against every member's past


@kernel_helper
def list_cuts(
    f: GroupingInput, view: SortedCell, box: NDArray[np.int64], cell: Cell, rules: CutRules
) -> int:
    """List the cuts of a ``cell`` of the view with their scores, the lower the better; returns how
    many.

    A cut is a row: column, people on the left in the order of the column, last code on the left.
    ``box`` is the row of the cell: only its shallowest boundaries may be cut. Both sides must be
    able to stand by themselves as far as the counts of values go. The score is the width of both
    sides, weighted by people; it grows where people are left over, and in a crowded cell with what
    the values on both sides need. (In a cell with few holders, that would tell where they are.)
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
                blocks = find_those_apart(view, d, cell)
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
    if first <= last:  # widths take long
        find_widths(view, d, blocks, max(last, blocks - first))
    left = rules.weight
    for k in range(blocks - 1 if first <= last else -1, first - 1, -1):
        i = view.begin[k] - a
        for place in range(a + i, a + i if rules.weight == n else view.begin[k + 1]):
            left -= int64(f.weight[view.who[ranked[place]]])
        left = i if rules.weight == n else left
        code = int64(-1)
        if k <= last and can_part(view, blocks, k, left, rules.weight - left, rules):
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
    """The first and the last cut between the ``blocks`` of a column that are possible as far as
    counts go, if everybody counts: each by how many blocks are on its left."""
    first, last = int64(1), blocks - 1
    if not rules.is_blind:
        most = (rules.weight - rules.least) * (1.0 + SLACK)
        on_left, on_right = find_side_needs(view, d, blocks, rules.size, f.interleave, most)
        first, last = max(first, blocks - on_right), min(last, on_left)
    a, b = view.begin[0], view.begin[blocks]
    while first <= last and not can_part(
        view, blocks, first, view.begin[first] - a, b - view.begin[first], rules
    ):
        first += 1
    while first <= last and not can_part(
        view, blocks, last, view.begin[last] - a, b - view.begin[last], rules
    ):
        last -= 1
    return first, last


@kernel_helper
def can_part(view: SortedCell, blocks: int, k: int, left: int, right: int, rules: CutRules) -> bool:
    """Whether a cut behind ``k`` of the ``blocks`` is possible as far as counts go, with so many
    people, ``left`` and ``right`` of it, that count."""
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
    """Write where the blocks of a ``cell`` of the view begin, if cuts are behind whole groups;
    returns their number."""
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
def find_those_apart(view: SortedCell, d: int, cell: Cell) -> int:
    """The same, if cuts are between people that lie apart in a column."""
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
    view: SortedCell, d: int, blocks: int, size: int, interleave: bool, most: float
) -> tuple[int, int]:
    """Write, for the cuts between the ``blocks`` of a column, what the values of each side need:
    the size of one group, or, where groups ``interleave``, so many groups of ``size``. Returns how
    many blocks need no more than ``most`` people on the left, and how many on the right; nothing is
    written beyond both."""
    for side in range(2):
        for value in range(len(view.base)):
            view.holders[side, value] = 0.0
    need_left, need_right = 0.0, 0.0
    a, b = view.begin[0], view.begin[blocks]
    left, right = a, b - 1
    first, last = a, b - 1
    while first < b and (need_left <= most or need_right <= most):
        # Written for everybody, and kept for the last of a block.
        need_left = with_person(view, int64(0), view.ranked[d, first], size, interleave, need_left)
        view.need[0, view.block_of[first] + 1] = need_left
        left += need_left <= most
        need_right = with_person(view, int64(1), view.ranked[d, last], size, interleave, need_right)
        view.need[1, blocks - view.block_of[last]] = need_right
        right -= need_right <= most
        first += 1
        last -= 1
    on_left = int64(view.block_of[left]) if left < b else blocks
    on_right = blocks - 1 - int64(view.block_of[right]) if right >= a else blocks
    return on_left, on_right


@kernel_helper
def with_person(
    view: SortedCell, side: int, person: int, size: int, interleave: bool, need: float
) -> float:
    """Count what a ``person`` holds on a ``side``; what the values there need then, if they had
    the ``need`` before, in groups of ``size`` that may ``interleave``."""
    need = with_holder(view, side, view.value[person], size, interleave, need)
    if len(view.more) > 0:
        for h in range(view.more_start[person], view.more_start[person + 1]):
            need = with_holder(view, side, view.more[h], size, interleave, need)
    return need


@kernel_helper
def with_holder(
    view: SortedCell, side: int, value: int, size: int, interleave: bool, need: float
) -> float:
    """The same for one ``value``: what its ``side`` needs, if it had the ``need`` before, in groups
    of ``size`` that may ``interleave``."""
    holders = view.holders[side, value] + 1.0
    view.holders[side, value] = holders
    base = view.base[value]
    asked = holders * base
    if interleave and base > 0.0:
        asked = holders * size
        if 2.0 * base <= size * (1.0 + SLACK):
            cap = int(size * (1.0 + SLACK) / base)
            asked = float((int(holders) + cap - 1) // cap * size)
    return asked if asked > need else need


@kernel_helper
def shallowest_boundary(f: GroupingInput, d: int, first: int, last: int) -> int:
    """How deep in the taxonomy of a column the shallowest boundary between the codes ``first`` and
    ``last`` lies; 0 without one."""
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
    """The best of the cuts ``found`` by its row, or -1; one that was
    tried has an infinite score."""
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
    """The cut of a ``cell`` of the view, by its row in the list, or -1 if none will do; ``box`` is
    the row of the cell. Where the past is asked, a cut that the counts allow is checked against
    every member's own."""
    found = list_cuts(f, view, box, cell, rules)
    cut = next_cut(view, found)
    is_checked = not rules.asks_past
    tries = 0
    while cut >= 0 and not is_checked:
        view.score[cut] = np.inf
        ranked = view.ranked[view.cuts[cut, 0]]
        for i in range(cell.end - cell.begin):
            view.spare[i] = view.who[ranked[cell.begin + i]]
        is_checked = are_sound(f, s, view.spare, view.cuts[cut, 1], cell.end - cell.begin)
        tries += 1
        if not is_checked:
            cut = next_cut(view, found) if tries < TRIES else int64(-1)
    return cut
