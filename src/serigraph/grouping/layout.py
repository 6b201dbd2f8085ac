"""How grouping lays out what it works on: cells, what is known of people, and room to work in.

A *cell* is a range of ``order`` (the people, rearranged as cells are cut). A *target* is the ratio
n/n_s that the strategy asks for one person and value. A cell is *dealt* when its people are spread
over several groups that interleave in space.

Kernels of this package share these parameters:

- ``f``: what is known of everybody, a ``GroupingInput``
- ``s``: room to work in, a ``Scratch``
- ``people``, ``order``: people by their numbers; a cell is a range of these
- ``cell``: the range, a ``Cell``
- ``cells``, ``tree``: rows of whole numbers, one for each cell, laid out as below; a tree has them
  in pre-order
- ``touched``: how many values are held in the cell; ``s.touched`` lists them
- ``n``: how many people of the cell count in its size
- ``size``: of a group
- ``d``: a column of the quasi-identifiers
- ``view``: the people of a cell in the order of each column, a ``SortedCell``
- ``rules``: what both sides of a cut must have, a ``CutRules``
- ``slot``: of each place of the order, the group within its cell

Two habits need a reason, which is the same everywhere:

- Numbers that may be constants are handed over in a record, or as ``int64``: a function is
  compiled anew for a constant as an argument, and not for one in a tuple.
- ``x += a < b``, with what belongs to ``x`` written before, stands for ``if a < b`` where
  processors cannot foretell the answer; it halves the time of such a loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.compiled import kernel_helper

# A cell's row: its range, state, number of groups; the row of its right half (the left one is the
# next row) and the column of the cut; then its box of codes, low ends first.
BEGIN, END, STATE, GROUPS, RIGHT, COLUMN, BOX = 0, 1, 2, 3, 4, 5, 6

UNKNOWN = -1
PLAIN = 0  # no protected value: records may stay as they are
VALID = 1
FAILED = 2  # no valid grouping was found

FEW = 4  # holders in a cell: up to here, cuts do not depend on where they are
COMPETING = 8  # cuts of a large cell that both sides survive
TOGETHER = 8  # people whose past is looked for at the same time
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
    spans: NDArray[np.int64]  # [person, begin | end | spare, past group] of exposures
    right: NDArray[np.int32]  # [value, cut] holders on the right of it; behind them all people
    touched: NDArray[np.uint32]  # values in the cell; room for one more
    local: NDArray[np.uint32]  # place of a value among the touched ones


class Cell(NamedTuple):
    """A range of people."""

    begin: int
    end: int


@kernel_helper
def copy_row(target: NDArray[np.int64], i: int, source: NDArray[np.int64], k: int) -> None:
    """Copy row ``k`` of ``source`` to row ``i`` of ``target``."""
    for column in range(source.shape[1]):  # Numba takes seconds to compile a copy of slices
        target[i, column] = source[k, column]
