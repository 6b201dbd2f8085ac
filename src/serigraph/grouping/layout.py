"""How grouping lays out its data: cells, the input about people, and scratch space.

A *cell* is a range of ``order`` (the people, rearranged as cells are cut). A *target* is the ratio
n/n_s that the strategy requires for a person and a value, without the people whom the adversary
knows. A cell is *dealt* when its people are spread over several groups that interleave in space.

Kernels of this package share these parameters:

- ``f``: the input, a ``GroupingInput``
- ``s``: scratch space, a ``Scratch``
- ``people``, ``order``: people by their numbers; a cell is a range of them
- ``cell``: the range, a ``Cell``
- ``cells``, ``tree``: integer rows, one per cell, laid out as below; a tree has them
  in pre-order
- ``touched``: how many values are held in the cell; ``s.touched`` lists them
- ``n``: how many people of the cell count in its size
- ``size``: of a group
- ``d``: a column of the quasi-identifiers
- ``view``: the people of a cell in the order of each column, a ``SortedCell``
- ``rules``: what both sides of a cut must have, a ``CutRules``
- ``slot``: for each place in the order, the group within its cell

Two idioms recur, for the same reasons everywhere:

- Numbers that may be constants are passed in a record, or as ``int64``: Numba compiles a function
  anew for a constant argument, but not for one in a tuple.
- ``x += a < b``, after an unconditional write at ``x``, replaces ``if a < b`` where the branch
  would be mispredicted; it halves the time of such a loop.
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
PLAIN = 0  # no protected value: records need no change
VALID = 1
FAILED = 2  # no valid grouping was found

FEW = 4  # with up to this many holders, cuts do not depend on where they are
COMPETING = 8  # cuts of a large cell that both sides survive
PAST_BATCH = 8  # people whose pasts are read together
SLACK = 1e-12  # a rounding error must not make a group miss a whole-number target


class GroupingInput(NamedTuple):
    """What a kernel reads: quasi-identifiers, values held, past and targets."""

    codes: NDArray[np.integer]  # [column, person]
    position: NDArray[np.float64]  # of all columns' codes, concatenated
    divergence: NDArray[np.int32]  # the same; entry i is the boundary behind code i
    offset: NDArray[np.int64]  # where each column starts in the two above
    has_taxonomy: NDArray[np.bool_]  # of each column
    held_start: NDArray[np.int64]
    held: NDArray[np.int32]
    holds_one: bool  # everybody holds just one value
    weight: NDArray[np.uint8]  # 1 if the person counts in n
    key: NDArray[np.int64]  # random, one per person
    past: NDArray[np.int32]  # [row, release] -> the past group, or -1
    past_row: NDArray[np.uint32]  # of each person, if there is a past
    past_start: NDArray[np.int64]  # where each past group begins in ``past_exposure``
    past_exposure: NDArray[np.integer]  # numbers of exposures; no group is without any
    exposure_value: NDArray[np.int32]
    exposure_survival: NDArray[np.float64]  # 1 - n_s/n
    neediest: NDArray[np.float64]  # the largest target that each row of the past requires
    base: NDArray[np.float64]  # target of each value for a person without a past
    rule: NDArray[np.int32]  # of each value, a row of ``rules``
    rules: NDArray[
        np.float64
    ]  # 1 - threshold, factor, two lengths, reserve, least and smallest spend, ratios, shares
    counts_links: bool  # some rule depends on how often a pair was linked
    minimum_size: int
    known: int  # members of a group whom the adversary knows not to hold its values
    interleave: bool
    blind: bool  # cuts never depend on where holders are, however many they are


class Scratch(NamedTuple):
    """Reusable scratch space; ``holders`` is all zero between uses."""

    holders: NDArray[np.int64]  # of each value in the cell
    need: NDArray[np.float64]  # largest target of each value among the cell's people
    linked: NDArray[np.int64]  # people of the cell that were linked to the value before
    links: NDArray[np.int64]  # of one person to each value
    survival: NDArray[np.float64]  # of one person, for each value
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
