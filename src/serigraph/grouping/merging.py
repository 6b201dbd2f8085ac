"""Merging: cells that are not valid are merged with their neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.layout import (
    BEGIN,
    END,
    FAILED,
    GROUPS,
    RIGHT,
    STATE,
    UNKNOWN,
    Cell,
    GroupingInput,
    Scratch,
    copy_row,
)
from serigraph.grouping.past import box_state
from serigraph.grouping.strata import deal_cell
from serigraph.runtime.compiled import int64, kernel

MERGED = 1 << 16  # largest cell that is merged where sets of values cannot be dealt


@kernel
def merge_siblings(
    f: GroupingInput, s: Scratch, order: NDArray[np.uint32], tree: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Merge cells bottom-up along a tree until each is valid; returns the states of the rows left.

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
        now = box_state(f, s, order, Cell(tree[row, BEGIN], tree[row, END]))
        if now != FAILED or row == 0:
            for below in range(row, end[row]):
                state[below] = -1
            state[row] = now
            resolved[row] = now != FAILED
    return state


@kernel
def deal_cells(
    f: GroupingInput,
    s: Scratch,
    order: NDArray[np.uint32],
    cells: NDArray[np.int64],
    simple: bool,
    last_resort: bool,
    slot: NDArray[np.uint32],
) -> NDArray[np.int64]:
    """Deal every cell that was not dealt yet; ``slot`` gets the group within the cell for each
    place in the order. Cells that cannot be dealt are merged with a neighbour in the order until
    they can be, large ones only if ``simple`` (only the counts of values matter). As a
    ``last_resort``, a cell that is left is dealt into larger groups. Returns the cells, with their
    states and their numbers of groups."""
    kept = np.empty_like(cells)
    top = 0
    i = 0
    while i < len(cells):
        copy_row(kept, top, cells, i)
        a, b = cells[i, BEGIN], cells[i, END]
        state, groups = cells[i, STATE], cells[i, GROUPS]
        i += 1
        is_last = bool(np.bool_(False))  # a constant would have a different type
        while True:
            # The only call: dealing is slow to compile.
            if state == UNKNOWN:
                state, groups = deal_cell(f, s, order, Cell(a, b), is_last, slot)
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
            state = int64(UNKNOWN)
        kept[top, BEGIN], kept[top, END] = a, b
        kept[top, STATE], kept[top, GROUPS] = state, groups
        top += 1
    return kept[:top]
