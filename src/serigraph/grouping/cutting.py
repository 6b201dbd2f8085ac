"""Cutting: cells are cut top-down, at the cut that leaves the narrowest boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.counts import (
    clear,
    group_size,
    holders_in,
    room_for_all,
    size_needed,
    tally,
)
from serigraph.grouping.cuts import CutRules, choose_cut, shallowest_boundary
from serigraph.grouping.large_cells import cut_large
from serigraph.grouping.layout import (
    BEGIN,
    BOX,
    COLUMN,
    END,
    FAILED,
    FEW,
    PLAIN,
    RIGHT,
    STATE,
    UNKNOWN,
    VALID,
    Cell,
    GroupingInput,
    Scratch,
    copy_row,
)
from serigraph.grouping.past import box_state, find_needs, fits_pasts
from serigraph.grouping.sorted_cell import apply_cut, sorted_cell
from serigraph.runtime.compiled import allocating_helper, int64, kernel, kernel_helper

LARGE = 512  # larger cells are cut by a sample of their people
CROWDED = 0.34  # use foresight if the most frequent value needs this part of a cell


@kernel
def cut_down(  # one loop over a stack: its body is 60 lines, with what it remembers between cells
    f: GroupingInput,
    s: Scratch,
    order: NDArray[np.uint32],
    cells: NDArray[np.int64],
    simple: bool,
    blind_size: int,
) -> NDArray[np.int64]:
    """Cut cells top-down, at the cut that leaves the narrowest boxes and that both sides survive.

    Rearranges ``order`` in place and returns the trees of the cells in pre-order; leaves are the
    rows whose right half is row 0. Every cell could be one group, and so could both sides of every
    cut; a cell that could not is left as it is. If people's pasts differ, parts of such a cell may
    be valid, but where it would have to be cut for that depends on who holds a value. The input is
    ``simple`` if only the counts of values matter. With a ``blind_size`` values are ignored, and
    halves have at least that many people.

    A cell with few holders, or any if cuts are to be blind, is cut only where either side could
    take all of them. Any member could then hold what a group shows: the same counts would have led
    to the same cuts. Other cells are cut where both sides are valid, which reveals a little about
    where holders are.
    """
    stack = np.empty_like(cells)
    for i in range(len(cells)):
        copy_row(stack, i, cells, len(cells) - 1 - i)
        stack[i, RIGHT] = -1
    top = len(stack)
    tree = np.empty((len(cells) + 64, cells.shape[1]), dtype=np.int64)
    row = int64(0)
    found_cut = np.zeros(2, dtype=np.int64)
    seen = Cell(0, 0)  # the cell that the view shows
    view = sorted_cell(f, s, order, seen, int64(0), int64(0))
    while top > 0:
        top -= 1
        tree = with_room(tree, row)
        copy_row(tree, row, stack, top)
        if tree[row, RIGHT] >= 0:
            tree[tree[row, RIGHT], RIGHT] = row
        tree[row, RIGHT] = 0
        cell = Cell(tree[row, BEGIN], tree[row, END])
        state, touched, rules = judge(f, s, order, cell, simple, blind_size)
        if not f.interleave and blind_size == 0:
            shrink(f, order, tree, row)
        middle = int64(0)
        length = cell.end - cell.begin
        if state != VALID or is_too_small(f, length, rules, blind_size):
            pass
        elif length > LARGE:
            middle = cut_large(f, s, order, tree[row], cell, rules, found_cut)
        else:
            if cell.end > seen.end or cell.begin < seen.begin:
                seen = cell
                view = sorted_cell(f, s, order, cell, length, touched)
            part = Cell(cell.begin - seen.begin, cell.end - seen.begin)
            best = choose_cut(f, s, view, tree[row], part, rules)
            if best >= 0:
                apply_cut(view, part, best, order, cell.begin)
                middle = view.cuts[best, 1]
                found_cut[0], found_cut[1] = view.cuts[best, 0], view.cuts[best, 2]
        if middle > 0:
            tree[row, COLUMN] = found_cut[0]
            stack = with_room(stack, top + 1)
            push_halves(stack, top, tree, row, cell.begin + middle, found_cut)
            top += 2
        elif state == VALID and (blind_size > 0 or f.interleave):
            state = int64(UNKNOWN)
        elif state == VALID and simple:
            state = box_state(f, s, order, cell)
        tree[row, STATE] = state
        row += 1
    return tree[:row]


@kernel_helper
def judge(
    f: GroupingInput,
    s: Scratch,
    order: NDArray[np.uint32],
    cell: Cell,
    simple: bool,
    blind_size: int,
) -> tuple[int, int, CutRules]:
    """The state of a cell as it is, the number of its values, and the rules for its cut; for
    ``simple`` and ``blind_size`` see ``cut_down``."""
    n, touched = cell.end - cell.begin, int64(0)
    size = least = blind_size
    is_crowded, is_few = False, False
    state = int64(VALID)
    if blind_size == 0:
        n, touched = tally(f, s, order, cell)
        holders, apart = holders_in(f, order, cell)
        size = least = group_size(f, s, touched)
        is_few = f.blind or holders <= FEW
        needed = size_needed(f, s, touched)
        is_crowded = not f.interleave and not is_few and needed > CROWDED * (cell.end - cell.begin)
        if touched == 0 and f.minimum_size <= 1:
            state = int64(PLAIN)
        elif not simple:
            is_valid = n >= f.minimum_size
            if is_few:
                is_valid = find_needs(f, s, order, cell, touched, n) and is_valid
            else:
                is_valid = is_valid and fits_pasts(f, s, order, cell, touched, n)
            state = int64(VALID if is_valid else FAILED)
        if is_few and state == VALID:
            least = room_for_all(f, s, touched, size, not simple, apart)
        clear(s, touched)
    is_blind = is_few or blind_size > 0
    rules = CutRules(n, size, least, is_crowded, is_blind, not is_blind and not simple)
    return state, touched, rules


@kernel_helper
def is_too_small(f: GroupingInput, length: int, rules: CutRules, blind_size: int) -> bool:
    """Whether a cell with ``length`` people cannot be cut, or is not worth it; for ``blind_size``
    see ``cut_down``."""
    is_whole = f.interleave or blind_size > 0
    return rules.weight < 2 * rules.least or (is_whole and length < 2 * rules.size)


@kernel_helper
def shrink(f: GroupingInput, order: NDArray[np.uint32], tree: NDArray[np.int64], row: int) -> None:
    """If all people of the cell of a ``row`` are in one branch of its box, shrink the box to it.

    That opens new cuts, since only the shallowest boundaries of a box may be cut.
    """
    columns = f.codes.shape[0]
    for d in range(columns):
        low, high = tree[row, BOX + d], tree[row, BOX + columns + d]
        first, last = high, low
        if low < high and f.has_taxonomy[d]:
            for i in range(tree[row, BEGIN], tree[row, END]):
                code = int64(f.codes[d, order[i]])
                first = min(first, code)
                last = max(last, code)
        if first < last:
            depth = shallowest_boundary(f, d, first, last)
            if depth != shallowest_boundary(f, d, low, high):
                while first > low and f.divergence[f.offset[d] + first - 1] >= depth:
                    first -= 1
                while last < high and f.divergence[f.offset[d] + last] >= depth:
                    last += 1
                tree[row, BOX + d], tree[row, BOX + columns + d] = first, last


@allocating_helper
def with_room(rows: NDArray[np.int64], used: int) -> NDArray[np.int64]:
    """The ``rows``, grown if need be to hold at least one more behind those ``used``."""
    if used >= len(rows):
        wider = np.empty((2 * used + 2, rows.shape[1]), dtype=np.int64)
        for i in range(len(rows)):
            copy_row(wider, i, rows, i)
        rows = wider
    return rows


@kernel_helper
def push_halves(
    stack: NDArray[np.int64],
    top: int,
    tree: NDArray[np.int64],
    row: int,
    middle: int,
    found_cut: NDArray[np.int64],
) -> None:
    """Push both halves of the cell of a ``row`` on the ``stack``, from ``top`` on, the left one on
    top. The cell is cut at ``middle`` in the order, at the column and code ``found_cut``. The right
    half remembers its parent.
    """
    columns = (stack.shape[1] - BOX) // 2
    d, code = found_cut[0], found_cut[1]
    copy_row(stack, top, tree, row)
    stack[top, BEGIN] = middle
    stack[top, BOX + d] = code + 1
    stack[top, RIGHT] = row
    copy_row(stack, top + 1, tree, row)
    stack[top + 1, END] = middle
    stack[top + 1, BOX + columns + d] = code
    stack[top + 1, RIGHT] = -1
